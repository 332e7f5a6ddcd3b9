package lsp

import (
	"slices"
	"strings"

	"github.com/memls/memls/memory"
)

// headerKey describes a key of a memory's header to a person.
type headerKey struct {
	name, meaning string
	values        []headerValue // those that it can have; nil when anything goes
	shape         keyShape
}

// keyShape is what kind of value a key has.
type keyShape int

const (
	shapeText keyShape = iota
	shapeWord
	shapeDate
	shapeWords // a list of words
	shapeLinks // a list of memories
)

type headerValue struct{ name, meaning string }

// headerKeys are the keys that memls reads, in the order in which people write
// them.
func headerKeys() []headerKey {
	return []headerKey{
		{name: "name", meaning: "What the memory is called. Without it the first heading is taken, else the file name."},
		{name: "description", meaning: "One line that says what it is about and when it matters. It is searched, and shown in the index."},
		{name: "type", shape: shapeWord, meaning: "What kind of thing is remembered.", values: []headerValue{
			{memory.TypeUser, "About the person: role, knowledge, preferences."},
			{memory.TypeFeedback, "How the person wants work to be done, corrections and confirmations."},
			{memory.TypeProject, "What is going on in the project: goals, decisions, dates, incidents."},
			{memory.TypeReference, "Where something is found: systems, documents, dashboards."},
		}},
		{name: "keywords", shape: shapeWords, meaning: "Further words that the memory shall be found by, also in other languages."},
		{name: "usage_scenarios", shape: shapeText, meaning: "Situations in which the memory helps."},
		{name: "category", shape: shapeWord, meaning: "A finer sorting than the type.", values: categories()},
		{name: "pinned", shape: shapeWord, meaning: "A pinned memory is never changed by extraction or consolidation.", values: []headerValue{
			{"true", "Only people change it."}, {"false", "As if the key were not there."},
		}},
		{name: "status", shape: shapeWord, meaning: "Whether it still holds. Only an active memory is recalled.", values: []headerValue{
			{memory.StatusActive, "It holds; the same as no status."},
			{memory.StatusSuperseded, "Another memory took its place. It is kept, and not recalled."},
			{memory.StatusExpired, "Its time is over. It is kept, and not recalled."},
		}},
		{name: "expires_at", shape: shapeDate, meaning: "Until when it holds. A day counts to its end."},
		{name: "supersedes", shape: shapeLinks, meaning: "The memories whose place it takes."},
		{name: "created_at", shape: shapeDate, meaning: "When it was first written."},
		{name: "updated_at", shape: shapeDate, meaning: "When what it says last changed. Without it the time of the file counts."},
		{name: "last_verified_at", shape: shapeDate, meaning: "When somebody last checked that it is true."},
		{name: "id", shape: shapeWord, meaning: "A name of its own that another program gave it; memls keeps it."},
		{name: "metadata", meaning: "Keys of Claude's memories; `type` is read here when it does not stand at the top."},
	}
}

// categories are those of qwen-code's structured memories.
func categories() []headerValue {
	names := []string{
		"basic_information", "hobbies", "communication_preference", "behavior_habit", "project_introduction", "tech_stack",
		"build_configuration", "dependency_configuration", "ide_configuration", "scm_configuration", "environment_configuration",
		"code_standard", "practice_standard", "testing_standard", "comment_standard", "tool_experience", "mcp_experience",
		"common_pitfall", "important_decision", "task_summary",
	}
	out := make([]headerValue, len(names))
	for i, name := range names {
		out[i] = headerValue{name: name, meaning: strings.ReplaceAll(name, "_", " ")}
	}
	return out
}

// findHeaderKey is the description of a key by its name as [memory.Keys] has it;
// title is another spelling of name, and the keys of the metadata map mean what
// they mean at the top.
func findHeaderKey(name string) (headerKey, bool) {
	name = strings.TrimPrefix(name, "metadata.")
	switch name {
	case "title":
		name = "name"
	case "modified":
		name = "updated_at"
	case "originsessionid":
		return headerKey{name: name, meaning: "The session that the memory was taken from."}, true
	}
	keys := headerKeys()
	if i := slices.IndexFunc(keys, func(k headerKey) bool { return k.name == name }); i >= 0 {
		return keys[i], true
	}
	return headerKey{}, false
}
