package kubetest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	authv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Witness stands before the API server and keeps account of requests.
type Witness struct {
	// Fault answers a request in the API server's place, unless it returns false.
	Fault func(w http.ResponseWriter, r *http.Request, verb string) bool

	server *httptest.Server
	mu     sync.Mutex
	used   map[string]bool
	denied []string
}

// Witness starts one. The caller must call Close.
func (c *Cluster) Witness() (*Witness, error) {
	target, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	w := &Witness{used: map[string]bool{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true},
		FlushInterval: -1,
		ErrorHandler:  func(rw http.ResponseWriter, _ *http.Request, _ error) { rw.WriteHeader(http.StatusBadGateway) },
		ModifyResponse: func(r *http.Response) error {
			if verb := verbOf(r.Request); r.StatusCode == http.StatusForbidden {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.denied = append(w.denied, verb)
			}
			return nil
		},
	}
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		verb := verbOf(r)
		w.mu.Lock()
		w.used[verb] = true
		w.mu.Unlock()
		if w.Fault == nil || !w.Fault(rw, r, verb) {
			proxy.ServeHTTP(rw, r)
		}
	}))
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.server.StartTLS() // clients send no token without
	return w, nil
}

// Close ends the witness and cuts off its connections.
func (w *Witness) Close() {
	w.server.CloseClientConnections()
	w.server.Close()
}

// Used returns the verbs of the requests so far, sorted, such as "create pods/binding" or "patch
// jobs.batch/status".
func (w *Witness) Used() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.used, "")
	return slices.Sorted(maps.Keys(w.used))
}

// Denied returns the verbs of requests that were forbidden, in their order.
func (w *Witness) Denied() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.denied)
}

// Kubeconfig writes a kubeconfig file of a ServiceAccount whose requests go through the witness, and returns
// its name.
func (w *Witness) Kubeconfig(ctx context.Context, c *Cluster, namespace, account string) (string, error) {
	t, err := c.Client().CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	name := filepath.Join(c.dir, "kubeconfig-"+account)
	return name, os.WriteFile(name, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: account, user: {token: %q}}]
contexts: [{name: test, context: {cluster: test, user: account}}]
current-context: test
`, w.server.URL, t.Status.Token), 0o600)
}

// verbOf returns the verb and the resource of a request, empty if it is about none.
func verbOf(r *http.Request) string {
	part, group := strings.Split(strings.Trim(r.URL.Path, "/"), "/"), ""
	switch {
	case len(part) > 2 && part[0] == "api":
		part = part[2:]
	case len(part) > 3 && part[0] == "apis":
		part, group = part[3:], "."+part[1]
	default:
		return ""
	}
	if len(part) > 2 && part[0] == "namespaces" {
		part = part[2:]
	}
	verb := strings.ToLower(r.Method)
	switch {
	case r.Method == http.MethodPost:
		verb = "create"
	case r.Method == http.MethodPut:
		verb = "update"
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") != "":
		verb = "watch"
	case r.Method == http.MethodGet && len(part) == 1:
		verb = "list"
	}
	resource := part[0] + group
	if len(part) > 2 {
		resource += "/" + part[2]
	}
	return verb + " " + resource
}
