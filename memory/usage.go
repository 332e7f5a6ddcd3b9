package memory

// Usage is what models were asked for by one run, or one step of it.
type Usage struct {
	Requests         int `json:"requests,omitempty"`
	PromptTokens     int `json:"promptTokens,omitempty"`
	CompletionTokens int `json:"completionTokens,omitempty"`
	// Estimated says that an endpoint did not count, and that its part of the
	// tokens is reckoned from the length of the texts.
	Estimated bool `json:"estimated,omitempty"`
	// Cost is the money that it took by the prices that were configured, in
	// Currency; zero without prices.
	Cost     float64 `json:"cost,omitempty"`
	Currency string  `json:"currency,omitempty"`
}

// Tokens are those of questions and answers.
func (u Usage) Tokens() int { return u.PromptTokens + u.CompletionTokens }

// Plus is the sum of two usages at the same prices.
func (u Usage) Plus(o Usage) Usage {
	u.Requests += o.Requests
	u.PromptTokens += o.PromptTokens
	u.CompletionTokens += o.CompletionTokens
	u.Estimated = u.Estimated || o.Estimated
	u.Cost += o.Cost
	if u.Currency == "" {
		u.Currency = o.Currency
	}
	return u
}

// Price is what a model costs. The zero Price is that of a model on one's own
// machine.
type Price struct {
	Input, Output float64 // for a million tokens
	Currency      string
}

// Of puts a price on a usage.
func (p Price) Of(u Usage) Usage {
	const million = 1e6
	if p.Input == 0 && p.Output == 0 {
		return u
	}
	u.Cost = p.Input*float64(u.PromptTokens)/million + p.Output*float64(u.CompletionTokens)/million
	u.Currency = p.Currency
	return u
}
