package locality_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A job waits 5 s for its nodes and then 10 s for its racks. Each step has an
// event, then the limit, then when the limit next changes if time counts from then on. Reference: Zaharia et
// al., Delay scheduling, EuroSys 2010, appendix, algorithm 3.
func TestWait(t *testing.T) {
	const node, rack, remote = sojourn.NodeLocal, sojourn.RackLocal, sojourn.Remote
	d := locality.Delay{Node: 5 * time.Second, Rack: 10 * time.Second}
	type step struct {
		at    int // seconds
		what  string
		limit sojourn.Locality
		next  int // seconds; 0: never
	}
	for _, tc := range []struct {
		name  string
		steps []step
	}{
		{"5 s for a node, 10 s more for a rack", []step{
			{0, "start", node, 5}, {4, "", node, 5}, {5, "", rack, 15}, {14, "", rack, 15}, {15, "", remote, 0}, {99, "", remote, 0},
		}},
		{"time without a free slot does not count", []step{
			{0, "", node, 5}, {50, "start", node, 55}, {53, "stop", node, 55}, {99, "", node, 101}, {100, "start", node, 102}, {102, "", rack, 112},
		}},
		{"an interval of no length counts nothing", []step{
			{0, "start", node, 5}, {0, "stop", node, 5}, {7, "start", node, 12}, {7, "stop", node, 12}, {9, "start", node, 14},
		}},
		{"starting twice changes nothing", []step{
			{0, "start", node, 5}, {3, "start", node, 5}, {5, "", rack, 15},
		}},
		{"a local launch begins the wait anew", []step{
			{0, "start", node, 5}, {6, "node", node, 11}, {10, "", node, 11}, {11, "", rack, 21},
		}},
		{"after a launch on the rack the next needs no wait for a node", []step{
			{0, "start", node, 5}, {6, "rack", rack, 16}, {9, "rack", rack, 19}, {19, "", remote, 0}, {20, "node", node, 25},
		}},
		{"after a launch off the rack the next may go anywhere", []step{
			{0, "start", node, 5}, {15, "remote", remote, 0}, {16, "stop", remote, 0}, {17, "start", remote, 0}, {18, "rack", rack, 28},
		}},
		{"tasks without inputs count for nothing", []step{
			{0, "start", node, 5}, {4, "any", node, 5}, {5, "", rack, 15}, {6, "lost", rack, 15},
		}},
	} {
		var w locality.Wait
		for i, s := range tc.steps {
			now := sojourn.Time(s.at) * sojourn.Time(time.Second)
			switch s.what {
			case "start":
				w.Start(now)
			case "stop":
				w.Stop(now)
			case "node":
				w.Launched(sojourn.Assignment{Source: 1, Locality: node}, now)
			case "rack":
				w.Launched(sojourn.Assignment{Source: 1, Locality: rack}, now)
			case "remote":
				w.Launched(sojourn.Assignment{Source: 1, Locality: remote}, now)
			case "any":
				w.Launched(sojourn.Assignment{}, now)
			case "lost":
				w.Launched(sojourn.Assignment{Locality: remote}, now)
			}
			next, ok := w.Next(d, 1, now)
			want := sojourn.Time(s.next) * sojourn.Time(time.Second)
			if limit := w.Limit(d, now); limit != s.limit || next != want || ok != (s.next > 0) {
				t.Errorf("%s: step %d: limit %v until %v, %v, want %v until %v", tc.name, i+1, limit, next, ok, s.limit, want)
			}
		}
	}
}

