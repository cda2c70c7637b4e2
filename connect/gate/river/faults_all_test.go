//go:build all

package river_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// PostgreSQL fails in the ways in which it fails, while rows are put in, let go and run under two gates: no row is lost, and none runs twice. Rows
// that are put in afterwards run, and the gate then knows of no row any more. River may take a fetch along whose answer was lost; the test rescues such a row
// in River's stead.
func TestPostgreSQLFails(t *testing.T) {
	all := `datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`
	alter := func(h *host, setting, reset string) func() {
		name := h.pool.Config().ConnConfig.Database
		exec := func(sql string) {
			if err := shared.exec(sql); err != nil {
				h.t.Errorf("%s: %v", sql, err)
			}
		}
		exec(fmt.Sprintf(`ALTER DATABASE %s %s`, name, setting))
		exec(fmt.Sprintf(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s' AND backend_type = 'client backend'`, name))
		time.Sleep(4 * time.Second)
		return func() {
			exec(fmt.Sprintf(`ALTER DATABASE %s %s`, name, reset))
			exec(fmt.Sprintf(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s' AND backend_type = 'client backend'`, name))
		}
	}
	for _, fault := range []struct {
		name string
		hit  func(*testing.T, *host) (heal func())
	}{
		{"all sessions end", func(t *testing.T, h *host) func() {
			for range 20 {
				_, _ = h.pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE `+all)
				time.Sleep(100 * time.Millisecond)
			}
			return nil
		}},
		{"some sessions end", func(t *testing.T, h *host) func() {
			for range 100 {
				_, _ = h.pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE `+all+` AND random() < 0.1`)
				time.Sleep(20 * time.Millisecond)
			}
			return nil
		}},
		{"statements are cancelled", func(t *testing.T, h *host) func() {
			for range 300 {
				_, _ = h.pool.Exec(t.Context(), `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE `+all+` AND state = 'active'`)
				time.Sleep(5 * time.Millisecond)
			}
			return nil
		}},
		{"read only", func(t *testing.T, h *host) func() {
			return alter(h, `SET default_transaction_read_only = on`, `RESET default_transaction_read_only`)
		}},
		{"statement_timeout", func(t *testing.T, h *host) func() {
			return alter(h, `SET statement_timeout = '2ms'`, `RESET statement_timeout`)
		}},
		{"idle_session_timeout", func(t *testing.T, h *host) func() {
			return alter(h, `SET idle_session_timeout = '300ms'`, `RESET idle_session_timeout`)
		}},
		{"serializable", func(t *testing.T, h *host) func() {
			return alter(h, `SET default_transaction_isolation = serializable`, `RESET default_transaction_isolation`)
		}},
		{"repeatable read for good", func(t *testing.T, h *host) func() {
			alter(h, `SET default_transaction_isolation = 'repeatable read'`, ``)
			return nil
		}},
		{"no connections", func(t *testing.T, h *host) func() {
			return alter(h, `WITH ALLOW_CONNECTIONS false`, `WITH ALLOW_CONNECTIONS true`)
		}},
		{"deadlocks", func(t *testing.T, h *host) func() {
			var others sync.WaitGroup
			for range 4 {
				others.Go(func() {
					for range 10 {
						tx, err := h.pool.Begin(t.Context())
						if err != nil {
							continue
						}
						for range 4 {
							if _, err := tx.Exec(t.Context(), `UPDATE river_job SET priority = priority WHERE id IN (SELECT id FROM river_job WHERE state IN ('pending', 'available', 'running') ORDER BY random() LIMIT 5)`); err != nil {
								break
							}
							time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
						}
						_ = tx.Commit(t.Context())
					}
				})
			}
			others.Wait()
			return nil
		}},
		{"table is locked", func(t *testing.T, h *host) func() {
			tx, err := h.pool.Begin(t.Context())
			if err == nil {
				_, err = tx.Exec(t.Context(), `LOCK TABLE river_job IN ACCESS EXCLUSIVE MODE`)
			}
			if err != nil {
				t.Error(err)
			}
			time.Sleep(6 * time.Second)
			return func() { _ = tx.Rollback(context.Background()) }
		}},
		{"table has another name", func(t *testing.T, h *host) func() {
			h.exec(`ALTER TABLE river_job RENAME TO elsewhere`)
			time.Sleep(3 * time.Second)
			return func() { h.exec(`ALTER TABLE elsewhere RENAME TO river_job`) }
		}},
		{"another version of the tables", func(t *testing.T, h *host) func() {
			m, err := rivermigrate.New(riverpgxv5.New(h.pool), &rivermigrate.Config{Logger: silent})
			if err == nil {
				_, err = m.Migrate(t.Context(), rivermigrate.DirectionDown, &rivermigrate.MigrateOpts{MaxSteps: 1})
			}
			if err != nil {
				t.Error(err)
			}
			time.Sleep(3 * time.Second)
			return func() {
				if _, err := m.Migrate(t.Context(), rivermigrate.DirectionUp, nil); err != nil {
					t.Error(err)
				}
			}
		}},
		{"a column more", func(t *testing.T, h *host) func() {
			h.exec(`ALTER TABLE river_job ADD COLUMN more text`) // cached plans change
			time.Sleep(time.Second)
			h.exec(`ALTER TABLE river_job ALTER COLUMN attempted_at TYPE timestamptz(3)`)
			time.Sleep(time.Second)
			return nil
		}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, 1, 5*time.Millisecond, nil)
			var gates []*gate.Gate
			for range 2 {
				_, queue := h.connect()
				g, err := gate.New(newFair(), queue, gate.Options{Compare: 300 * time.Millisecond, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
				if err != nil {
					t.Fatal(err)
				}
				gates = append(gates, g)
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan struct{})
				go func() { defer close(done); _ = g.Run(ctx) }()
				t.Cleanup(func() { cancel(); <-done })
			}
			h.insert("a", 100, 40*time.Millisecond)
			h.wait(8)
			put := 100
			var producer sync.WaitGroup
			producer.Go(func() {
				for i := range 20 {
					for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
						job := fmt.Sprint("b", i)
						ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
						_, err := h.queue.Insert(ctx, h.client, gate.Job{ID: job}, rows(job, 1, 20*time.Millisecond)...)
						n := 1
						if err != nil {
							n = 0
							_ = h.pool.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE args->>'job' = $1`, job).Scan(&n)
						}
						cancel()
						if n == 1 {
							break
						}
					}
				}
			})
			put += 20
			heal := fault.hit(t, h)
			if heal != nil {
				heal()
			}
			healed := time.Now()
			producer.Wait()
			h.until("the database answers", func() bool { _, err := h.pool.Exec(t.Context(), `SELECT 1`); return err == nil })
			// A row that runs without a worker was taken along.
			time.Sleep(500 * time.Millisecond)
			rescue := func() {
				h.mu.Lock()
				var begun []string
				for name := range h.runs {
					begun = append(begun, name)
				}
				h.mu.Unlock()
				tag, err := h.pool.Exec(t.Context(), `UPDATE river_job SET state = 'retryable', scheduled_at = now() + interval '100 years'
					WHERE state = 'running' AND attempted_at < now() - interval '3 seconds' AND NOT args->>'name' = ANY($1)`, begun)
				if err == nil && tag.RowsAffected() > 0 {
					t.Logf("%d rows were taken along", tag.RowsAffected())
				}
			}
			h.until("rows are put in", func() bool {
				_, err := h.queue.Insert(t.Context(), h.client, gate.Job{ID: "c"}, rows("c", 20, 20*time.Millisecond)...)
				return err == nil
			})
			put += 20
			h.until("rows have ended", func() bool {
				rescue()
				h.mu.Lock()
				defer h.mu.Unlock()
				return len(h.runs) == put
			})
			ended := time.Since(healed)
			h.until("the gate knows that", func() bool {
				for _, g := range gates {
					if s := g.Status(); s.Decides && s.Held+s.Released == 0 {
						return true
					}
				}
				return false
			})
			t.Logf("all after %v, known after %v", ended, time.Since(healed))
			h.ran(put, nil)
		})
	}
}

func (h *host) exec(sql string) {
	if _, err := h.pool.Exec(context.Background(), sql); err != nil {
		h.t.Errorf("%s: %v", sql, err)
	}
}
