package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/door"
)

// An engine is made up: it decodes up to so many sequences together, a token of each in a step, which takes the longer the more there are.
type engine struct {
	mu     sync.Mutex
	batch  map[*sequence]bool
	most   int            // sequences at a time, so far
	tokens map[string]int // by API key
}

type sequence struct {
	left   int
	tokens chan bool
}

// run makes steps until the context ends.
func (e *engine) run(ctx context.Context) {
	for ctx.Err() == nil {
		e.mu.Lock()
		e.most = max(e.most, len(e.batch))
		for s := range e.batch {
			s.left--
			s.tokens <- s.left > 0 // it has room for all
			if s.left == 0 {
				close(s.tokens)
				delete(e.batch, s)
			}
		}
		n := len(e.batch)
		e.mu.Unlock()
		time.Sleep(200*time.Microsecond + time.Duration(n)*5*time.Microsecond)
	}
}

// ServeHTTP is POST /v1/completions, as far as it matters here.
func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Prompt    int  `json:"prompt"` // so many tokens, which the engine reads at once
		MaxTokens int  `json:"max_tokens"`
		Stream    bool `json:"stream"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.MaxTokens < 1 {
		http.Error(w, `{"error": "bad request"}`, http.StatusBadRequest)
		return
	}
	s := &sequence{left: q.MaxTokens, tokens: make(chan bool, q.MaxTokens)}
	e.mu.Lock()
	e.batch[s] = true
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.batch, s)
	}()
	e.mu.Lock()
	e.tokens[r.Header.Get("Authorization")] += q.Prompt
	e.mu.Unlock()
	n := 0
	for range s.tokens {
		if r.Context().Err() != nil {
			return
		}
		n++
		e.mu.Lock()
		e.tokens[r.Header.Get("Authorization")]++
		e.mu.Unlock()
		if q.Stream {
			fmt.Fprintf(w, "data: {\"choices\": [{\"text\": \"x\"}]}\n\n")
			w.(http.Flusher).Flush()
		}
	}
	usage := fmt.Sprintf(`"usage": {"prompt_tokens": %d, "completion_tokens": %d, "total_tokens": %d}`, q.Prompt, n, q.Prompt+n)
	if q.Stream {
		fmt.Fprintf(w, "data: {\"choices\": [], %s}\n\ndata: [DONE]\n\n", usage)
		return
	}
	fmt.Fprintf(w, `{"choices": [{"text": %q}], %s}`, strings.Repeat("x", n), usage)
}

// Two keys that always have requests, of 80 tokens that take 5 steps of the engine and are not streamed, and of 40 that take 40 steps and are, get the same
// tokens: neither the same number of requests nor the same time. The engine has no larger batch than the door lets in.
func TestProxy(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := &engine{batch: map[*sequence]bool{}, tokens: map[string]int{}}
	go e.run(ctx)
	server := httptest.NewServer(e)
	defer server.Close()
	const inFlight = 4
	target, wrong := url.Parse(server.URL)
	d, err := door.NewFair(inFlight, options)
	if err := errors.Join(wrong, err); err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(d.Wrap(proxy(target)))
	defer front.Close()
	post := func(key, body string) (int, string) {
		r, err := http.NewRequest("POST", front.URL+"/v1/completions", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		r.Header.Set("Authorization", key)
		resp, err := front.Client().Do(r)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(data)
	}
	if status, body := post("Bearer a", `{"max_tokens": 3, "stream": true}`); status != 200 || strings.Count(body, "data:") != 5 || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("a stream: %d %q", status, body)
	}
	if status, body := post("Bearer a", `{}`); status != 400 || !strings.Contains(body, "bad request") {
		t.Errorf("a bad request: %d %q", status, body)
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	for i := range 16 {
		key, body := "Bearer short", `{"prompt": 75, "max_tokens": 5}`
		if i%2 == 1 {
			key, body = "Bearer long", `{"max_tokens": 40, "stream": true}`
		}
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if status, body := post(key, body); status != 200 {
					t.Errorf("%s: %d %q", key, status, body)
					return
				}
			}
		})
	}
	var short, long int
	for end := time.Now().Add(time.Minute); short+long < 12_000; time.Sleep(time.Millisecond) {
		e.mu.Lock()
		short, long = e.tokens["Bearer short"], e.tokens["Bearer long"]
		e.mu.Unlock()
		if time.Now().After(end) {
			t.Fatalf("after a minute: %d and %d tokens", short, long)
		}
	}
	close(done)
	wg.Wait()
	if r := float64(short) / float64(long); r < .8 || r > 1.25 {
		t.Errorf("short requests got %d tokens, long ones %d: want the same", short, long)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.most > inFlight {
		t.Errorf("the engine had %d sequences at a time, want %d", e.most, inFlight)
	}
	if err := d.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
