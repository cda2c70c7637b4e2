package river

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

const (
	// poll is how long Notes waits, and the time between two looks whether the connection still answers.
	poll = time.Second

	// silence is for how long the session of a gate may be silent before another gate ends it.
	silence = 3 * time.Second

	// deafness is the longest pause of River between two tries to listen after an outage, and more than that.
	deafness = 72 * time.Second
)

// errFiling is the error of a release of a row whose last attempt has ended, and that River has not filed yet.
var errFiling = errors.New("connect/gate/river: River is filing the row")

// errClosed is the error of a gate whose connection was closed in the moment.
var errClosed = errors.New("connect/gate/river: the connection is closed")

// A note is a gate.Note as it is in a notification.
type note struct {
	Kind    gate.NoteKind `json:"k"`
	Rows    []int64       `json:"r"`
	Service time.Duration `json:"s,omitempty"`
	After   time.Duration `json:"a,omitempty"`
	Attempt int64         `json:"t,omitempty"` // when the attempt that has ended began, in microseconds

	// Of a client that lives. It has no Rows then.
	Client  string  `json:"c,omitempty"`
	Workers int     `json:"w,omitempty"`
	Running []int64 `json:"b,omitempty"`
	More    bool    `json:"m,omitempty"` // the rows belong to the note before
}

// How a note is sent: with the transaction that inserts rows, or by itself. By itself it does not
// wait for the disk, since a crash of the database may lose notes anyway.
const (
	tellWith = `SELECT pg_notify($1, $2)`
	tellSoon = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`
)

// tell sends a note.
func (q *Queue) tell(ctx context.Context, db interface {
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
}, how string, n note) error {
	text, err := json.Marshal(n)
	if err == nil {
		_, err = db.Exec(ctx, how, q.channel, string(text))
	}
	return err
}

// An ear is the connection on which a gate hears notes. A gate that has the lock of the queue has it on this connection.
type ear struct {
	mu     sync.Mutex // held while it is opened or closed, and while the lock is taken
	conn   *pgx.Conn  // nil unless open; with the lock, used by Notes alone, which closes it when it has failed
	ours   bool       // the lock
	gate   string     // that has it
	term   uint64     // counts how often the lock was taken
	pinged time.Time
	failed bool      // the connection, and it was not opened again
	deaf   time.Time // until then clients may not hear of rows, and look once a second

	pid atomic.Uint32 // of the session that had the lock the last time

	filing  sync.Mutex
	ended   map[int64]end // rows of which a note has told that an attempt has ended
	round   int           // counts calls of Tasks
	clients map[string]client
}

// An end is that of an attempt which River may not have filed yet.
type end struct {
	attempt int64 // when it began
	failed  bool  // the row will be tried again
	round   int
}

func (e *ear) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shut()
}

// drop closes a connection that has failed.
func (e *ear) drop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fail()
}

func (e *ear) fail() {
	e.failed = true
	_ = e.shut()
}

func (e *ear) shut() error {
	if e.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := e.conn.Close(ctx)
	e.conn, e.ours, e.gate = nil, false, ""
	return err
}

// listen opens the connection unless it is open, and takes the lock unless it is ours. While another gate has it, it hears notes of clients.
func (q *Queue) listen(ctx context.Context) (*pgx.Conn, error) {
	e := &q.ear
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ours {
		return e.conn, nil
	}
	err := q.take(ctx)
	if err != nil && !errors.Is(err, gate.ErrLocked) {
		e.fail()
	}
	return e.conn, err
}

// take takes the lock.
func (q *Queue) take(ctx context.Context) (err error) {
	e := &q.ear
	if e.conn == nil {
		if e.conn, err = pgx.ConnectConfig(ctx, q.pool.Config().ConnConfig.Copy()); err != nil {
			return err
		}
		if _, err := e.conn.Exec(ctx, `LISTEN `+pgx.Identifier{q.channel}.Sanitize()); err != nil {
			return err
		}
		if e.failed {
			e.deaf, e.failed = time.Now().Add(deafness), false
		}
	}
	if err := e.conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, q.lock).Scan(&e.ours); err != nil {
		return err
	}
	if e.ours {
		e.term++
		e.pinged = time.Now()
		e.pid.Store(e.conn.PgConn().PID())
		return nil
	}
	// A gate that is stopped keeps its session. One that lives is never silent for so long.
	if _, err := e.conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
		WHERE locktype = 'advisory' AND granted AND classid::bigint << 32 | objid::bigint = $1 AND objsubid = 1 AND datname = current_database()
		AND state_change < now() - $2 * interval '1 microsecond'`, q.lock, silence.Microseconds()); err != nil {
		return err
	}
	for {
		wait, cancel := context.WithTimeout(ctx, time.Millisecond)
		heard, err := e.conn.WaitForNotification(wait)
		cancel()
		switch {
		case err == nil:
			var n note
			if json.Unmarshal([]byte(heard.Payload), &n) == nil && n.Client != "" {
				e.hear(n)
			}
		case e.conn.IsClosed():
			return err
		default:
			return gate.ErrLocked
		}
	}
}

