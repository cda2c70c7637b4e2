package grpc

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sojourn-sched/sojourn/door"
)

// Each kind of error has its code, no text of a policy reaches a client, and who may come again is never told to come too early.
func TestRefusal(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	secret := errors.New("the policy says what it has")
	for _, tc := range []struct {
		ctx  context.Context
		err  error
		code codes.Code
		text string
		wait []string
	}{
		{context.Background(), &door.Refusal{Status: 429, Why: door.ErrDeadline, After: 1_000_001, Cause: secret}, codes.ResourceExhausted, door.ErrDeadline.Error(), []string{"2"}},
		{context.Background(), &door.Refusal{Status: 429, Why: door.ErrDeadline, After: 1, Cause: secret}, codes.ResourceExhausted, door.ErrDeadline.Error(), []string{"1"}},
		{context.Background(), &door.Refusal{Status: 503, Why: door.ErrFull, After: 2 * time.Second}, codes.Unavailable, door.ErrFull.Error(), []string{"2000"}},
		{context.Background(), &door.Refusal{Status: 500, Why: door.ErrRequest, Cause: secret}, codes.Internal, door.ErrRequest.Error(), nil},
		{context.Background(), secret, codes.Internal, door.ErrRequest.Error(), nil},
		{over, secret, codes.Canceled, context.Canceled.Error(), nil},
	} {
		trailer, err := refusal(tc.ctx, tc.err)
		st := status.Convert(err)
		if st.Code() != tc.code || st.Message() != tc.text || !slices.Equal(trailer.Get("grpc-retry-pushback-ms"), tc.wait) || (len(st.Details()) > 0) != (tc.wait != nil) {
			t.Errorf("%v: the client is told %v, trailer %v; want %v, %q, %v", tc.err, err, trailer, tc.code, tc.text, tc.wait)
		}
	}
}
