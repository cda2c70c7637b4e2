package gate

import "time"

// A fleet is what the books know of the servers of the queue.
type fleet struct {
	workers int  // that there are
	ahead   int  // tasks that the queue wants let go besides
	fixed   bool // workers were told by the owner and are not learned
	live    map[string]Server
	orphans int

	failed bool      // the queue did not answer the last time
	since  time.Time // it has answered since
	some   bool      // a server was ever there
	found  int       // tasks that had been let go when the gate began
}

// learn enters which servers live, and which tasks run. It returns the tasks that were orphans and do not run any
// more, of which no note will tell.
func (b *books) learn(s Servers, now time.Time) (ended []string) {
	f := &b.fleet
	if f.failed || f.since.IsZero() {
		f.failed, f.since = false, now
	}
	young := now.Sub(f.since) < s.Beat // a server that lives may not have told yet
	live := make(map[string]Server, len(s.Live))
	for _, server := range s.Live {
		live[server.ID] = server
	}
	for id, server := range f.live {
		if _, ok := live[id]; !ok && young {
			live[id] = server
		}
	}
	f.live, f.some = live, f.some || len(live) > 0
	f.ahead = max(s.Ahead, 0)
	workers, on := 0, map[string]Server{}
	for _, server := range live {
		workers += max(server.Workers, 0)
		for _, id := range server.Tasks {
			on[id] = server
		}
	}
	if !f.some && young {
		workers = f.found // who runs them will tell
	}
	if !f.fixed {
		f.workers = workers
	}
	runs := make(map[string]bool, len(s.Running))
	for _, id := range s.Running {
		runs[id] = true
	}
	for i := range b.slots {
		t := b.slots[i].task
		if t == nil {
			continue
		}
		server, told := on[t.id]
		switch {
		case !runs[t.id]:
			if t.orphan {
				ended = append(ended, t.id)
			}
			t.seen, t.server = time.Time{}, ""
			b.setOrphan(t, false)
		case told:
			t.seen, t.server = now, server.ID
			b.setOrphan(t, server.Workers < 1)
		default:
			if t.seen.IsZero() {
				t.seen = now
			}
			_, lives := live[t.server]
			b.setOrphan(t, t.server != "" && !lives || now.Sub(t.seen) > s.Beat)
		}
	}
	b.resize()
	return ended
}

// setOrphan says whether a task that was let go runs on a worker that is counted.
func (b *books) setOrphan(t *task, orphan bool) {
	if t.orphan == orphan {
		return
	}
	if t.orphan = orphan; orphan {
		b.fleet.orphans++
	} else {
		b.fleet.orphans--
	}
}
