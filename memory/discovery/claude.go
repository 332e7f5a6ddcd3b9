package discovery

import (
	"path/filepath"

	"github.com/memls/memls/memory"
)

const envClaudeConfig = "CLAUDE_CONFIG_DIR"

// maxClaudeSlug is how long a name may be before Claude Code shortens it.
const maxClaudeSlug = 200

// claudeDirectory is the user's directory of Claude Code.
func (f *finder) claudeDirectory() string {
	if dir, ok := f.variable(envClaudeConfig); ok {
		return dir
	}
	if f.env.Home == "" {
		return ""
	}
	return filepath.Join(f.env.Home, ".claude")
}

// readClaude finds the directory that the user's settings name for memories,
// empty if they name none.
func (f *finder) readClaude() string {
	var settings struct {
		AutoMemoryDirectory string `json:"autoMemoryDirectory"`
	}
	dir := f.claudeDirectory()
	path := filepath.Join(dir, "settings.json")
	if dir == "" || !f.userSettings(path, &settings) || settings.AutoMemoryDirectory == "" {
		return ""
	}
	named, ok := f.env.expand(settings.AutoMemoryDirectory)
	if !ok {
		f.note("autoMemoryDirectory in %s is no absolute path; it is not followed", path)
	}
	return named
}

func (f *finder) claudeUser() []candidate {
	dir := f.claudeDirectory()
	if dir == "" {
		return nil
	}
	return []candidate{{
		profile: ProfileClaude, scope: memory.ScopeUser, path: filepath.Join(dir, "memory"), writes: f.req.Profile == ProfileClaude,
	}}
}

// claudeProject is the memory that Claude Code keeps of a project: in the
// directory that the settings name, and in the one that bears the name of the
// repository.
func (f *finder) claudeProject(p Project) []candidate {
	var out []candidate
	if f.claudeMemory != "" {
		out = append(out, candidate{profile: ProfileClaude, scope: memory.ScopeProject, folder: p.Folder, path: f.claudeMemory})
	}
	dir := f.claudeDirectory()
	if dir == "" {
		return out
	}
	own := p.key()
	for i, path := range spellings(own) {
		c := f.claudeSlug(p, dir, path)
		c.writes = f.req.Profile == ProfileClaude && i == 0
		out = append(out, c)
	}
	if own != p.Folder {
		c := f.claudeSlug(p, dir, p.Folder)
		c.off = "it is the memory of this folder alone; Claude Code now keeps one for the whole repository"
		out = append(out, c)
	}
	if opened := openedMemory(dir, p.Folder); opened != "" {
		out = append(out, candidate{profile: ProfileClaude, scope: memory.ScopeProject, folder: p.Folder, path: opened})
	}
	if p.Main == "" && p.linked != "" {
		c := f.claudeSlug(p, dir, p.linked)
		c.off = "it is the memory of the main worktree, which the setting worktrees: share would serve here"
		out = append(out, c)
	}
	return out
}

func (f *finder) claudeSlug(p Project, dir, project string) candidate {
	name := slug(project)
	if len(name) > maxClaudeSlug {
		f.noteOnce("Claude Code shortens the name of %s in a way that memls does not know; name its memory directory yourself", project)
	}
	return candidate{
		profile: ProfileClaude, scope: memory.ScopeProject, folder: p.Folder, project: project,
		path: filepath.Join(dir, "projects", name, "memory"),
	}
}
