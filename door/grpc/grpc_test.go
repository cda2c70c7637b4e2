package grpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/sojourn-sched/sojourn/door"
	doorgrpc "github.com/sojourn-sched/sojourn/door/grpc"
)

var bg = context.Background()

// A backend takes a second for each call.
type backend struct {
	pb.UnimplementedTestServiceServer
	running, most, calls atomic.Int64
	streamed             atomic.Int64 // how long streams have waited, in all
}

func (b *backend) work(ctx context.Context) error {
	b.calls.Add(1)
	n := b.running.Add(1)
	defer b.running.Add(-1)
	for m := b.most.Load(); n > m && !b.most.CompareAndSwap(m, n); m = b.most.Load() {
	}
	door.Charge(ctx, 1)
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *backend) UnaryCall(ctx context.Context, r *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	if err := b.work(ctx); err != nil {
		return nil, err
	}
	if r.GetFillUsername() {
		panic("the handler")
	}
	return &pb.SimpleResponse{Username: door.Waited(ctx).String()}, nil
}

func (b *backend) StreamingOutputCall(r *pb.StreamingOutputCallRequest, s pb.TestService_StreamingOutputCallServer) error {
	b.streamed.Add(int64(door.Waited(s.Context())))
	for range r.GetResponseParameters() {
		if err := b.work(s.Context()); err != nil {
			return err
		}
		if err := s.Send(&pb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
	return nil
}

// FullDuplexCall answers each message, or panics if that asks for a status.
func (b *backend) FullDuplexCall(s pb.TestService_FullDuplexCallServer) error {
	for n := uint64(1); ; n++ {
		r, err := s.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case r.GetResponseStatus() != nil:
			panic("the handler")
		}
		door.Charge(s.Context(), n)
		if err := s.Send(&pb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
}

// tenant is what a client says it is: that is enough for a test.
func tenant(ctx context.Context, _ string, _ any) (r door.Request) {
	md, _ := metadata.FromIncomingContext(ctx)
	for key, at := range map[string]*string{"tenant": &r.Tenant, "session": &r.Session} {
		if v := md.Get(key); len(v) > 0 {
			*at = v[0]
		}
	}
	return r
}

func as(tenant string) context.Context { return metadata.AppendToOutgoingContext(bg, "tenant", tenant) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// recovering turns panics of a handler into errors, as a server in production does.
func recovering(ctx context.Context, m any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (r any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = status.Error(codes.Internal, fmt.Sprint(v))
		}
	}()
	return handle(ctx, m)
}

func recoveringStream(server any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = status.Error(codes.Internal, fmt.Sprint(v))
		}
	}()
	return handle(server, s)
}

// serve runs a server behind a door, in a bubble.
func serve(t *testing.T, inFlight int, o door.Options, with func(t *testing.T, d *door.Door, b *backend, conn *grpc.ClientConn), dial ...grpc.DialOption) {
	synctest.Test(t, func(t *testing.T) {
		d := must(door.NewFair(inFlight, o))
		b := new(backend)
		opts := doorgrpc.Options{Request: tenant}
		server := grpc.NewServer(grpc.ChainUnaryInterceptor(recovering, doorgrpc.UnaryInterceptor(d, opts)), grpc.ChainStreamInterceptor(recoveringStream, doorgrpc.StreamInterceptor(d, opts)))
		pb.RegisterTestServiceServer(server, b)
		healthpb.RegisterHealthServer(server, health.NewServer())
		lis := bufconn.Listen(1 << 16)
		go func() { _ = server.Serve(lis) }()
		conn := must(grpc.NewClient("passthrough:///test", append(dial, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))...))
		with(t, d, b, conn)
		if err := errors.Join(conn.Close(), d.Close(bg)); err != nil {
			t.Error(err)
		}
		server.Stop()
		if st := d.Status(); st.Running+st.Waiting != 0 || len(st.Tenants) > 0 && st.Promised == 0 {
			t.Errorf("left over: %+v", st)
		}
	})
}

// Unary calls and streams share the places, and who floods waits for its own calls only.
func TestCalls(t *testing.T) {
	serve(t, 4, door.Options{}, func(t *testing.T, d *door.Door, b *backend, conn *grpc.ClientConn) {
		c := pb.NewTestServiceClient(conn)
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				if i%2 == 0 {
					if _, err := c.UnaryCall(as("flood"), &pb.SimpleRequest{}); err != nil {
						t.Error(err)
					}
					return
				}
				s, err := c.StreamingOutputCall(as("flood"), &pb.StreamingOutputCallRequest{ResponseParameters: make([]*pb.ResponseParameters, 2)})
				for err == nil {
					_, err = s.Recv()
				}
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
			})
		}
		time.Sleep(1500 * time.Millisecond)
		began := time.Now()
		r, err := c.UnaryCall(as("light"), &pb.SimpleRequest{})
		if took := time.Since(began); err != nil || took > 3*time.Second {
			t.Errorf("the light tenant got %v after %v, want an answer within 3 s", err, took)
		} else if waited := must(time.ParseDuration(r.Username)); waited <= 0 || waited > 2*time.Second {
			t.Errorf("its handler was told that it has waited %v", waited)
		}
		wg.Wait()
		if waited := time.Duration(b.streamed.Load()); waited < 100*time.Second {
			t.Errorf("30 streams were told that they have waited %v, want 100 s at least", waited)
		}
		if b.most.Load() != 4 || b.calls.Load() != 91 {
			t.Errorf("%d at a time of %d, want 4 of 91", b.most.Load(), b.calls.Load())
		}
	})
}