// Lock implements [gate.Locker]. The lock is one of PostgreSQL, on a session of its own, so that it has no lease: the
// server frees it when it closes the session, and Release looks whether it is held.
func (q *Queue) Lock(ctx context.Context, name string) (term uint64, lease time.Duration, err error) {
	_, err = q.listen(ctx)
	e := &q.ear
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil:
		return 0, 0, err
	case !e.ours:
		return 0, 0, errClosed
	case e.gate != "" && e.gate != name:
		return 0, 0, gate.ErrLocked
	}
	e.gate = name
	return e.term, silence, nil
}

// Unlock implements [gate.Locker].
func (q *Queue) Unlock(_ context.Context, name string) error {
	q.ear.mu.Lock()
	defer q.ear.mu.Unlock()
	if q.ear.gate != name {
		return nil
	}
	return q.ear.shut()
}

// Notes implements [gate.Backend].
func (q *Queue) Notes(ctx context.Context) ([]gate.Note, error) {
	conn, err := q.listen(ctx)
	if err != nil {
		return nil, err
	}
	if time.Since(q.ear.pinged) > poll {
		if err := q.ping(ctx, conn); err != nil {
			return nil, err
		}
		q.ear.pinged = time.Now()
	}
	wait, cancel := context.WithTimeout(ctx, poll)
	defer cancel()
	heard, err := conn.WaitForNotification(wait)
	if err != nil {
		closed := conn.IsClosed()
		switch {
		case ctx.Err() == nil && wait.Err() != nil && !closed:
			return nil, nil
		case ctx.Err() == nil || closed:
			q.ear.drop()
		}
		return nil, cmp.Or(ctx.Err(), err)
	}
	return q.read(ctx, heard.Payload)
}

// ping finds out whether a connection is alive, and shows the server that the gate is.
func (q *Queue) ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 5*poll)
	defer cancel()
	err := conn.Ping(ctx)
	if err != nil {
		q.ear.drop()
	}
	return err
}

// read returns the note in a notification; none if it was not sent by this package.
func (q *Queue) read(ctx context.Context, payload string) ([]gate.Note, error) {
	var n note
	if json.Unmarshal([]byte(payload), &n) != nil {
		return nil, nil
	}
	if n.Client != "" {
		q.ear.hear(n)
	}
	if len(n.Rows) == 0 {
		return nil, nil
	}
	if n.Kind == gate.Added {
		tasks, err := q.rows(ctx, n.Rows)
		return []gate.Note{{Kind: gate.Added, Tasks: tasks}}, err
	}
	q.ear.file(n)
	return []gate.Note{{Kind: n.Kind, Task: strconv.FormatInt(n.Rows[0], 10), Service: n.Service, After: n.After}}, nil
}

// file remembers an end that River may not have filed yet.
func (e *ear) file(n note) {
	e.filing.Lock()
	defer e.filing.Unlock()
	if e.ended == nil {
		e.ended = map[int64]end{}
	}
	e.ended[n.Rows[0]] = end{n.Attempt, n.Kind == gate.Failed, e.round}
}

// filed reports of a row that is running whether a note has told of the end of this attempt, and
// whether the row will be tried again.
func (e *ear) filed(id, attempt int64) (ended, again bool) {
	e.filing.Lock()
	defer e.filing.Unlock()
	known, ok := e.ended[id]
	return ok && known.attempt == attempt, known.failed
}

// next begins another call of Tasks.
func (e *ear) next() (round int) {
	e.filing.Lock()
	defer e.filing.Unlock()
	e.round++
	return e.round
}

// forget forgets the ends of before a round, except those of rows that are running.
func (e *ear) forget(round int, running map[int64]bool) {
	e.filing.Lock()
	defer e.filing.Unlock()
	for id, known := range e.ended {
		if known.round < round && !running[id] {
			delete(e.ended, id)
		}
	}
}

const columns = `id, state::text, metadata, created_at, coalesce(extract(epoch FROM attempted_at) * 1000000, 0)::bigint,
	scheduled_at > now() + interval '50 years', now()`

