package recall

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

// prompts are what models are asked to do in background work: one file a task,
// so that they can be read and reviewed as texts. The selectors of a turn have
// theirs beside their code, since they are a few lines.
//
//go:embed prompts/*.md
var prompts embed.FS

// Prompt is the text of prompts/<name>.md. It fails when there is none.
func Prompt(name string) (string, error) {
	raw, err := prompts.ReadFile(path.Join("prompts", name+".md"))
	if err != nil {
		return "", fmt.Errorf("the prompt %q: %w", name, err)
	}
	return strings.TrimSpace(string(raw)), nil
}