// A stream of messages in both directions has its place until its handler returns: when the client has sent all, when it goes away, and when the handler panics.
func TestStreams(t *testing.T) {
	serve(t, 1, door.Options{}, func(t *testing.T, d *door.Door, b *backend, conn *grpc.ClientConn) {
		c := pb.NewTestServiceClient(conn)
		for how, want := range map[string]codes.Code{"all sent": codes.OK, "gone": codes.Canceled, "panic": codes.Internal} {
			ctx, cancel := context.WithCancel(as("a"))
			s := must(c.FullDuplexCall(ctx))
			talk := func(m *pb.StreamingOutputCallRequest) error {
				if err := s.Send(m); err != nil {
					return err
				}
				_, err := s.Recv()
				return err
			}
			for range 3 {
				if err := talk(&pb.StreamingOutputCallRequest{}); err != nil {
					t.Error(err)
				}
			}
			other := make(chan error, 1)
			go func() { _, err := c.UnaryCall(as("b"), &pb.SimpleRequest{}); other <- err }()
			synctest.Wait()
			if st := d.Status(); st.Running != 1 || st.Waiting != 1 {
				t.Errorf("%s: while the stream goes on: %+v", how, st)
			}
			var err error
			switch how {
			case "all sent":
				_ = s.CloseSend()
				if _, err = s.Recv(); errors.Is(err, io.EOF) {
					err = nil
				}
			case "gone":
				cancel()
				_, err = s.Recv()
			case "panic":
				err = talk(&pb.StreamingOutputCallRequest{ResponseStatus: &pb.EchoStatus{}})
			}
			if status.Code(err) != want {
				t.Errorf("%s: the stream ends with %v, want %v", how, err, want)
			}
			if err := <-other; err != nil {
				t.Errorf("%s: who comes next: %v", how, err)
			}
			cancel()
		}
	})
}

// Of the sessions of a tenant the one goes first that has had least: a new one need not wait for all calls of another one.
func TestSessions(t *testing.T) {
	serve(t, 1, door.Options{}, func(t *testing.T, d *door.Door, b *backend, conn *grpc.ClientConn) {
		c := pb.NewTestServiceClient(conn)
		call := func(session string) {
			if _, err := c.UnaryCall(metadata.AppendToOutgoingContext(as("a"), "session", session), &pb.SimpleRequest{}); err != nil {
				t.Error(err)
			}
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { call("long") })
		}
		time.Sleep(1500 * time.Millisecond)
		began := time.Now()
		call("new")
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("a new session got its first answer after %v, want 1.5 s", took)
		}
		wg.Wait()
	})
}

// Who is refused learns by its code, its message and its trailer what it may know.
func TestRefused(t *testing.T) {
	serve(t, 1, door.Options{MaxWaiting: 1, MaxWait: 30 * time.Second}, func(t *testing.T, d *door.Door, b *backend, conn *grpc.ClientConn) {
		c := pb.NewTestServiceClient(conn)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { _, _ = c.UnaryCall(as("a"), &pb.SimpleRequest{}) })
			synctest.Wait()
		}
		var trailer metadata.MD
		_, err := c.UnaryCall(as("a"), &pb.SimpleRequest{}, grpc.Trailer(&trailer))
		if got := trailer.Get("grpc-retry-pushback-ms"); status.Code(err) != codes.Unavailable || len(got) != 1 || got[0] != "1000" || retryDelay(err) != time.Second {
			t.Errorf("refused by %v, to come again after %v and %v; want UNAVAILABLE and a second", err, got, retryDelay(err))
		}
		if text := status.Convert(err).Message(); text != door.ErrFull.Error() {
			t.Errorf("the client is told %q", text)
		}
		s, err := c.StreamingOutputCall(as("a"), &pb.StreamingOutputCallRequest{})
		if err == nil {
			_, err = s.Recv()
		}
		if got := s.Trailer().Get("grpc-retry-pushback-ms"); status.Code(err) != codes.Unavailable || len(got) != 1 || retryDelay(err) < time.Second {
			t.Errorf("the stream is refused by %v, to come again after %v", err, got)
		}
		wg.Wait()
		go func() { _ = d.Close(bg) }()
		synctest.Wait()
		if _, err := c.UnaryCall(as("a"), &pb.SimpleRequest{}); status.Code(err) != codes.Unavailable || retryDelay(err) != -1 {
			t.Errorf("a closed door refuses by %v, want UNAVAILABLE and no time", err)
		}
	})
	serve(t, 1, door.Options{MaxTenantWaiting: 1}, func(t *testing.T, d *door.Door, b *backend, conn *grpc.ClientConn) {
		c := pb.NewTestServiceClient(conn)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { _, _ = c.UnaryCall(as("a"), &pb.SimpleRequest{}) })
			synctest.Wait()
		}
		if _, err := c.UnaryCall(as("a"), &pb.SimpleRequest{}); status.Code(err) != codes.ResourceExhausted || retryDelay(err) < time.Second {
			t.Errorf("a tenant above its bound is refused by %v, want RESOURCE_EXHAUSTED", err)
		}
		wg.Wait()
	})
}

