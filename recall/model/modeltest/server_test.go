package modeltest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/memls/memls/recall/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const manifest = "- m1 [user] Coffee, black\n- m2 [user] Tea m9\n{\"id\":\"m12\",\"title\":\"Juice\"}\nno id: Water"

// post sends a chat and answers the status and body.
func post(t *testing.T, ctx context.Context, s *modeltest.Server) (int, string, error) {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"model": "x", "temperature": 0, "response_format": map[string]string{"type": "json_object"},
		"messages": []map[string]string{{"role": "system", "content": "s"}, {"role": "user", "content": manifest}},
	})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DisableKeepAlives: true}
	res, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// content is the text of a completion.
func content(t *testing.T, body string) string {
	t.Helper()
	var c struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(body), &c); err != nil || len(c.Choices) != 1 {
		t.Fatalf("body %s: %v", body, err)
	}
	return c.Choices[0].Message.Content
}

func TestScriptThenOtherwise(t *testing.T) {
	s := modeltest.New(t)
	s.Script(modeltest.Choose("Juice", "Coffee", "Water", "Beer"), modeltest.IDs("a", "a"))
	s.Otherwise(modeltest.ChooseBy(modeltest.Chat.AllIDs))
	for _, want := range []string{`{"ids":["m12","m1"]}`, `{"ids":["a","a"]}`, `{"ids":["m1","m2","m12"]}`, `{"ids":["m1","m2","m12"]}`} {
		_, body, err := post(t, context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		if got := content(t, body); got != want {
			t.Errorf("content = %s, want %s", got, want)
		}
	}
	all := s.Requests()
	if len(all) != 4 {
		t.Fatalf("%d requests recorded", len(all))
	}
	c := all[0].Chat
	if c.Model != "x" || c.Format() != "json_object" || c.Text("system") != "s" || *c.Temperature != 0 || c.MaxTokens != nil {
		t.Errorf("recorded %+v", c)
	}
}

func TestEmptySelection(t *testing.T) {
	s := modeltest.New(t)
	_, body, err := post(t, context.Background(), s)
	if err != nil || content(t, body) != `{"ids":[]}` {
		t.Errorf("body = %s, error = %v", body, err)
	}
}

// Steps that wait end with their client, and are reported.
func TestWaitingEndsWithTheClient(t *testing.T) {
	for name, step := range map[string]modeltest.Step{
		"hang": modeltest.Hang(), "stall": modeltest.Stall(), "sleep": modeltest.After(time.Hour, modeltest.IDs()),
		"when": modeltest.When(nil, modeltest.IDs()), "serial": modeltest.Serial(modeltest.Hang()),
	} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.New(t)
			s.Otherwise(step)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				<-s.Arrived()
				cancel()
			}()
			if _, _, err := post(t, ctx, s); err == nil {
				t.Error("answered")
			}
			if r := <-s.Gone(); r.Chat.Model != "x" {
				t.Errorf("gone: %+v", r)
			}
		})
	}
}

// Closing ends steps that wait, so that a test that fails does not hang.
func TestCloseEndsWaiting(t *testing.T) {
	s := modeltest.Start()
	s.Otherwise(modeltest.Hang())
	done := make(chan error, 1)
	go func() {
		_, _, err := post(t, context.Background(), s)
		done <- err
	}()
	<-s.Arrived()
	s.Close()
	s.Close()
	if err := <-done; err == nil {
		t.Error("answered by a closed server")
	}
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		step   modeltest.Step
		status int // 0: no answer at all
		want   string
		broken bool
	}{
		"html":       {modeltest.HTML(502), 502, "<title>502 Bad Gateway</title>", false},
		"fail":       {modeltest.Fail(400, "no"), 400, `"message":"no"`, false},
		"disconnect": {modeltest.Disconnect(), 200, `{"id"`, true},
		"reset":      {modeltest.Reset(), 0, "", true},
		"length":     {modeltest.Length("x"), 200, `"finish_reason":"length"`, false},
		"full":       {modeltest.FullContext("x", 7), 200, `"completion_tokens":7`, false},
		"thinker":    {modeltest.ThinkerChoosing(9, "reasoning", "Tea"), 200, `\"m2\"`, false},
		"after":      {modeltest.After(time.Nanosecond, modeltest.Prose()), 200, "memory", false},
		"once":       {modeltest.Once(modeltest.Refusal("no"), modeltest.Prose()), 200, `"refusal":"no"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.New(t)
			s.Otherwise(c.step)
			status, body, err := post(t, context.Background(), s)
			if status != c.status || !strings.Contains(body, c.want) || (err != nil) != c.broken {
				t.Errorf("answer = %d %q, error = %v", status, body, err)
			}
		})
	}
}

func TestSerialTakesOneAtATime(t *testing.T) {
	s := modeltest.New(t)
	inside := make(chan struct{}, 8)
	next := make(chan struct{})
	s.Otherwise(modeltest.Serial(func(c *modeltest.Call) {
		inside <- struct{}{}
		if c.Wait(next) {
			modeltest.IDs()(c)
		}
	}))
	done := make(chan error, 3)
	for range 3 {
		go func() {
			_, _, err := post(t, context.Background(), s)
			done <- err
		}()
		<-s.Arrived()
	}
	for range 3 {
		<-inside
		if len(inside) != 0 {
			t.Error("two at once")
		}
		next <- struct{}{}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if s.Peak() != 3 {
		t.Errorf("peak = %d, want 3", s.Peak())
	}
}

func TestRefused(t *testing.T) {
	url, err := modeltest.Refused()
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Get(url)
	if err == nil {
		res.Body.Close()
		t.Error("somebody listens")
	}
}

func TestChatIDs(t *testing.T) {
	c := modeltest.Chat{Messages: []modeltest.ChatMessage{{Role: "user", Content: manifest}}}
	if got := c.IDs("nothing"); got == nil || len(got) != 0 {
		t.Errorf("IDs = %v", got)
	}
	if got := c.IDs("Tea", "black"); !slices.Equal(got, []string{"m2", "m1"}) {
		t.Errorf("IDs = %v", got)
	}
}
