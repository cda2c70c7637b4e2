// Command proxy stands in front of an OpenAI-compatible server, and shares its tokens between API keys. It lets in so many
// requests as the engine batches; the others wait for their turn, and a full line says when to come again.
//
//	proxy -listen :8080 -server http://localhost:8000 -inflight 64
package main

import (
	"bytes"
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
	_, handler, err := proxy(*server, *inFlight)
	if err == nil {
		err = http.ListenAndServe(*listen, handler)
	}
	log.Fatal("proxy: ", err)
}

// proxy passes requests on through a door that is fair between API keys, and between the sessions of a key. Names of tenants are
// shown on pages and in metrics, and keys are secrets, so that a tenant is called by the hash of its key.
func proxy(server string, inFlight int) (*door.Door, http.Handler, error) {
	target, wrong := url.Parse(server)
	d, err := door.NewFair(inFlight, door.Options{
		Tenant: func(r *http.Request) string {
			return fmt.Sprintf("%.6x", sha256.Sum256([]byte(r.Header.Get("Authorization"))))
		},
		Session: func(r *http.Request) string { return r.Header.Get("X-Session-ID") },
		Exempt:  func(r *http.Request) bool { return r.Method == http.MethodGet }, // models, health
	})
	if err = cmp.Or(wrong, err); err != nil {
		return nil, nil, err
	}
	return d, d.Wrap(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(resp *http.Response) error {
			resp.Body = &meter{ReadCloser: resp.Body, ctx: resp.Request.Context()}
			return nil
		},
	}), nil
}

// usage is in the response, or in its last event if that is streamed and the request has stream_options.include_usage.
var usage = regexp.MustCompile(`"total_tokens":\s*(\d+)`)

// A meter charges a response while it passes: an event counts as a token, until the usage says how many there were.
type meter struct {
	io.ReadCloser
	ctx  context.Context
	cost uint64
	tail []byte
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.tail = append(m.tail[max(len(m.tail)-200, 0):], p[:n]...) // it may be cut anywhere
	m.cost += uint64(bytes.Count(p[:n], []byte("data:")))
	if all := usage.FindAllSubmatch(m.tail, -1); all != nil {
		m.cost, _ = strconv.ParseUint(string(all[len(all)-1][1]), 10, 64)
	}
	door.Charge(m.ctx, max(m.cost, 1))
	return n, err
}
