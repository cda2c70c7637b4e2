package sojourn_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

func TestEventErrorUnwraps(t *testing.T) {
	ev := sojourn.Event{Kind: sojourn.TaskFinished, At: sojourn.Time(90 * time.Second),
		Task: sojourn.TaskID{Job: 7, Phase: 1, Index: 12}, Attempt: 2, Slot: sojourn.Slot{ID: 3}}
	err := fmt.Errorf("line 4: %w", &sojourn.EventError{Event: ev, Err: sojourn.ErrStaleAttempt})

	if !errors.Is(err, sojourn.ErrStaleAttempt) || errors.Is(err, sojourn.ErrUnknownJob) {
		t.Errorf("%v: wraps ErrStaleAttempt %v, ErrUnknownJob %v; want true, false", err,
			errors.Is(err, sojourn.ErrStaleAttempt), errors.Is(err, sojourn.ErrUnknownJob))
	}
	var ee *sojourn.EventError
	if !errors.As(err, &ee) || ee.Event != ev {
		t.Errorf("%v: errors.As finds %+v, want the event %+v", err, ee, ev)
	}
	const want = "line 4: sojourn: TaskFinished task 7/1/12 attempt 2 slot 3 at 1m30s: no such attempt"
	if got := err.Error(); got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

func TestRejectedErrorUnwraps(t *testing.T) {
	re := &sojourn.RejectedError{Job: 3, Misses: 2, By: 4 * time.Second, Offer: sojourn.Time(time.Minute), Exact: true}
	ev := sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 3}}
	var err error = &sojourn.EventError{Event: ev, Err: re}

	if !errors.Is(err, sojourn.ErrRejected) || errors.Is(err, sojourn.ErrUnsupported) {
		t.Errorf("%v: wraps ErrRejected %v, ErrUnsupported %v; want true, false", err,
			errors.Is(err, sojourn.ErrRejected), errors.Is(err, sojourn.ErrUnsupported))
	}
	var got *sojourn.RejectedError
	if !errors.As(err, &got) || got != re {
		t.Errorf("%v: errors.As finds %+v, want %+v", err, got, re)
	}
}

func TestRejectedErrorText(t *testing.T) {
	tests := []struct {
		err  sojourn.RejectedError
		want string
	}{
		{sojourn.RejectedError{Job: 3, Misses: 2, By: 1500 * time.Millisecond},
			"job rejected: job 2 would miss its deadline by 1.5s"},
		{sojourn.RejectedError{Job: 3, Misses: 2, By: math.MaxInt64}, "job rejected: nobody knows when job 2 would end"},
		{sojourn.RejectedError{Job: 3, Misses: 3, Offer: sojourn.Time(time.Minute)}, "job rejected; a deadline of 1m0s would be accepted"},
		{sojourn.RejectedError{Job: 3, Misses: 3, By: time.Second, Offer: sojourn.Time(time.Minute)},
			"job rejected: job 3 would miss its deadline by 1s; a deadline of 1m0s would be accepted"},
	}
	for _, tc := range tests {
		if got := tc.err.Error(); got != tc.want {
			t.Errorf("%+v: Error() = %q, want %q", tc.err, got, tc.want)
		}
	}
}

func TestTimeArithmetic(t *testing.T) {
	at := sojourn.Time(0).Add(90 * time.Second)
	if got := at.Sub(sojourn.Time(30 * time.Second)); got != time.Minute {
		t.Errorf("90s - 30s = %v, want 1m0s", got)
	}
	if got := at.String(); got != "1m30s" {
		t.Errorf("String() = %q, want 1m30s", got)
	}
}
