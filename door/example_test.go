package door_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/sojourn-sched/sojourn/door"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// A handler works on 16 requests at a time, and on behalf of whom it has done least is next.
func ExampleNewFair() {
	d, err := door.NewFair(16, door.Options{
		Tenant: func(r *http.Request) string { user, _, _ := r.BasicAuth(); return user }, // who was authenticated before
	})
	if err != nil {
		log.Fatal(err)
	}
	handler := d.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		door.Charge(r.Context(), 120) // tokens, rows, bytes: without it the time in the handler is shared
		fmt.Fprint(w, "answer")
	}))

	server := httptest.NewServer(handler)
	defer server.Close()
	answer, err := http.Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	fmt.Println(answer.Status, string(text))
	// Output: 200 OK answer
}

// Who makes the pool has its page and metrics, and chooses the policy.
func ExampleNew() {
	policy, err := fair.New(fair.Options{HalfLife: 20 * time.Second}) // that of NewFair
	if err != nil {
		log.Fatal(err)
	}
	recorder := statuspage.NewRecorder()
	pool, err := live.New(policy, live.Options{Slots: 16, Observer: recorder})
	if err != nil {
		log.Fatal(err)
	}
	d, err := door.New(pool, door.Options{})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", d.Wrap(http.NotFoundHandler()))
	mux.Handle("/pool/", http.StripPrefix("/pool", statuspage.Handler(pool, statuspage.WithRecorder(recorder))))

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest("GET", "/pool/status.json", nil))
	fmt.Println(answer.Code, d.Status().Admitted)
	// Output: 200 0
}
