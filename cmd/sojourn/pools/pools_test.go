package pools

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/research/trace"
)

func newFSP() sojourn.Policy {
	p, err := baseline.NewFSP(baseline.FSPOptions{})
	if err != nil {
		panic(err)
	}
	return p
}

func fsp(spec string) (func() sojourn.Policy, error) {
	if spec != "fsp" {
		return nil, fmt.Errorf("unknown policy %q", spec)
	}
	return newFSP, nil
}

func read(text string) (fair.Options, error) { return Read(strings.NewReader(text), "f", fsp) }

func TestRead(t *testing.T) {
	opts, err := read(`{"order": "running", "ties": "arrival", "strict": true,
 "preemption": {"min-timeout": 60, "fair-timeout": 1.5, "interval": 0.001, "limit": 5, "report-only": true},
 "pools": [
  {"name": "daily", "parent": "etl", "policy": "fifo", "max-jobs": 2},
  {"name": "etl", "weight": 2.5, "min": {"map": 10, "1": 2}, "max": {"map": 40, "7": 1}},
  {"name": "users/*", "policy": "fsp"},
  {"name": "", "policy": "fair"}
 ]}`)
	if err != nil {
		t.Fatal(err)
	}
	wantPreemption := fair.Preemption{MinTimeout: time.Minute, FairTimeout: 1500 * time.Millisecond, Interval: time.Millisecond, Limit: 5, ReportOnly: true}
	if opts.Order != fair.Running || opts.Ties != fair.Arrival || !opts.Strict || opts.Preemption != wantPreemption {
		t.Errorf("options %+v", opts)
	}
	if got, want := slices.Sorted(maps.Keys(opts.Pools)), []string{"", "etl", "etl/daily", "users/*"}; !slices.Equal(got, want) {
		t.Fatalf("pools %q, want %q", got, want)
	}
	etl := opts.Pools["etl"]
	if etl.Weight != 2.5 || !maps.Equal(etl.Min, fair.Slots{0: 10, 1: 2}) || !maps.Equal(etl.Max, fair.Slots{0: 40, 7: 1}) {
		t.Errorf("etl is %+v", etl)
	}
	if d := opts.Pools["etl/daily"]; !d.FIFO || d.MaxJobs != 2 {
		t.Errorf("etl/daily is %+v", d)
	}
	if opts.Pools["users/*"].Policy == nil {
		t.Error("users/* has no policy")
	}
	if _, err := fair.New(opts); err != nil {
		t.Error(err)
	}
}

