package river

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

const (
	// key is the key of a row's metadata under which its job is.
	key = "sojourn"

	// notBefore is the key under which a row's metadata says when it may run at the earliest.
	notBefore = "sojourn_not_before"

	// never is how far away the time of a held row is that has failed or was snoozed.
	never = 100 * 365 * 24 * time.Hour

	// settle is more than River takes to file a row that has failed. It files in batches.
	settle = 500 * time.Millisecond

	// patience is how long a worker waits for the database to take a note.
	patience = 2 * time.Second

	// chunk is how many rows one note can name: PostgreSQL takes 8,000 bytes.
	chunk = 350
)

// Options configure a [Queue]. Producers, clients and gates of a queue must give the same.
type Options struct {
	Queue  string // name of the queue in River
	Schema string // of River's tables, as in river.Config; empty means that of the search path
}

// Validate returns what is wrong with the options, or nil.
func (o Options) Validate() error {
	if o.Queue == "" {
		return errors.New("connect/gate/river: Options.Queue is empty")
	}
	return nil
}

// A Queue is a queue of River whose rows a gate holds back. It is safe for concurrent use.
type Queue struct {
	opts    Options
	pool    *pgxpool.Pool
	table   string // quoted
	channel string // of notes
	lock    int64  // of the gate
	ear     ear
}

var _ interface {
	gate.Backend
	gate.Fleet
	gate.Locker
} = (*Queue)(nil)

// New returns a queue. It uses connections of the pool, and one of its own while a gate runs.
func New(pool *pgxpool.Pool, o Options) (*Queue, error) {
	if pool == nil {
		return nil, errors.New("connect/gate/river: the pool is nil")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	table := pgx.Identifier{"river_job"}
	if o.Schema != "" {
		table = pgx.Identifier{o.Schema, "river_job"}
	}
	// Names of channels are short, so the channel has a hash in its name. The lock is the same hash.
	sum := sha256.Sum256([]byte(o.Schema + "\x00" + o.Queue))
	q := &Queue{opts: o, pool: pool, table: table.Sanitize(), channel: fmt.Sprintf("sojourn_%x", sum[:8])}
	for _, b := range sum[:8] {
		q.lock = q.lock<<8 | int64(b)
	}
	return q, nil
}

// Close ends the queue's own connection. The pool stays open.
func (q *Queue) Close() error { return q.ear.close() }

// Insert puts rows of a job into the queue, all or none. They may be added to a job that has rows.
// A row that is skipped as a duplicate is so marked in its result; it belongs to the job with which
// it was inserted first. A row with ScheduledAt in the future does not run before (TestPoolsAndTimes). A row of another queue is refused.
func (q *Queue) Insert(ctx context.Context, client *river.Client[pgx.Tx], job gate.Job, rows ...river.InsertManyParams) (results []*rivertype.JobInsertResult, err error) {
	err = pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		results, err = q.InsertTx(ctx, client, tx, job, rows...)
		return err
	})
	return results, err
}

// InsertTx is Insert in a transaction. The gate sees the rows when it commits.
func (q *Queue) InsertTx(ctx context.Context, client *river.Client[pgx.Tx], tx pgx.Tx, job gate.Job, rows ...river.InsertManyParams) ([]*rivertype.JobInsertResult, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	told, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("connect/gate/river: job %q: %w", job.ID, err)
	}
	held := make([]river.InsertManyParams, len(rows))
	for i, row := range rows {
		if held[i], err = q.hold(row, told); err != nil {
			return nil, fmt.Errorf("connect/gate/river: job %q: row %d of %d: %w", job.ID, i+1, len(rows), err)
		}
	}
	results, err := client.InsertManyTx(ctx, tx, held)
	if err != nil {
		return nil, fmt.Errorf("connect/gate/river: job %q: %w", job.ID, err)
	}
	n := note{Kind: gate.Added}
	for i, r := range results {
		if !r.UniqueSkippedAsDuplicate {
			n.Rows = append(n.Rows, r.Job.ID)
		}
		if len(n.Rows) == chunk || i == len(results)-1 && len(n.Rows) > 0 {
			if err := q.tell(ctx, tx, tellWith, n); err != nil {
				return nil, fmt.Errorf("connect/gate/river: job %q: %w", job.ID, err)
			}
			n.Rows = nil
		}
	}
	return results, nil
}

// hold returns a row that waits for the gate and carries its job.
func (q *Queue) hold(row river.InsertManyParams, job json.RawMessage) (river.InsertManyParams, error) {
	var o river.InsertOpts
	if row.InsertOpts != nil {
		o = *row.InsertOpts
	}
	if o.Queue != "" && o.Queue != q.opts.Queue {
		return row, fmt.Errorf("it is for queue %q: want %q", o.Queue, q.opts.Queue)
	}
	metadata := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(o.Metadata)) > 0 {
		if err := json.Unmarshal(o.Metadata, &metadata); err != nil {
			return row, fmt.Errorf("its metadata: %w", err)
		}
	}
	if metadata == nil { // JSON null
		metadata = map[string]json.RawMessage{}
	}
	metadata[key] = job
	if time.Until(o.ScheduledAt) > 0 {
		at, err := o.ScheduledAt.MarshalJSON()
		if err != nil {
			return row, fmt.Errorf("its time: %w", err)
		}
		metadata[notBefore] = at
	}
	text, err := json.Marshal(metadata)
	if err != nil {
		return row, fmt.Errorf("its metadata: %w", err)
	}
	o.Queue, o.Pending, o.Metadata, o.ScheduledAt = q.opts.Queue, true, text, time.Time{}
	row.InsertOpts = &o
	return row, nil
}

