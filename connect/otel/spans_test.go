package otel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/sojourn-sched/sojourn/connect/otel"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
)

// Each attempt at a durable job has a span that is linked to that of its Submit, also in the next process, and the handler gets the payload as it was. A
// payload that nobody has traced is handed on as it is, whatever it looks like.
func TestTraced(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	tracer := trace.NewTracerProvider(trace.WithSpanProcessor(spans)).Tracer("test")
	request, submit := tracer.Start(context.Background(), "request")
	submit.End()
	dir, process := t.TempDir(), 1
	var got []string
	work := func(_ context.Context, task live.Task, payload []byte) error {
		got = append(got, string(payload))
		switch {
		case string(payload) == "wait" && process == 1:
			return errors.New("not now")
		case string(payload) == "panic":
			panic("in a task")
		}
		return nil
	}
	open := func() (*live.Pool, *journal.Journal) {
		store, err := journal.OpenFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		policy, err := fifo.New(fifo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		j, err := journal.Open(store, policy, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := live.New(j, live.Options{Slots: 1, Handlers: map[string]live.Handler{"work": otel.Traced(tracer, "work", work)}})
		if err != nil {
			t.Fatal(err)
		}
		return p, j
	}
	p, j := open()
	run := func(payload []byte, retry *live.Retry) *live.Handle {
		h, err := p.Submit(request, live.Job{Handler: "work", Payload: payload, Retry: retry, Phases: []live.Phase{{Tasks: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	line := string(otel.Carry(request, nil))
	raw := []string{"", "plain", "traceparent: 00-1\nx", "\n", strings.TrimPrefix(line, "traceparent: ") + "x"}
	for _, payload := range raw {
		if err := run(otel.Carry(context.Background(), []byte(payload)), nil).Wait(request); err != nil {
			t.Error(err)
		}
	}
	_ = run(otel.Carry(request, []byte("panic")), nil).Wait(request)
	h := run(otel.Carry(request, []byte("wait")), &live.Retry{Attempts: 2, Backoff: 1 << 40})
	for tries := 0; h.Progress().Failed == 0; tries++ { // it is tried again in the next process
		if tries == 60_000 {
			t.Fatal("the job was not tried for a minute")
		}
		time.Sleep(time.Millisecond)
	}
	if err := errors.Join(p.Suspend(request), j.Close()); err != nil {
		t.Fatal(err)
	}
	process = 2
	p, j = open()
	for _, h := range p.Handles() {
		if err := h.Wait(request); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(p.Close(request), j.Close()); err != nil {
		t.Fatal(err)
	}
	if err := otel.Traced(tracer, "work", work)(request, live.Task{Attempt: 3}, []byte(line+"x")); err != nil { // the request is not over
		t.Error(err)
	}
	if want := append(raw, "panic", "wait", "wait", "x"); !slices.Equal(got, want) {
		t.Errorf("the handler got %q, want %q", got, want)
	}
	var list []string
	for _, s := range spans.Ended()[1:] {
		links := "no link"
		for _, l := range s.Links() {
			links = fmt.Sprint("linked ", l.SpanContext.SpanID() == submit.SpanContext().SpanID() && l.SpanContext.TraceID() == submit.SpanContext().TraceID())
		}
		list = append(list, fmt.Sprint(s.Name(), " root ", !s.Parent().IsValid(), " ", links, " ", s.Status().Code, " ", len(s.Events()), " events, attempt ", s.Attributes()[1].Value.AsInt64()))
	}
	plain := "work root true no link Unset 0 events, attempt 1"
	want := []string{plain, plain, plain, plain, plain, "work root true linked true Unset 1 events, attempt 1", "work root true linked true Error 1 events, attempt 1", "work root true linked true Unset 0 events, attempt 2",
		"work root true linked true Unset 0 events, attempt 3"}
	if !slices.Equal(list, want) {
		t.Errorf("the spans are\n%q, want\n%q", list, want)
	}
}
