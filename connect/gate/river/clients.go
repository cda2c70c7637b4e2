package river

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

const (
	// beat is the time between two notes of a client that it lives.
	beat = time.Second

	// silent is after how long without one a client counts as dead.
	silent = 5 * beat
)

// A client is one of River that works on the queue.
type client struct {
	workers int
	running []string
	heard   time.Time
}

// hear enters that a client lives.
func (e *ear) hear(n note) {
	e.filing.Lock()
	defer e.filing.Unlock()
	c := client{workers: n.Workers, heard: time.Now()}
	if n.More {
		c = e.clients[n.Client]
	}
	for _, row := range n.Running {
		c.running = append(c.running, strconv.FormatInt(row, 10))
	}
	if e.clients == nil {
		e.clients = map[string]client{}
	}
	e.clients[n.Client] = c
}

// living returns the clients that live.
func (e *ear) living() (live []gate.Server) {
	e.filing.Lock()
	defer e.filing.Unlock()
	now := time.Now()
	for _, id := range slices.Sorted(maps.Keys(e.clients)) {
		c := e.clients[id]
		if now.Sub(c.heard) > silent {
			delete(e.clients, id)
			continue
		}
		live = append(live, gate.Server{ID: id, Workers: c.workers, Tasks: c.running})
	}
	return live
}

// Servers implements [gate.Fleet].
func (q *Queue) Servers(ctx context.Context) (gate.Servers, error) {
	if _, err := q.listen(ctx); err != nil {
		return gate.Servers{}, err
	}
	rows, err := q.pool.Query(ctx, `SELECT id::text FROM `+q.table+` WHERE queue = $1 AND state = 'running' AND metadata ? '`+key+`'`, q.opts.Queue)
	if err != nil {
		return gate.Servers{}, err
	}
	running, err := pgx.CollectRows(rows, pgx.RowTo[string])
	s := gate.Servers{Live: q.ear.living(), Running: running, Beat: 3 * beat}
	q.ear.mu.Lock()
	defer q.ear.mu.Unlock()
	if time.Now().Before(q.ear.deaf) {
		for _, c := range s.Live {
			s.Ahead += c.Workers // a client that has ended a row looks at once
		}
	}
	return s, err
}

// A pulse tells the gate that a client lives, for as long as the client fetches rows or runs some.
type pulse struct {
	river.HookDefaults
	queue   *Queue
	id      string
	workers int
	idle    time.Duration // between two fetches of a client that lives, and more than that

	mu      sync.Mutex
	running map[int64]bool // rows of the queue; true if they are the gate's
	seen    time.Time      // the last sign that the client takes rows
	beating bool
}

func newPulse(q *Queue, c *river.Config) *pulse {
	return &pulse{queue: q, id: rand.Text(), workers: c.Queues[q.opts.Queue].MaxWorkers, running: map[int64]bool{},
		idle: max(3*beat, 3*c.FetchPollInterval)}
}

// MetricEmit implements [rivertype.HookMetricEmit]: a client that takes rows has fetched some, or none.
func (p *pulse) MetricEmit(_ context.Context, params *rivertype.HookMetricEmitParams) {
	if m, ok := params.Metric.(*rivertype.JobGetAvailableCountMetric); ok && m.Queue == p.queue.opts.Queue {
		p.change(func() { p.seen = time.Now() })
	}
}

// begin enters that a row runs. It returns what enters that it does not any more.
func (p *pulse) begin(row *rivertype.JobRow, ours bool) (end func()) {
	if row.Queue != p.queue.opts.Queue {
		return func() {}
	}
	p.change(func() { p.running[row.ID] = ours })
	return func() { p.change(func() { delete(p.running, row.ID); p.seen = time.Now() }) }
}

// change changes p, and sees to it that p beats.
func (p *pulse) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	if !p.beating {
		p.beating = true
		go p.beat()
	}
}

// beat tells that the client lives, until it does not take rows any more and runs none. A client that takes no more has no workers.
func (p *pulse) beat() {
	for {
		p.mu.Lock()
		takes := time.Since(p.seen) < p.idle || len(p.running) >= p.workers // one that has no free worker does not fetch
		rows := []int64{}
		for row, ours := range p.running {
			if ours {
				rows = append(rows, row)
			}
		}
		p.beating = takes || len(p.running) > 0
		goes := p.beating
		p.mu.Unlock()
		workers := p.workers
		if !takes {
			workers = 0
		}
		p.tell(workers, rows)
		if !goes {
			return
		}
		time.Sleep(beat)
	}
}

// tell tells the gate. If the database does not take it, the next one may do.
func (p *pulse) tell(workers int, rows []int64) {
	var texts []string
	for first := true; first || len(rows) > 0; first = false {
		n := note{Client: p.id, Workers: workers, Running: rows[:min(len(rows), chunk)], More: !first}
		rows = rows[len(n.Running):]
		text, err := json.Marshal(n)
		if err != nil {
			return
		}
		texts = append(texts, string(text))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, _ = p.queue.pool.Exec(ctx, `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, told) FROM unnest($2::text[]) WITH ORDINALITY AS t(told, at) ORDER BY at`, p.queue.channel, texts)
}