// Configure makes clients with this configuration tell the gate of the ends of rows, and leave
// failed rows to it, and tell it that they live. Set RetryPolicy, Queues and FetchPollInterval before: the gate keeps its delays, and
// learns how many workers the queue has. Each client needs a configuration of its own.
func (q *Queue) Configure(c *river.Config) {
	var policy river.ClientRetryPolicy = &river.DefaultClientRetryPolicy{}
	if c.RetryPolicy != nil {
		policy = c.RetryPolicy
	}
	c.RetryPolicy = &retryPolicy{q, policy}
	p := newPulse(q, c)
	c.Hooks = append(c.Hooks, p)
	c.Middleware = append(c.Middleware, &middleware{queue: q, delay: policy, pulse: p})
}

// jobOf returns the job of a row of this queue.
func (q *Queue) jobOf(row *rivertype.JobRow) (job gate.Job, ok bool) {
	if row.Queue != q.opts.Queue {
		return job, false
	}
	job, _, ok = decode(row.Metadata)
	return job, ok
}

// decode reads from a row's metadata a job, and when the row may run. A time that is none is no time.
func decode(metadata []byte) (job gate.Job, at time.Time, ok bool) {
	var m struct {
		Job       *gate.Job       `json:"sojourn"`
		NotBefore json.RawMessage `json:"sojourn_not_before"`
	}
	if json.Unmarshal(metadata, &m) != nil || m.Job == nil {
		return job, at, false
	}
	_ = json.Unmarshal(m.NotBefore, &at)
	return *m.Job, at, true
}

// A retryPolicy holds failed rows back for the gate.
type retryPolicy struct {
	queue *Queue
	river.ClientRetryPolicy
}

func (p *retryPolicy) NextRetry(row *rivertype.JobRow) time.Time {
	if _, ok := p.queue.jobOf(row); ok {
		return time.Now().Add(never)
	}
	return p.ClientRetryPolicy.NextRetry(row)
}

// A middleware tells the gate of the ends of rows.
type middleware struct {
	river.MiddlewareDefaults
	queue *Queue
	delay river.ClientRetryPolicy
	pulse *pulse
}

// Work implements [rivertype.WorkerMiddleware].
func (m *middleware) Work(ctx context.Context, row *rivertype.JobRow, next func(context.Context) error) error {
	_, ok := m.queue.jobOf(row)
	defer m.pulse.begin(row, ok)()
	if !ok {
		return next(ctx)
	}
	start := time.Now()
	result := errors.New("the worker panicked")
	defer func() { m.tell(ctx, row, result, time.Since(start)) }()
	result = next(ctx)
	if snooze := (*rivertype.JobSnoozeError)(nil); errors.As(result, &snooze) {
		return &rivertype.JobSnoozeError{Duration: never} // the note tells for how long
	}
	return result
}

// tell tells of an end. If the database does not take the note, the gate finds the end by comparing.
func (m *middleware) tell(ctx context.Context, row *rivertype.JobRow, err error, service time.Duration) {
	n, ok := m.note(ctx, row, err)
	if !ok {
		return
	}
	n.Service = service
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_ = m.queue.tell(ctx, m.queue.pool, tellSoon, n)
}

// note returns what an end of a row means to the gate, as River files it. It reports false if River
// takes the row back without an end, since its client stops.
func (m *middleware) note(ctx context.Context, row *rivertype.JobRow, err error) (note, bool) {
	n := note{Rows: []int64{row.ID}}
	if row.AttemptedAt != nil {
		n.Attempt = row.AttemptedAt.UnixMicro()
	}
	var snooze *rivertype.JobSnoozeError
	var cancelled *rivertype.JobCancelError
	cause := context.Cause(ctx)
	switch {
	case err == nil:
		n.Kind = gate.Finished
	case errors.Is(cause, rivertype.ErrJobCancelledRemotely):
		n.Kind = gate.Dropped
	case errors.As(err, &snooze):
		n.Kind, n.After = gate.Failed, max(settle, snooze.Duration)
	case errors.As(err, &cancelled):
		n.Kind = gate.Dropped
	case cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, cause)):
		return n, false
	case row.Attempt >= row.MaxAttempts:
		n.Kind = gate.Dropped
	default:
		n.Kind, n.After = gate.Failed, max(settle, time.Until(m.delay.NextRetry(row)))
	}
	return n, true
}
