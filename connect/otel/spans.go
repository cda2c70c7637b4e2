package otel

import (
	"bytes"
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/sojourn-sched/sojourn/live"
)

// parent begins the line that Carry puts before a payload.
const parent = "traceparent"

// Carry returns the payload of a job with a line before it that names the span of ctx, so that attempts can be linked to the request that has
// submitted the job, also after a restart: a durable job sees nothing else of that context. Without a span the payload is as it was. The line is that of W3C
// Trace Context, without its state, and part of what [live.Handle.Payload] returns. [Traced] takes it off.
//
//	pool, err := live.New(j, live.Options{Handlers: map[string]live.Handler{"build": otel.Traced(tracer, "build", build)}})
//	h, err := pool.Submit(ctx, live.Job{Handler: "build", Payload: otel.Carry(ctx, payload), Phases: phases})
func Carry(ctx context.Context, payload []byte) []byte {
	fields := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, fields)
	if fields[parent] == "" {
		return payload
	}
	return append([]byte(parent+": "+fields[parent]+"\n"), payload...)
}

// Traced returns a handler that calls h in a span for each attempt. The span is the root of its own trace, since an attempt may run long after the request
// has ended. It is linked to the span that [Carry] has put before the payload, which h does not see. Payloads without one, such as those of jobs that were submitted
// before a release, are handed on as they are (TestTraced).
func Traced(tracer trace.Tracer, name string, h live.Handler) live.Handler {
	return func(ctx context.Context, t live.Task, payload []byte) error {
		o := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			attribute.String("sojourn.task", t.TaskID.String()), attribute.Int64("sojourn.attempt", int64(t.Attempt)))}
		if line, rest, ok := bytes.Cut(payload, []byte("\n")); ok {
			value, is := bytes.CutPrefix(line, []byte(parent+": "))
			fields := propagation.MapCarrier{parent: string(value)}
			if from := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), fields)); is && from.IsValid() {
				payload = rest
				o = append(o, trace.WithLinks(trace.Link{SpanContext: from}))
			}
		}
		ctx, span := tracer.Start(ctx, name, o...)
		defer span.End() // it records a panic
		err := h(ctx, t, payload)
		if err != nil {
			span.RecordError(err)
			span.SetStatus(codes.Error, err.Error())
		}
		return err
	}
}
