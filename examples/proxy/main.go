// Command proxy stands in front of an OpenAI-compatible server, and shares its tokens between API keys. It lets in so many
// requests as the engine batches; the others wait for their turn, and a full line says when to come again.
//
//	proxy -listen :8080 -server http://localhost:8000 -inflight 64
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"

	"github.com/sojourn-sched/sojourn/door"
)

func main() {
	listen := flag.String("listen", ":8080", "the address to serve")
	server := flag.String("server", "http://localhost:8000", "the server behind")
	inFlight := flag.Int("inflight", 64, "requests at a time: as many as the engine batches")
	flag.Parse()
	target, wrong := url.Parse(*server)
	d, err := door.NewFair(*inFlight, options)
	if err = cmp.Or(wrong, err); err == nil {
		err = http.ListenAndServe(*listen, d.Wrap(proxy(target)))
	}
	log.Fatal("proxy: ", err)
}

// options share between API keys, and between the sessions of a key. Names of tenants are shown on pages and in metrics, and keys are
// secrets, so that a tenant is called by the hash of its key.
var options = door.Options{
	Tenant: func(r *http.Request) string {
		return fmt.Sprintf("%.6x", sha256.Sum256([]byte(r.Header.Get("Authorization"))))
	},
	Session: func(r *http.Request) string { return r.Header.Get("X-Session-ID") },
	Exempt:  func(r *http.Request) bool { return r.Method == http.MethodGet }, // models, health
}

// proxy passes requests on, and charges what their responses say.
func proxy(target *url.URL) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, ModifyResponse: charge}
}

func charge(r *http.Response) error {
	r.Body = &meter{ReadCloser: r.Body, ctx: r.Request.Context()}
	return nil
}

// usage is in the response, or in its last event if that is streamed and the request has stream_options.include_usage.
var usage = regexp.MustCompile(`"total_tokens":\s*(\d+)`)

// A meter charges the tokens of a response while it passes. One without usage is charged what its time has cost of late: see door.Charge.
type meter struct {
	io.ReadCloser
	ctx  context.Context
	tail []byte
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.tail = append(m.tail[max(len(m.tail)-200, 0):], p[:n]...) // it may be cut anywhere
	for _, found := range usage.FindAllSubmatch(m.tail, -1) {
		tokens, _ := strconv.ParseUint(string(found[1]), 10, 64)
		door.Charge(m.ctx, tokens)
	}
	return n, err
}
