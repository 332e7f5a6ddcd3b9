package lsp

import (
	"context"
	"slices"
	"time"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/discovery"
)

const methodDidChangeWorkspaceFolders = "workspace/didChangeWorkspaceFolders"

// rediscoverEvery is how often it is looked whether an agent has begun to keep
// memories, or a directory of them has gone. It costs some twenty stats.
const rediscoverEvery = 10 * time.Second

// FolderChangeParams are the params of workspace/didChangeWorkspaceFolders.
type FolderChangeParams struct {
	Event struct {
		Added   []Folder `json:"added"`
		Removed []Folder `json:"removed"`
	} `json:"event"`
}

// registerDiscovery registers what the choice of roots depends on beside the
// settings.
func (f *features) registerDiscovery() error {
	f.s.OnInitialize(func(i *Initialization) error {
		yes := true
		if i.Capabilities.Workspace == nil {
			i.Capabilities.Workspace = &protocol.WorkspaceOptions{}
		}
		i.Capabilities.Workspace.WorkspaceFolders = &protocol.WorkspaceFoldersServerCapabilities{
			Supported: &yes, ChangeNotifications: protocol.Boolean(true),
		}
		return nil
	})
	return f.s.Register(methodDidChangeWorkspaceFolders, NewNotification(f.foldersChanged))
}

// foldersChanged serves workspace/didChangeWorkspaceFolders.
func (f *features) foldersChanged(p *FolderChangeParams) error {
	w := f.workspace().change(p.Event.Added, p.Event.Removed)
	f.open.Store(&w)
	f.reroot(false)
	return nil
}

// change is the workspace without some folders and with others behind the rest.
func (w workspace) change(added, removed []Folder) workspace {
	gone := newWorkspace(removed)
	var next workspace
	keep := func(o workspace, unless workspace) {
		for i, key := range o.keys {
			if !slices.Contains(unless.keys, key) && !slices.Contains(next.keys, key) {
				next.keys, next.reals = append(next.keys, key), append(next.reals, o.reals[i])
			}
		}
	}
	keep(w, gone)
	keep(newWorkspace(added), workspace{})
	return next
}

// chooseRoots decides which roots are served under the given settings: those of the
// client, else those that the server was started with, else what is found.
func (f *features) chooseRoots(s Settings, w workspace) ([]memory.RootConfig, error) {
	if s.RootsGiven || len(f.opt.Roots) > 0 || f.opt.Discover == nil {
		f.found.Store(nil)
		return rootConfigs(s, w, f.opt.Roots)
	}
	request := discovery.Request{Profile: s.Profile, Trusted: s.Trusted, Share: s.Worktrees == "share"}
	for _, key := range w.keys {
		if _, err := rootPath(key); err == nil {
			request.Folders = append(request.Folders, key)
		}
	}
	found := f.opt.Discover(request)
	if old := f.found.Swap(found); old == nil || !slices.Equal(old.Places, found.Places) || !slices.Equal(old.Notes, found.Notes) {
		f.logFound(found)
	}
	return found.Roots, nil
}

func (f *features) logFound(found *discovery.Result) {
	for _, p := range found.Places {
		if p.State != discovery.StateAbsent {
			f.s.Log().Info("memory found", "path", p.Path, "scope", p.Scope, "state", p.State, "reason", p.Reason)
		}
	}
	for _, note := range found.Notes {
		f.s.Log().Warn("looking for memory", "note", note)
	}
}

// reroot serves the roots that the present settings and folders come to.
func (f *features) reroot(rewatch bool) {
	f.choosing.Lock()
	configs, err := f.chooseRoots(f.s.Settings(), f.workspace())
	if err != nil { // the settings were checked, and the others do not change
		f.choosing.Unlock()
		f.s.Log().Error("roots not changed", "err", err)
		return
	}
	same := slices.Equal(configs, *f.configs.Load())
	f.configs.Store(&configs)
	f.choosing.Unlock()
	if rewatch || !same {
		f.applyRoots(rewatch)
	}
}

// rediscover looks for new roots until ctx ends.
func (f *features) rediscover(ctx context.Context) {
	for {
		select {
		case <-f.opt.After(rediscoverEvery):
		case <-ctx.Done():
			return
		}
		if f.found.Load() != nil {
			f.reroot(false)
		}
	}
}

// isNew tells whether a root is only where the first memory of its scope will be.
func (f *features) isNew(path string) bool {
	found := f.found.Load()
	return found != nil && slices.ContainsFunc(found.Places, func(p discovery.Place) bool {
		return p.State == discovery.StateNew && p.Path == path
	})
}

// discovered is what memory/status says of the places that were looked at.
func (f *features) discovered() (places []DiscoveredPlace, notes []string) {
	found := f.found.Load()
	if found == nil {
		return nil, nil
	}
	for _, p := range found.Places {
		places = append(places, DiscoveredPlace{
			Profile: p.Profile, Scope: string(p.Scope), Path: p.Path, Folder: p.Folder, State: string(p.State), Reason: p.Reason,
		})
	}
	return places, found.Notes
}
