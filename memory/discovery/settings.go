package discovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/tidwall/jsonc"
)

// maxSettings bounds a settings file of another program.
const maxSettings = 1 << 20

// readSettings reads what users have set for other programs. Inv: no file of a
// workspace that is not trusted is read for it, and never a project's settings.
func (f *finder) readSettings() {
	if f.wants(ProfileQwen) {
		f.qwenBase = f.readQwen()
	}
	if f.wants(ProfileClaude) {
		f.claudeMemory = f.readClaude()
	}
}

// userSettings reads a settings file, in which comments may stand. It tells
// whether there is one that could be read.
func (f *finder) userSettings(path string, into any) bool {
	if !f.req.Trusted && f.inside(path) {
		if isFile(path) {
			f.note("%s lies in a workspace that is not trusted, and is not read", path)
		}
		return false
	}
	raw, err := readSmall(path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) || isNotDirectory(err) {
		return false
	}
	if err == nil {
		err = json.Unmarshal(jsonc.ToJSON(raw), into)
	}
	if err != nil {
		f.note("%s is left out of account: %s", path, cause(err))
	}
	return err == nil
}

func (f *finder) note(format string, args ...any) {
	f.res.Notes = append(f.res.Notes, fmt.Sprintf(format, args...))
}

func (f *finder) noteOnce(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(f.res.Notes, note) {
		f.res.Notes = append(f.res.Notes, note)
	}
}