// retryDelay returns what the RetryInfo of an error says; -1 if it has none.
func retryDelay(err error) time.Duration {
	for _, d := range status.Convert(err).Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok {
			return r.RetryDelay.AsDuration()
		}
	}
	return -1
}

// gRPC's own clients come again when they are told, and are admitted then.
func TestClientsComeWhenTold(t *testing.T) {
	retry := grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.01s", "maxBackoff": "0.01s",
		"backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`)
	serve(t, 2, door.Options{MaxWaiting: 4}, func(t *testing.T, d *door.Door, b *backend, conn *grpc.ClientConn) {
		c := pb.NewTestServiceClient(conn)
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				if _, err := c.UnaryCall(as(fmt.Sprint(i)), &pb.SimpleRequest{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if st := d.Status(); st.Admitted != 12 || st.Refused == 0 || st.Refused > 12 {
			t.Errorf("%d admitted and %d refused, want 12, and 1 to 12", st.Admitted, st.Refused)
		}
	}, retry)
}

// A call whose client has gone is never started, and one whose time is over says so.
func TestGoneWhileWaiting(t *testing.T) {
	serve(t, 1, door.Options{}, func(t *testing.T, d *door.Door, b *backend, conn *grpc.ClientConn) {
		c := pb.NewTestServiceClient(conn)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = c.UnaryCall(as("a"), &pb.SimpleRequest{}) })
		synctest.Wait()
		ctx, cancel := context.WithCancel(as("b"))
		for range 3 {
			wg.Go(func() {
				if _, err := c.UnaryCall(ctx, &pb.SimpleRequest{}); status.Code(err) != codes.Canceled {
					t.Errorf("a call that was cancelled got %v", err)
				}
			})
		}
		synctest.Wait()
		cancel()
		late, done := context.WithTimeout(as("c"), 100*time.Millisecond)
		defer done()
		if _, err := c.UnaryCall(late, &pb.SimpleRequest{}); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("a call of 100 ms got %v", err)
		}
		wg.Wait()
		if n := b.calls.Load(); n != 1 {
			t.Errorf("%d calls reached the handler, want 1", n)
		}
	})
}

// A handler that panics leaves its place.
func TestPanics(t *testing.T) {
	serve(t, 1, door.Options{}, func(t *testing.T, d *door.Door, b *backend, conn *grpc.ClientConn) {
		c := pb.NewTestServiceClient(conn)
		for range 3 {
			if _, err := c.UnaryCall(as("a"), &pb.SimpleRequest{FillUsername: true}); !strings.Contains(err.Error(), "the handler") {
				t.Error(err)
			}
		}
		if _, err := c.UnaryCall(as("a"), &pb.SimpleRequest{}); err != nil {
			t.Error(err)
		}
	})
}

// Health checks are answered while everybody waits, unless somebody wants them to wait.
func TestHealthChecksGoPast(t *testing.T) {
	serve(t, 1, door.Options{}, func(t *testing.T, d *door.Door, b *backend, conn *grpc.ClientConn) {
		c := pb.NewTestServiceClient(conn)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { _, _ = c.UnaryCall(as("a"), &pb.SimpleRequest{}) })
		}
		synctest.Wait()
		ctx, done := context.WithTimeout(bg, time.Millisecond)
		defer done()
		if _, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

// Exempt says what goes past the door, and a server without Request has one tenant.
func TestExempt(t *testing.T) {
	d := must(door.NewFair(1, door.Options{}))
	o := doorgrpc.Options{Exempt: func(_ context.Context, method string) bool { return method == "/x/Past" }}
	unary := func(method string) (inside bool) {
		_, err := doorgrpc.UnaryInterceptor(d, o)(bg, nil, &grpc.UnaryServerInfo{FullMethod: method}, func(ctx context.Context, _ any) (any, error) {
			inside = d.Status().Running == 1
			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}
		return inside
	}
	stream := func(method string) (inside bool) {
		err := doorgrpc.StreamInterceptor(d, o)(nil, server{}, &grpc.StreamServerInfo{FullMethod: method}, func(_ any, s grpc.ServerStream) error {
			inside = d.Status().Running == 1
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return inside
	}
	if unary("/x/Past") || !unary("/grpc.health.v1.Health/Check") || stream("/x/Past") || !stream("/x/Other") {
		t.Error("want no call past the door but Past")
	}
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
}

type server struct{ grpc.ServerStream }

func (server) Context() context.Context { return bg }
