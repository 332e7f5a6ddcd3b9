package discovery

import (
	"path/filepath"

	"github.com/memls/memls/memory"
)

const plainName = ".memory"

// maxLevels bounds the directories between a folder and its project's root that
// are looked into.
const maxLevels = 64

// plainProject is .memory in the project's root, in the folder, and in what lies
// between them: a part of a repository may have notes of its own.
func (f *finder) plainProject(p Project) []candidate {
	at := func(dir string) candidate {
		return candidate{
			profile: ProfilePlain, scope: memory.ScopeProject, folder: p.Folder, path: filepath.Join(dir, plainName), inWorkspace: true,
		}
	}
	if p.Main != "" {
		c := at(p.Main)
		c.writes = true
		return []candidate{c}
	}
	var out []candidate
	if filepath.Base(p.Folder) == plainName {
		out = append(out, at(filepath.Dir(p.Folder)))
	}
	for dir, n := p.Folder, 0; dir != p.Root && n < maxLevels; dir, n = filepath.Dir(dir), n+1 {
		out = append(out, at(dir))
	}
	root := at(p.Root)
	root.writes = true
	return append(out, root)
}

func (f *finder) plainUser() []candidate {
	dir := f.env.dataHome()
	if dir == "" {
		f.note("there is no home directory, and so no place for memories of the user")
		return nil
	}
	return []candidate{{profile: ProfilePlain, scope: memory.ScopeUser, path: filepath.Join(dir, "user"), writes: true}}
}
