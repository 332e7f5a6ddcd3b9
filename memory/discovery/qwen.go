package discovery

import (
	"path/filepath"
	"strings"

	"github.com/memls/memls/memory"
)

// The variables by which qwen-code's users say where its memories are.
const (
	envQwenMemoryBase = "QWEN_CODE_MEMORY_BASE_DIR"
	envQwenRuntime    = "QWEN_RUNTIME_DIR"
	envQwenHome       = "QWEN_HOME"
	envQwenLocal      = "QWEN_CODE_MEMORY_LOCAL"
	envQwenScope      = "QWEN_CODE_MEMORY_PROJECT_SCOPE"
	envQwenTeam       = "QWEN_CODE_MEMORY_TEAM"
)

// qwenDirectory is the user's directory of qwen-code, without its memories.
func (f *finder) qwenDirectory() string {
	if dir, ok := f.variable(envQwenHome); ok {
		return dir
	}
	if f.env.Home == "" {
		return filepath.Join(f.env.Temp, ".qwen")
	}
	return filepath.Join(f.env.Home, ".qwen")
}

// variable is the directory that a variable names.
func (f *finder) variable(name string) (dir string, ok bool) {
	value := f.env.Getenv(name)
	if value == "" {
		return "", false
	}
	if dir, ok = f.env.expand(value); !ok {
		f.note("%s is %q, which is no absolute path; it is not followed", name, value)
	}
	return dir, ok
}

// readQwen finds the directory below which all of its memories lie.
func (f *finder) readQwen() string {
	for _, name := range []string{envQwenMemoryBase, envQwenRuntime} {
		if dir, ok := f.variable(name); ok {
			return dir
		}
	}
	home := f.qwenDirectory()
	var settings struct {
		Advanced struct {
			RuntimeOutputDir string `json:"runtimeOutputDir"`
		} `json:"advanced"`
	}
	path := filepath.Join(home, "settings.json")
	if !f.userSettings(path, &settings) || settings.Advanced.RuntimeOutputDir == "" {
		return home
	}
	dir, ok := f.env.expand(settings.Advanced.RuntimeOutputDir)
	if !ok {
		f.note("advanced.runtimeOutputDir in %s is no absolute path; it is not followed", path)
		return home
	}
	return dir
}

func (f *finder) qwenUser() []candidate {
	return []candidate{{
		profile: ProfileQwen, scope: memory.ScopeUser, path: filepath.Join(f.qwenBase, "memories"), writes: f.req.Profile == ProfileQwen,
	}}
}

// qwenProject is the private memory of a project: that of the git root or, by
// choice, of the folder alone, or a directory in the folder.
func (f *finder) qwenProject(p Project) []candidate {
	local := candidate{
		profile: ProfileQwen, scope: memory.ScopeProject, folder: p.Folder,
		path: filepath.Join(p.home(), ".qwen", "memory"), inWorkspace: true,
	}
	isLocal := f.env.Getenv(envQwenLocal) == "1"
	own, other := p.key(), p.Folder
	why := "it is the memory of this folder alone, which " + envQwenScope + "=workspace chooses"
	if f.workspaceScope() {
		own, other = p.Folder, p.key()
		why = "it is the memory of the whole repository, which " + envQwenScope + "=workspace leaves out"
	}
	var out []candidate
	for i, path := range spellings(own) {
		c := f.qwenSlug(p, path)
		c.writes = f.req.Profile == ProfileQwen && i == 0
		if isLocal {
			c.off, c.writes = envQwenLocal+"=1 puts the memory into the folder", false
		}
		out = append(out, c)
	}
	if isLocal {
		local.writes = f.req.Profile == ProfileQwen
	} else {
		local.off = envQwenLocal + " is not 1"
	}
	out = append(out, local)
	if other != own {
		c := f.qwenSlug(p, other)
		c.off = why
		out = append(out, c)
	}
	if dir := openedMemory(f.qwenBase, p.Folder); dir != "" {
		out = append(out, candidate{profile: ProfileQwen, scope: memory.ScopeProject, folder: p.Folder, path: dir})
	}
	return out
}

func (f *finder) qwenSlug(p Project, project string) candidate {
	name := slug(project)
	if f.env.windows {
		name = strings.ToLower(name)
	}
	return candidate{
		profile: ProfileQwen, scope: memory.ScopeProject, folder: p.Folder, project: project,
		path: filepath.Join(f.qwenBase, "projects", name, "memory"),
	}
}

// workspaceScope tells whether projects are told apart by folder and not by
// repository.
func (f *finder) workspaceScope() bool {
	switch value := strings.ToLower(strings.TrimSpace(f.env.Getenv(envQwenScope))); value {
	case "workspace":
		return true
	case "", "git-root":
	default:
		f.noteOnce("%s is %q, which is neither git-root nor workspace; taken as git-root", envQwenScope, value)
	}
	return false
}

// qwenTeam is the memory that a repository carries for all who work on it.
func (f *finder) qwenTeam(p Project) []candidate {
	c := candidate{
		profile: ProfileQwen, scope: memory.ScopeTeam, folder: p.Folder,
		path: filepath.Join(p.Root, ".qwen", "team-memory"), inWorkspace: true,
	}
	if f.env.Getenv(envQwenTeam) == "0" {
		c.off = envQwenTeam + " is 0"
	}
	return []candidate{c}
}
