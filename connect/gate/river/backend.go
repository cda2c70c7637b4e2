package river

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// poll is how long Notes waits. It then sees whether the connection still answers.
const poll = 5 * time.Second

// errFiling is the error of a release of a row whose last attempt has ended, and that River has not filed yet.
var errFiling = errors.New("connect/gate/river: River is filing the row")

// errOther is the error of a gate that waits for another one.
var errOther = errors.New("connect/gate/river: another gate holds the queue")

// A note is a gate.Note as it is in a notification.
type note struct {
	Kind    gate.NoteKind `json:"k"`
	Rows    []int64       `json:"r"`
	Service time.Duration `json:"s,omitempty"`
	After   time.Duration `json:"a,omitempty"`
	Attempt int64         `json:"t,omitempty"` // when the attempt that has ended began, in microseconds
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

// An ear is the connection on which a gate hears notes. While it is open, no other gate's is.
type ear struct {
	mu   sync.Mutex // held while it is opened or closed
	conn *pgx.Conn  // nil unless open; used by Notes alone, which closes it when it has failed

	filing sync.Mutex
	ended  map[int64]end // rows of which a note has told that an attempt has ended
	round  int           // counts calls of Tasks
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
	if e.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := e.conn.Close(ctx)
	e.conn = nil
	return err
}

// listen opens the connection unless it is open.
func (q *Queue) listen(ctx context.Context) (*pgx.Conn, error) {
	q.ear.mu.Lock()
	defer q.ear.mu.Unlock()
	if q.ear.conn != nil {
		return q.ear.conn, nil
	}
	conn, err := pgx.ConnectConfig(ctx, q.pool.Config().ConnConfig.Copy())
	if err != nil {
		return nil, err
	}
	var ours bool
	err = conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, q.lock).Scan(&ours)
	if err == nil && !ours {
		err = errOther
	}
	if err == nil {
		_, err = conn.Exec(ctx, `LISTEN `+pgx.Identifier{q.channel}.Sanitize())
	}
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	q.ear.conn = conn
	return conn, nil
}

// Notes implements [gate.Backend].
func (q *Queue) Notes(ctx context.Context) ([]gate.Note, error) {
	conn, err := q.listen(ctx)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, poll)
	defer cancel()
	heard, err := conn.WaitForNotification(wait)
	if err != nil {
		closed := conn.IsClosed()
		switch {
		case ctx.Err() == nil && wait.Err() != nil && !closed:
			return nil, q.ping(ctx, conn)
		case ctx.Err() == nil || closed:
			_ = q.ear.close()
		}
		return nil, cmp.Or(ctx.Err(), err)
	}
	return q.read(ctx, heard.Payload)
}

// ping finds out whether a connection on which nothing comes is alive.
func (q *Queue) ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, poll)
	defer cancel()
	err := conn.Ping(ctx)
	if err != nil {
		_ = q.ear.close()
	}
	return err
}

// read returns the note in a notification; none if it was not sent by this package.
func (q *Queue) read(ctx context.Context, payload string) ([]gate.Note, error) {
	var n note
	if json.Unmarshal([]byte(payload), &n) != nil || len(n.Rows) == 0 {
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
	scheduled_at > now() + interval '50 years'`

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
		if err := rows.Scan(&id, &state, &metadata, &t.Since, &attempt, &far); err != nil {
			return nil, nil, err
		}
		running[id] = state == "running"
		job, ok := decode(metadata)
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
	var changed bool
	err = q.pool.QueryRow(ctx, `WITH changed AS (
			UPDATE `+q.table+` SET state = 'available', scheduled_at = now()
			WHERE id = $1 AND queue = $2 AND metadata ? '`+key+`' AND state IN ('pending', 'scheduled', 'retryable') RETURNING id)
		SELECT count(*) > 0 FROM changed, set_config('synchronous_commit', 'off', true), pg_notify(concat(coalesce(nullif($3::text, ''), current_schema()), '.river_insert'), json_build_object('queue', $2::text)::text)`,
		row, q.opts.Queue, q.opts.Schema).Scan(&changed)
	if err != nil || changed {
		return err
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
