package modeltest

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"net/http"
	"strings"
	"unicode"
)

// Embedding is the decoded body of an embeddings request.
type Embedding struct {
	Model string   `json:"model"`
	Input []string `json:"input"`
}

// EmbeddingsPath ends the path of an embeddings request.
const EmbeddingsPath = "/embeddings"

// Embeddings sets the step for requests to the embeddings method, which take none
// of the script's.
func (s *Server) Embeddings(step Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.embeddings = step
}

// Vectors answers an embeddings request in the shape of OpenAI with what vector
// makes of each text.
func Vectors(vector func(text string) []float32) Step {
	return func(c *Call) { c.Reply(http.StatusOK, "application/json", EmbeddingList(c.vectors(vector), nil)) }
}

func (c *Call) vectors(vector func(string) []float32) [][]float32 {
	out := make([][]float32, len(c.Embedding.Input))
	for i, text := range c.Embedding.Input {
		out[i] = vector(text)
	}
	return out
}

// EmbeddingList is the body of an answer in the shape of OpenAI. order says which
// vector stands where; nil leaves them in the order of the texts.
func EmbeddingList(vectors [][]float32, order []int) string {
	data := make([]any, 0, len(vectors))
	for i := range vectors {
		at := i
		if order != nil {
			at = order[i]
		}
		data = append(data, map[string]any{"object": "embedding", "index": at, "embedding": vectors[at]})
	}
	return encode(map[string]any{"object": "list", "model": "stub", "data": data, "usage": map[string]int{"prompt_tokens": 8 * len(data), "total_tokens": 8 * len(data)}})
}

// Reshaped answers an embeddings request with a body made of its vectors.
func Reshaped(vector func(text string) []float32, body func([][]float32) string) Step {
	return func(c *Call) { c.Reply(http.StatusOK, "application/json", body(c.vectors(vector))) }
}

// Space is a made-up space of meanings, shaped as those of real models are: every
// vector has much in common with every other, and some noise of its own. Words of one
// concept, in whatever language, lie close together.
type Space struct {
	Dimension int
	// Concepts are sets of words, in lower case, that mean the same.
	Concepts [][]string
	// Common is how much all vectors have in common, against 1 for a concept.
	Common float64
}

// Vector is the meaning of a text: the concepts that its words name, and of every
// other word something of its own. It depends on the text alone.
func (s Space) Vector(text string) []float32 {
	sum := make([]float64, s.Dimension)
	add := func(key string, weight float64) {
		for i, x := range direction(key, s.Dimension) {
			sum[i] += weight * x
		}
	}
	add("what all texts share", s.Common)
	lower := strings.ToLower(text)
	known := false
	for i, words := range s.Concepts {
		for _, w := range words {
			if strings.Contains(lower, w) {
				add("concept "+string(rune('A'+i)), 1)
				known = true
				break
			}
		}
	}
	if !known { // it is about something else, as every text is about something
		add("the subject of "+lower, 1)
	}
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(lower, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if !words[w] {
			words[w] = true
			add(w, 0.15)
		}
	}
	norm := 0.0
	for _, x := range sum {
		norm += x * x
	}
	out := make([]float32, s.Dimension)
	for i, x := range sum {
		out[i] = float32(x / math.Sqrt(norm+1e-12))
	}
	return out
}

// direction is a unit vector that depends on a key alone, and is nearly at right
// angles to those of other keys.
func direction(key string, dimension int) []float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // Inv: a hash takes everything
	x := h.Sum64()
	out := make([]float64, dimension)
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = (float64(x>>11)/(1<<53) - 0.5) * math.Sqrt(12/float64(dimension))
	}
	return out
}

// isEmbedding decodes the body of an embeddings request.
func isEmbedding(path string, body []byte, into *Embedding) bool {
	if !strings.HasSuffix(path, EmbeddingsPath) {
		return false
	}
	_ = json.Unmarshal(body, into) // one of another shape leaves it empty
	return true
}