// Resources are in the order of their names, and one that a class does not name costs it nothing.
func TestReadCost(t *testing.T) {
	opts, err := read(`{"cost": {"map": {"memory": 0.25, "cpu": 1}, "7": {"gpu": 1e-300}}, "pools": [{"name": "a", "weight": 2}]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := fair.Cost{0: {1<<32 - 1, 0, 1 << 30}, 7: {0, 1, 0}} // cpu, gpu, memory
	if !maps.EqualFunc(opts.Cost, want, slices.Equal) {
		t.Errorf("costs %v, want %v", opts.Cost, want)
	}
	if _, err := fair.New(opts); err != nil {
		t.Error(err)
	}
}

func TestReadRefuses(t *testing.T) {
	tests := []struct{ text, want string }{
		{``, `f:1:1: invalid JSON: it ends too early`},
		{`{"pools":[`, `f:1:11: invalid JSON: it ends too early`},
		{`[]`, `f:1:1: the file: want an object`},
		{"{}\n x", `f:2:2: invalid JSON: invalid character 'x' after top-level value`},
		{`{} {}`, `f:1:4: invalid JSON`},
		{"{\"pools\":\n\xff[]}", `f:2:1: invalid UTF-8`},
		{`{"pools":[{"name":"a",}]}`, `f:1:23: invalid JSON`},
		{`{"pool":[]}`, `f:1:2: unknown key "pool"`},
		{`{"pools":[],"pools":[]}`, `f:1:13: duplicate key "pools"`},
		{`{"pools":{}}`, `f:1:10: pools: want a list`},
		{`{"order":"best"}`, `f:1:10: unknown order "best"`},
		{`{"strict":1}`, `f:1:11: strict: want true or false`},
		{`{"preemption":{"min-timeout":0}}`, `f:1:30: min-timeout: want seconds above 0`},
		{`{"preemption":{"min-timeout":1e999}}`, `f:1:30: min-timeout: 1e999 is out of range`},
		{`{"preemption":{"interval":0.0001}}`, `f:1:16: the interval is below 0.001 s`},
		{`{"preemption":{"limit":0}}`, `f:1:24: limit: want an integer from 1`},
		{`{"cost":3}`, `f:1:9: cost: want an object`},
		{`{"cost":{}}`, `f:1:2: Cost is map[]: want the costs of a class`},
		{`{"cost":{"mop":{"cpu":1}}}`, `f:1:10: cost: want map, reduce or a number`},
		{`{"cost":{"map":{}}}`, `f:1:16: cost of map: want a part of some resource`},
		{`{"cost":{"map":{"cpu":0}}}`, `f:1:23: cpu: want a part of the cluster above 0 and up to 1, found 0`},
		{`{"cost":{"map":{"cpu":1.5}}}`, `f:1:23: cpu: want a part of the cluster above 0 and up to 1, found 1.5`},
		{`{"cost":{"map":{"cpu":1},"0":{"cpu":1}}}`, `f:1:26: cost: class 0 is given twice`},
		{`{"cost":{"map":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1},"1":{"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1}}}`, `f:1:119: cost: more than 16 resources`},
		{`{"order":"running","cost":{"map":{"cpu":1}}}`, `f:1:20: Cost is map[0:[4294967295]]: want none with the order running`},
		{`{"cost":{"map":{"cpu":1}},"pools":[{"name":"b"},{"name":"a","min":{"map":1}}]}`, `f:1:49: pool "a": it has a`},
		{`{"pools":[{}]}`, `f:1:11: a pool without a name`},
		{`{"pools":[{"name":7}]}`, `f:1:19: name: want a string`},
		{`{"pools":[{"name":"a","weight":0}]}`, `f:1:32: weight 0 is not in`},
		{`{"pools":[{"name":"a","weight":-2}]}`, `f:1:32: weight -2 is not in`},
		{`{"pools":[{"name":"a","min":{"map":3},"max":{"map":2}}]}`, `f:1:11: pool "a": max of map is 2: want at least the min of 3`},
		{`{"pools":[{"name":"a","min":{"10":3},"max":{"10":2}}]}`, `f:1:11: pool "a": max of class 10 is 2: want at least the min of 3`},
		{`{"pools":[{"name":"a","max":{"map":-1}}]}`, `f:1:36: max: want an integer from 1 to 16777216, found -1`},
		{`{"pools":[{"name":"a","min":{"map":0.5}}]}`, `f:1:36: min: want an integer from 0 to 16777216, found 0.5`},
		{`{"pools":[{"name":"a","max-jobs":0}]}`, `f:1:34: max-jobs: want an integer from 1`},
		{`{"pools":[{"name":"a","max":{"reduce":1,"1":1}}]}`, `f:1:41: max: class 1 is given twice`},
		{`{"pools":[{"name":"a","max":{"mop":1}}]}`, `f:1:30: max: want map, reduce or a number from 0 to 255, found "mop"`},
		{`{"pools":[{"name":"a","policy":"fspp"}]}`, `f:1:32: unknown policy "fspp"`},
		{`{"pools":[{"name":"a"},{"name":"a"}]}`, `f:1:32: pool "a" is described twice`},
		{`{"pools":[{"name":"a/b"},{"name":"a"},{"name":"b","parent":"a"}]}`, `f:1:47: pool "a/b" is described twice`},
		{`{"pools":[{"name":"a","parent":"z"}]}`, `f:1:32: pool "a": unknown parent "z"`},
		{`{"pools":[{"name":"a","parent":"a"}]}`, `f:1:32: pool "a" is below itself`},
		{`{"pools":[{"name":"a","parent":"b"},{"name":"b","parent":"c"},{"name":"c","parent":"a"}]}`, `f:1:32: pool "a" is below itself`},
		{`{"pools":[{"name":"x","parent":"a"},{"name":"a","parent":"b"},{"name":"b","parent":"a"}]}`, `f:1:32: pool "x" is more than 16 pools deep, or below one that is below itself`},
		{`{"pools":[{"name":"a","policy":"fifo"},{"name":"a/b"}]}`, `f:1:40: pool "a": a FIFO pool`},
		{`{"pools":[{"name":"a","policy":"fsp","max-jobs":1}]}`, `f:1:11: pool "a": max-jobs is 1: want none with a policy`},
	}
	for _, tc := range tests {
		_, err := read(tc.text)
		var bad *trace.Error
		if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("Read(%q): error %v, want %q", tc.text, err, tc.want)
		}
	}
}

// Among many pools the reader finds the wrong one without a look at all earlier pools for
// each, which would take gigabytes.
func TestFaultAmongManyPools(t *testing.T) {
	const n = 3000
	var b strings.Builder
	b.WriteString(`{"pools":[`)
	for i := range n {
		fmt.Fprintf(&b, "{\"name\":\"p%d\"},\n", i)
	}
	b.WriteString(`{"name":"p7/x","policy":"fifo"},` + "\n" + `{"name":"p7/x/y"}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := read(b.String())
	runtime.ReadMemStats(&after)
	if want := fmt.Sprintf(`f:%d:1: pool "p7/x": a FIFO pool`, n+2); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 200<<20 {
		t.Errorf("%d bytes were taken", taken)
	}
}

// An error among pools names a pool with which they are wrong and without which they are
// right. A later pool may also make right what is wrong without it. For example, if a/x
// has a policy of its own, its parent may not have the MaxJobs of "*", and does not have
// it if it is listed.
func TestWrongPool(t *testing.T) {
	paths := []string{"a", "b", "a/x", "a/y", "a/x/u", "b/z", "*", "a/*", "b/*/w"}
	kinds := []func(n int) fair.Pool{
		func(int) fair.Pool { return fair.Pool{FIFO: true} },
		func(int) fair.Pool { return fair.Pool{Policy: newFSP} },
		func(int) fair.Pool { return fair.Pool{MaxJobs: 1} },
		func(n int) fair.Pool { return fair.Pool{Min: fair.Slots{0: n}} },
		func(int) fair.Pool { return fair.Pool{} },
	}
	wrong, cured := 0, 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		drawn := r.Perm(len(paths))[:1+r.IntN(len(paths))]
		entries, some := make([]entry, len(drawn)), make([]string, len(drawn))
		faults := []string{""} // the fault of the first i pools, for each i
		all := fair.Options{Pools: map[string]fair.Pool{}}
		for i, k := range drawn {
			some[i] = paths[k]
			entries[i] = entry{off: 100 + i, pool: kinds[r.IntN(len(kinds))](r.IntN(4))}
			all.Pools[some[i]] = entries[i].pool
			text := ""
			if err := all.Validate(); err != nil {
				text = strings.TrimPrefix(err.Error(), "fair: ")
			}
			faults = append(faults, text)
		}
		err := check(all, entries, some)
		want := faults[len(drawn)]
		if want == "" {
			if err != nil {
				t.Fatalf("%q: %v, and they are right", some, err)
			}
			if slices.ContainsFunc(faults, func(text string) bool { return text != "" }) {
				cured++
			}
			continue
		}
		wrong++
		var bad *fault
		if !errors.As(err, &bad) {
			t.Fatalf("%q: %v, want %s", some, err, want)
		}
		if i := bad.off - 100; faults[i] == want || faults[i+1] != want {
			t.Fatalf("%q: %v at pool %d, but the faults of the first pools are %q", some, err, i, faults)
		}
	}
	if wrong == 0 || cured == 0 {
		t.Errorf("%d were wrong, and %d right with something wrong on the way", wrong, cured)
	}
}

func TestSetInner(t *testing.T) {
	opts, err := read(`{"pools":[{"name":"a/x"},{"name":"a/y","policy":"fifo"},{"name":"b","max-jobs":2},{"name":"b/c"},{"name":"d","max-jobs":1},{"name":"e"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	SetInner(&opts, newFSP)
	var got []string
	for _, path := range slices.Sorted(maps.Keys(opts.Pools)) {
		if opts.Pools[path].Policy != nil {
			got = append(got, path)
		}
	}
	if want := []string{"*", "a/x", "e"}; !slices.Equal(got, want) {
		t.Errorf("pools with the inner policy: %q, want %q", got, want)
	}
	if _, err := fair.New(opts); err != nil {
		t.Error(err)
	}
}

// For any text, Read returns options that New accepts, or a place in the text.
func FuzzRead(f *testing.F) {
	f.Add(`{"pools":[{"name":"a","weight":2,"min":{"map":1},"max":{"map":2}},{"name":"b","parent":"a","policy":"fifo"}]}`)
	f.Add(`{"order":"running","strict":true,"preemption":{"min-timeout":1,"limit":3},"pools":[{"name":"*","policy":"fsp"}]}`)
	f.Add(`{"pools":[{"name":"a","parent":"b"},{"name":"b","parent":"a"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		opts, err := read(text)
		if err == nil {
			if _, err := fair.New(opts); err != nil {
				t.Fatalf("Read(%q) = %+v, nil, but New: %v", text, opts, err)
			}
			return
		}
		var bad *trace.Error
		if !errors.As(err, &bad) {
			t.Fatalf("Read(%q): error %v, want a *trace.Error", text, err)
		}
		lines := strings.Split(text, "\n")
		if bad.Line < 1 || bad.Line > len(lines) || bad.Column < 1 || bad.Column > len(lines[bad.Line-1])+1 {
			t.Fatalf("Read(%q): error %v, outside of the text", text, err)
		}
	})
}
