package model

import "strings"

// prompts stand before texts that are embedded, as the cards of some models want it.
// Without them those models find less.
type prompts struct{ query, passage string }

// knownPrompts name models by what their names hold, in lower case; the first that
// fits counts. The texts are those of the models' cards.
var knownPrompts = []struct {
	name    string
	prompts prompts
}{
	{"e5-mistral", prompts{"Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ", ""}},
	{"multilingual-e5-large-instruct", prompts{"Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ", ""}},
	{"e5-", prompts{"query: ", "passage: "}},
	{"nomic-embed-text", prompts{"search_query: ", "search_document: "}},
	{"nomic-embed-v2", prompts{"search_query: ", "search_document: "}},
	{"embeddinggemma", prompts{"task: search result | query: ", "title: none | text: "}},
	{"qwen3-embedding", prompts{"Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:", ""}},
	{"snowflake-arctic-embed", prompts{"query: ", ""}},
	{"arctic-embed", prompts{"query: ", ""}},
	{"mxbai-embed-large", prompts{"Represent this sentence for searching relevant passages: ", ""}},
	{"bge-small-en", prompts{"Represent this sentence for searching relevant passages: ", ""}},
	{"bge-base-en", prompts{"Represent this sentence for searching relevant passages: ", ""}},
	{"bge-large-en", prompts{"Represent this sentence for searching relevant passages: ", ""}},
}

func promptsOf(name string) prompts {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	for _, k := range knownPrompts {
		if strings.Contains(name, k.name) {
			return k.prompts
		}
	}
	return prompts{}
}

// put are the texts of a request as they are sent.
func (p prompts) put(r EmbedRequest) []string {
	before := p.passage
	if r.Query {
		before = p.query
	}
	if before == "" {
		return r.Texts
	}
	out := make([]string, len(r.Texts))
	for i, t := range r.Texts {
		out[i] = before + t
	}
	return out
}
