package statuspage

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// mostQuery is the most bytes that the parameters of a request may have.
const mostQuery = 1024

// A query has the parameters of a request.
type query struct{ url.Values }

// asks returns the parameters in the address of a request. It does not look at the body.
func asks(r *http.Request) (query, error) {
	if n := len(r.URL.RawQuery); n > mostQuery {
		return query{}, fmt.Errorf("parameters of %d bytes: want at most %d", n, mostQuery)
	}
	v, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return query{}, fmt.Errorf("parameters %q: %w", r.URL.RawQuery, err)
	}
	return query{v}, nil
}

// guarded returns a handler that sets the headers which tell browsers what they may do with an answer, whatever the
// answer is, and refuses what pages of other sites ask for.
func guarded(h http.Handler) http.Handler {
	policy := contentPolicy()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, header := range [...][2]string{
			{"Cache-Control", "no-store"},
			{"Content-Security-Policy", policy},
			{"Cross-Origin-Resource-Policy", "same-origin"},
			{"Referrer-Policy", "no-referrer"},
			{"X-Content-Type-Options", "nosniff"},
			{"X-Frame-Options", "DENY"},
		} {
			w.Header().Set(header[0], header[1])
		}
		if foreign(r) {
			http.Error(w, "a page of another site asks for this", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// contentPolicy is the Content-Security-Policy: nothing from elsewhere, no script but files of this origin, the style of the page alone,
// its empty icon, forms that lead back to it, and no frame around it.
func contentPolicy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// foreign reports whether a browser says that the page of another origin made it send the request, and that no user
// goes to the address: it is for an image, a script, a frame or a program there, or before a user goes. A user may
// follow a link from elsewhere. Clients that are no browsers say nothing, and browsers none on plain HTTP.
func foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	goes := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && r.Header.Get("Sec-Purpose") == ""
	return !goes && !slices.Contains([]string{"", "none", "same-origin"}, site)
}
