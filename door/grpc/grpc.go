// Package grpc puts a door before the methods of a gRPC server, as [door.Door.Wrap] puts one before an HTTP handler:
//
//	d, err := door.NewFair(16, door.Options{})
//	...
//	o := doorgrpc.Options{Request: func(ctx context.Context, method string, message any) door.Request {
//		return door.Request{Tenant: customerOf(ctx)} // who was authenticated
//	}}
//	server := grpc.NewServer(
//		grpc.ChainUnaryInterceptor(authenticate, doorgrpc.UnaryInterceptor(d, o)),
//		grpc.ChainStreamInterceptor(authenticateStream, doorgrpc.StreamInterceptor(d, o)))
//
// A call waits on its own goroutine, and a stream has its place until its handler returns. [door.Charge] and [door.Waited] take the context
// of a handler. gRPC itself bounds how many calls of one connection are on the server: see its option MaxConcurrentStreams.
//
// Tier: kit.
package grpc

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/sojourn-sched/sojourn/door"
)

// Options say what a door knows of calls. The functions are called by several goroutines; one that panics does so as the
// handler would. A method is a full name, such as "/package.Service/Method".
type Options struct {
	// Request returns the tenant of a call, and what else is known of it. message is the request of a unary call, and nil of a
	// stream. Without the function all calls are of one tenant.
	Request func(ctx context.Context, method string, message any) door.Request

	// Exempt says which calls go past the door. Without the function these are health checks and reflection
	// (TestHealthChecksGoPast).
	Exempt func(ctx context.Context, method string) bool
}

// UnaryInterceptor lets unary calls into their handlers through a door. The context of the handler comes from that of the call, and
// ends besides when the policy wants the place back. A call that is refused ends with
//
//	RESOURCE_EXHAUSTED  if the tenant has too much here, or the call would end too late
//	UNAVAILABLE         if all together have too much here, or the server is about to stop
//	INTERNAL            if the call does not fit the server
//
// and, if it may come again, with a RetryInfo and the trailer grpc-retry-pushback-ms, which gRPC's clients obey if their retry policy has
// the code: see [door.Refusal] for what is promised then (TestRefused, TestClientsComeWhenTold). One whose context ends before it is admitted
// never reaches the handler (TestGoneWhileWaiting).
func UnaryInterceptor(d *door.Door, o Options) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, message any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if o.exempt(ctx, info.FullMethod) {
			return handle(ctx, message)
		}
		p, err := d.Enter(ctx, o.request(ctx, info.FullMethod, message))
		if err != nil {
			trailer, err := refusal(ctx, err)
			_ = grpc.SetTrailer(ctx, trailer) // it fails if nobody is there to read it
			return nil, err
		}
		defer p.Leave()
		return handle(p.Context(), message)
	}
}

// StreamInterceptor is UnaryInterceptor for streams. A stream waits before its handler reads the first message.
func StreamInterceptor(d *door.Door, o Options) grpc.StreamServerInterceptor {
	return func(server any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if o.exempt(s.Context(), info.FullMethod) {
			return handle(server, s)
		}
		p, err := d.Enter(s.Context(), o.request(s.Context(), info.FullMethod, nil))
		if err != nil {
			trailer, err := refusal(s.Context(), err)
			s.SetTrailer(trailer)
			return err
		}
		defer p.Leave()
		return handle(server, stream{s, p.Context()})
	}
}

// A stream has the context of a pass.
type stream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements [grpc.ServerStream].
func (s stream) Context() context.Context { return s.ctx }

func (o *Options) exempt(ctx context.Context, method string) bool {
	if o.Exempt != nil {
		return o.Exempt(ctx, method)
	}
	return strings.HasPrefix(method, "/grpc.health.") || strings.HasPrefix(method, "/grpc.reflection.")
}

func (o *Options) request(ctx context.Context, method string, message any) door.Request {
	if o.Request == nil {
		return door.Request{}
	}
	return o.Request(ctx, method, message)
}

// refusal returns what a client is told of an error of Enter. What the policy has said is not in it.
func refusal(ctx context.Context, err error) (metadata.MD, error) {
	var no *door.Refusal
	switch {
	case errors.As(err, &no):
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	default:
		no = &door.Refusal{Status: http.StatusInternalServerError, Why: door.ErrRequest}
	}
	code := codes.Internal
	switch no.Status {
	case http.StatusTooManyRequests:
		code = codes.ResourceExhausted
	case http.StatusServiceUnavailable:
		code = codes.Unavailable
	}
	st := status.New(code, no.Why.Error())
	if no.After <= 0 {
		return nil, st.Err()
	}
	if detailed, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(no.After)}); err == nil {
		st = detailed
	}
	wait := (no.After + time.Millisecond - 1) / time.Millisecond
	return metadata.Pairs("grpc-retry-pushback-ms", strconv.FormatInt(int64(wait), 10)), st.Err()
}