// Tasks implements [gate.Backend].
func (q *Queue) Tasks(ctx context.Context) ([]gate.Task, error) {
	if _, err := q.listen(ctx); err != nil {
		return nil, err
	}
	round := q.ear.next()
	tasks, running, err := q.query(ctx, `SELECT `+columns+` FROM `+q.table+` WHERE queue = $1 AND metadata ? '`+key+`'
		AND state IN ('pending', 'scheduled', 'retryable', 'available', 'running') ORDER BY id`, q.opts.Queue)
	if err == nil {
		q.ear.forget(round, running)
	}
	return tasks, err
}

// rows returns those of some rows that are held.
func (q *Queue) rows(ctx context.Context, ids []int64) ([]gate.Task, error) {
	tasks, _, err := q.query(ctx, `SELECT `+columns+` FROM `+q.table+` WHERE queue = $1 AND metadata ? '`+key+`'
		AND state = 'pending' AND id = ANY($2) ORDER BY id`, q.opts.Queue, ids)
	return tasks, err
}

// query returns the tasks of rows, and which rows are running.
func (q *Queue) query(ctx context.Context, sql string, args ...any) (tasks []gate.Task, running map[int64]bool, err error) {
	rows, err := q.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	running = map[int64]bool{}
	for rows.Next() {
		var id, attempt int64
		var state string
		var metadata []byte
		var far bool
		var t gate.Task
		var now time.Time // by the clock of the database
		if err := rows.Scan(&id, &state, &metadata, &t.Since, &attempt, &far, &now); err != nil {
			return nil, nil, err
		}
		running[id] = state == "running"
		job, at, ok := decode(metadata)
		if at.After(now) {
			t.NotBefore = time.Now().Add(at.Sub(now))
		}
		t.State = q.state(id, state, attempt, far)
		if ok && t.State != gate.Gone {
			t.ID, t.Job = strconv.FormatInt(id, 10), job
			tasks = append(tasks, t)
		}
	}
	return tasks, running, rows.Err()
}

// state returns where a row is to the gate. An attempt that has ended is over before River files it.
func (q *Queue) state(id int64, state string, attempt int64, far bool) gate.State {
	switch state {
	case "pending":
		return gate.Held
	case "scheduled", "retryable":
		if far {
			return gate.Held
		}
		return gate.Gone // River lets it go by itself, and it then comes back as one that was let go
	case "available":
		return gate.Released
	case "running":
		ended, again := q.ear.filed(id, attempt)
		switch {
		case !ended:
			return gate.Released
		case again:
			return gate.Held
		}
	}
	return gate.Gone
}

// State implements [gate.Backend].
func (q *Queue) State(ctx context.Context, id string) (gate.State, error) {
	row, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return gate.Gone, nil // no row has this ID
	}
	tasks, _, err := q.query(ctx, `SELECT `+columns+` FROM `+q.table+` WHERE id = $1 AND queue = $2`, row, q.opts.Queue)
	if err != nil || len(tasks) == 0 {
		return gate.Gone, err
	}
	return tasks[0].State, nil
}

// Release implements [gate.Backend]. It lets a row go only if the row is held, so that a row that was
// cancelled, or that has ended, stays as it is. It does not wait for the disk: if a crash of the database
// forgets it, the row is held, and the gate finds that by comparing.
func (q *Queue) Release(ctx context.Context, id string) error {
	row, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: no row has the ID %q", gate.ErrGone, id)
	}
	var changed, ours bool
	err = q.pool.QueryRow(ctx, `WITH lock AS (SELECT $4::bigint = 0 OR EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = $4) AS ours),
		changed AS (
			UPDATE `+q.table+` SET state = 'available', scheduled_at = now() FROM lock
			WHERE ours AND id = $1 AND queue = $2 AND metadata ? '`+key+`' AND state IN ('pending', 'scheduled', 'retryable') RETURNING id)
		SELECT count(*) > 0, (SELECT ours FROM lock) FROM changed, set_config('synchronous_commit', 'off', true), pg_notify(concat(coalesce(nullif($3::text, ''), current_schema()), '.river_insert'), json_build_object('queue', $2::text)::text)`,
		row, q.opts.Queue, q.opts.Schema, int64(q.ear.pid.Load())).Scan(&changed, &ours)
	switch {
	case err != nil || changed:
		return err
	case !ours:
		return fmt.Errorf("connect/gate/river: row %s: %w", id, gate.ErrLocked)
	}
	state, err := q.State(ctx, id)
	switch {
	case err != nil:
		return err
	case state == gate.Released:
		return nil // by an earlier call, whose answer was lost
	case state == gate.Held:
		return errFiling
	}
	return fmt.Errorf("%w: row %s", gate.ErrGone, id)
}