// Without bounds no job waits; with endless bounds nothing overflows.
func TestWaitAtTheEnds(t *testing.T) {
	var w locality.Wait
	w.Start(0)
	if got := w.Limit(locality.Delay{}, 0); got != sojourn.Remote {
		t.Errorf("without a delay: limit %v, want %v", got, sojourn.Remote)
	}
	endless := locality.Delay{Node: math.MaxInt64, Rack: math.MaxInt64}
	now := sojourn.Time(time.Hour)
	if got := w.Limit(endless, now); got != sojourn.NodeLocal {
		t.Errorf("with an endless delay: limit %v, want %v", got, sojourn.NodeLocal)
	}
	w.Stop(now)
	w.Start(now.Add(1))
	if at, ok := w.Next(endless, 1, now.Add(1)); ok {
		t.Errorf("an endless delay ends at %v", at)
	}
	w.Launched(sojourn.Assignment{Source: 1}, now)
	for _, bad := range []locality.Delay{{Node: -1}, {Rack: -1}} {
		if bad.Check() == nil {
			t.Errorf("Check of %+v = nil, want an error", bad)
		}
	}
	if err := endless.Check(); err != nil {
		t.Errorf("Check of %+v = %v, want nil", endless, err)
	}
}

// The greatest times neither make an allowance endless nor let it become one by overflow: it ends
// at 2^62 slot nanoseconds, and below at as much. A delay bounds the wait all the same.
func TestAllowanceAtTheEnds(t *testing.T) {
	var debtor locality.Wait
	if debtor.Unused(3, 0, 1<<62); debtor.Allows(1) { // 3 * 2^62 takes 64 bits
		t.Error("a job that has left three slots unused for 2^62 ns may leave one unused")
	}
	var w locality.Wait
	for range 100 {
		w.Used(math.MaxInt64)
	}
	endless := locality.Delay{Node: math.MaxInt64}
	if at, ok := w.Next(endless, sojourn.MaxSlots, 0); !ok || at != 1<<(62-24) {
		t.Errorf("the greatest allowance lasts until %d, %v on all slots, want 2^38", at, ok)
	}
	for range 3 {
		w.Unused(sojourn.MaxSlots, 0, math.MaxInt64)
	}
	w.Used(math.MaxInt64) // 2^59 - 1
	if w.Allows(1) {
		t.Error("after the longest waits on all slots one task is enough for another wait")
	}
	for range 8 {
		w.Used(math.MaxInt64)
	}
	if !w.Allows(1) {
		t.Error("a debt of 2^62 is not paid off by nine times as much as 2^59 - 1")
	}
}

// What is saved and restored is the same wait, to the nanosecond: the same is allowed, and for as long.
func TestWaitIsRestored(t *testing.T) {
	header := snapshot.Header{Policy: "wait"}
	rapid.Check(t, func(t *rapid.T) {
		now := sojourn.Time(rapid.Int64Range(0, math.MaxInt64).Draw(t, "now"))
		before := sojourn.Time(rapid.Int64Range(0, int64(now)).Draw(t, "before"))
		var w, restored locality.Wait
		w.Used(time.Duration(rapid.Int64Min(0).Draw(t, "used")))
		w.Unused(rapid.IntRange(0, sojourn.MaxSlots).Draw(t, "free"), 0, before)
		if rapid.Bool().Draw(t, "launches") {
			w.Launched(sojourn.Assignment{Source: 1, Locality: rapid.SampledFrom(reach).Draw(t, "locality")}, before)
		}
		if w.Start(before); rapid.Bool().Draw(t, "stops") {
			w.Stop(now)
		}
		data, err := snapshot.Append(nil, header, w.Save)
		if err == nil {
			err = snapshot.Restore(&restored, data, header, func() {}, func(r *snapshot.Reader) { restored.Restore(r, now) })
		}
		if err != nil {
			t.Fatal(err)
		}
		d := locality.Delay{Node: time.Duration(rapid.Int64Min(0).Draw(t, "node"))}
		for _, n := range []int{1, 7} {
			got, more := restored.Next(d, n, now)
			if want, any := w.Next(d, n, now); got != want || more != any || restored.Allows(n) != w.Allows(n) || restored.Limit(d, now) != w.Limit(d, now) {
				t.Fatalf("restored %+v, which changes at %v, %v; saved %+v, which changes at %v, %v", restored, got, more, w, want, any)
			}
		}
	})
}
