package model

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// Config names a model.
type Config struct {
	BaseURL       string // of the API, up to and with its version: http://localhost:11434/v1
	Name          string // of the chat model
	Key           string `json:"-"` // bearer token; empty sends none. Never printed
	EmbeddingName string // of the embedding model; empty: no vectors
	// Timeout bounds one Complete, waiting for a place and retries included;
	// 0 is DefaultTimeout.
	Timeout time.Duration
}

// String shows the model and endpoint, and only whether there is a key.
func (c Config) String() string {
	key := "with a key"
	if c.Key == "" {
		key = "without a key"
	}
	return fmt.Sprintf("%s at %s, %s", c.Name, displayURL(c.BaseURL), key)
}

// GoString is String, so that %#v shows no key either.
func (c Config) GoString() string { return "model.Config{" + c.String() + "}" }

// LogValue is String.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// displayURL is a base URL less everything that may hold a secret.
func displayURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "an invalid URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Setting is a part of a [Config], as the settings of a client name it.
type Setting string

// The settings.
const (
	SettingBaseURL Setting = "baseURL"
	SettingName    Setting = "name"
	SettingKey     Setting = "apiKeyEnv"
	SettingTimeout Setting = "requestTimeoutMs"

	SettingEmbedding Setting = "embeddingName"
)

// SettingError is a config that cannot work.
type SettingError struct {
	Setting Setting
	Problem string
}

func (e *SettingError) Error() string { return "model." + string(e.Setting) + ": " + e.Problem }

// Check tells what is wrong with a config, with a [*SettingError], without asking
// anybody.
func (c Config) Check() error {
	_, _, err := c.checked()
	return err
}

// checked answers the config with its defaults filled in, and its base URL.
func (c Config) checked() (Config, *url.URL, error) {
	c.Key = strings.TrimSpace(c.Key)
	c.Name = strings.TrimSpace(c.Name)
	wrong := func(s Setting, problem string) (Config, *url.URL, error) { return c, nil, &SettingError{s, problem} }
	base, err := c.baseURL()
	switch {
	case err != nil:
		return wrong(SettingBaseURL, err.Error())
	case c.Name == "":
		return wrong(SettingName, "empty; name a model of the endpoint")
	case strings.ContainsFunc(c.Key, func(r rune) bool { return unicode.IsControl(r) || r > unicode.MaxASCII }):
		return wrong(SettingKey, "the key holds characters that no HTTP header may carry")
	case c.Timeout < 0:
		return wrong(SettingTimeout, fmt.Sprintf("negative (%s)", c.Timeout))
	case c.Timeout == 0:
		c.Timeout = DefaultTimeout
	}
	return c, base, nil
}

func (c Config) baseURL() (*url.URL, error) {
	s := strings.TrimSpace(c.BaseURL)
	if s == "" {
		return nil, errors.New("empty; want something like http://localhost:11434/v1")
	}
	u, err := url.Parse(s)
	if err != nil {
		// The parser's own message quotes the URL, and that may hold a secret.
		return nil, errors.New("not a valid URL")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("must begin with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("names no host")
	case u.User != nil:
		return nil, errors.New("must not hold a user or password; the key has a setting of its own")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("must not have a query or fragment")
	}
	// People paste the full address of the method from a vendor's page.
	u.Path = strings.TrimRight(u.Path, "/")
	for _, method := range []string{"/chat/completions", "/embeddings"} {
		u.Path = strings.TrimSuffix(u.Path, method)
	}
	u.RawPath = ""
	return u, nil
}
