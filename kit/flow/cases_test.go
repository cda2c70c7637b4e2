package flow_test

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/sfq"
	"github.com/sojourn-sched/sojourn/kit/flow"
)

func join(t testing.TB, f *flow.Flows, up flow.Flow, name string, weight uint64) flow.Flow {
	t.Helper()
	n, err := f.Join(up, name, weight)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// serve starts and ends one task of the flow that is next, and returns the flow.
func serve(t testing.TB, f *flow.Flows, cost uint64) flow.Flow {
	t.Helper()
	n, ok := f.Least()
	if !ok {
		t.Fatal("no flow is active")
	}
	f.Charge(n, cost)
	f.Correct(n, cost, cost)
	return n
}

// With a task of one second each, a flow that comes while another one has been served for two is served
// next, and then they take turns: A1 A2 B1 A3 B2 B3.
func TestComesBackFirst(t *testing.T) {
	f := flow.New(flow.Options{})
	names := map[flow.Flow]string{}
	left := map[flow.Flow]int{}
	come := func(name string) {
		n := join(t, f, flow.Root, name, 1)
		names[n], left[n] = name, 3
		f.SetActive(n, true)
	}
	come("A")
	order := ""
	for i := range 6 {
		n := serve(t, f, 1e9)
		order += fmt.Sprint(names[n], 4-left[n], " ")
		if left[n]--; left[n] == 0 {
			f.SetActive(n, false)
		}
		if i == 1 {
			come("B")
		}
	}
	if want := "A1 A2 B1 A3 B2 B3 "; order != want {
		t.Errorf("order %s, want %s", order, want)
	}
}

// A flow that was idle for rounds among a hundred busy ones goes first, whatever place in the round it
// comes at, and whether it has left meanwhile or not.
func TestIdleFlowWaitsForNobody(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		f := flow.New(flow.Options{})
		for i := range 100 {
			f.SetActive(join(t, f, flow.Root, fmt.Sprint(i), 1), true)
		}
		light := join(t, f, flow.Root, "light", 1)
		for range 100 {
			serve(t, f, 1e9)
		}
		for at := range 250 {
			if leaves && at > 0 {
				light = join(t, f, flow.Root, "light", 1)
			}
			f.SetActive(light, true)
			if n, _ := f.Least(); n != light {
				t.Fatalf("leaves=%v: after %d tasks, flow %d comes before the light one", leaves, at, n)
			}
			serve(t, f, 1e9)
			f.SetActive(light, false)
			if leaves {
				f.Leave(light)
			}
			for range 113 {
				serve(t, f, 1e9)
			}
		}
	}
}

// A flow with two tasks is served twice, although others come for one task each and go again: new ones
// each time, or the same, which have debts.
func TestNobodyWaitsForEver(t *testing.T) {
	for _, test := range []struct {
		name  string
		names int
		cost  uint64
		need  uint64 // what the flow that waits was charged
		ahead int    // how many come at a time
	}{
		{"new ones", math.MaxInt, 10, 10, 1},
		{"new ones, two at a time", math.MaxInt, 10, 10, 2},
		{"three in turn", 3, 10, 10, 1},
		{"three in turn, two at a time", 3, 10, 10, 2},
		{"new ones, a longer task before", math.MaxInt, 10, 100, 1},
		{"new ones, of no cost", math.MaxInt, 0, 10, 1},
	} {
		f := flow.New(flow.Options{})
		z := join(t, f, flow.Root, "z", 1)
		var there []flow.Flow
		come := 0
		one := func() {
			n := join(t, f, flow.Root, fmt.Sprint(come%test.names), 1)
			come++
			f.SetActive(n, true)
			there = append(there, n)
		}
		f.SetActive(z, true)
		f.Charge(z, test.need)
		f.Correct(z, test.need, test.need)
		for range test.ahead {
			one()
		}
		bound := 4 * (test.ahead + 2) * int(test.need/max(test.cost, 1)+1)
		for served := 0; ; served++ {
			n, _ := f.Least()
			if n == z {
				break
			}
			if served > bound {
				t.Errorf("%s: %d others were served, want at most %d", test.name, served, bound)
				break
			}
			one() // before the one that is served has gone
			f.Charge(n, test.cost)
			f.SetActive(n, false)
			f.Correct(n, test.cost, test.cost)
			f.Leave(n)
			there = slices.DeleteFunc(there, func(m flow.Flow) bool { return m == n })
		}
	}
}

// A flow that leaves to get rid of what it had gains nothing: it gets half beside one that stays.
func TestLeavingPaysNoDebt(t *testing.T) {
	f := flow.New(flow.Options{})
	stays := join(t, f, flow.Root, "stays", 1)
	f.SetActive(stays, true)
	had := map[bool]int{}
	for range 1000 {
		n := join(t, f, flow.Root, "leaves", 1)
		f.SetActive(n, true)
		got := serve(t, f, 10)
		had[got == stays]++
		f.Leave(n)
	}
	if had[true] != 500 || had[false] != 500 {
		t.Errorf("served %v, want 500 each", had)
	}
}

// What is remembered of flows that have gone never takes more than the flows that are there.
func TestMemory(t *testing.T) {
	var c sfq.Clock
	var accounts []sfq.Account
	for i := range 1000 {
		a, _, _ := c.Enter(fmt.Sprint(i), 1)
		a.Charge(uint64(i))
		a.Settle(uint64(i), sfq.Cost(uint64(i)))
		accounts = append(accounts, a)
	}
	for i := range accounts {
		left := len(accounts) - 1 - i
		c.Leave(fmt.Sprint(i), &accounts[i], left, 0, 0)
		if c.Debts() > left {
			t.Fatalf("%d debts beside %d flows", c.Debts(), left)
		}
	}
}

// The weight of a flow changes while charges are out, from one end of the range to the other: a refund
// gives back what was charged, no more.
func TestWeightChangesWhileCharged(t *testing.T) {
	f := flow.New(flow.Options{})
	n := join(t, f, flow.Root, "a", flow.MaxWeight)
	other := join(t, f, flow.Root, "b", 1)
	f.SetActive(n, true)
	f.SetActive(other, true)
	f.Charge(n, flow.MaxCost)
	if err := f.SetWeight(n, 1); err != nil {
		t.Fatal(err)
	}
	if s := f.Explain(n); s.Ahead != flow.MaxCost {
		t.Errorf("ahead by %d, want %d", s.Ahead, uint64(flow.MaxCost))
	}
	f.Refund(n, flow.MaxCost)
	if s := f.Explain(n); s.Ahead != 0 || s.Before != 1 || s.Had != 0 {
		t.Errorf("stands %+v after the refund, want behind b alone and level with it", s)
	}
}

// Costs near the end of the range add up for as long as anybody runs, and wrap around nowhere.
func TestGreatCosts(t *testing.T) {
	f := flow.New(flow.Options{Credit: math.MaxUint64})
	a, b := join(t, f, flow.Root, "a", 1), join(t, f, flow.Root, "b", flow.MaxWeight)
	f.SetActive(a, true)
	f.SetActive(b, true)
	had := map[flow.Flow]uint64{}
	for range 100_000 {
		n, _ := f.Least()
		f.Charge(n, math.MaxUint64)
		f.Correct(n, math.MaxUint64, math.MaxUint64)
		had[n]++
	}
	if had[a] != 1 {
		t.Errorf("the flow of weight 1 was served %d times beside one of the greatest weight, want once", had[a])
	}
	if s := f.Explain(b); s.Had != flow.MaxCost {
		t.Errorf("had %d, want the greatest number", s.Had)
	}
}

// 100,000 flows get service by their weights, at both ends of the range beside each other.
func TestManyFlows(t *testing.T) {
	const many = 100_000
	f := flow.New(flow.Options{})
	for i := range many {
		w := uint64(1)
		if i%1000 == 0 {
			w = flow.MaxWeight
		}
		f.SetActive(join(t, f, flow.Root, fmt.Sprint(i), w), true)
	}
	had := make(map[flow.Flow]int)
	for range 3 * many {
		had[serve(t, f, 1000)]++
	}
	for n, times := range had {
		heavy := f.Explain(n).Weight > 1
		if !heavy && times != 1 || heavy && (times < 2001 || times > 2001+1) {
			t.Fatalf("flow %d, heavy %v: served %d times", n, heavy, times)
		}
		if len(had) == many && !heavy { // Explain looks at all: a few are enough
			break
		}
	}
}

// What is wrong is refused with an error that says what, and changes nothing.
func TestErrors(t *testing.T) {
	f := flow.New(flow.Options{})
	n := join(t, f, flow.Root, "a", 1)
	before, _ := f.AppendBinary(nil)
	refuse := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	_, err := f.Join(flow.Root, "b", 0)
	refuse(err, `weight of "b": 0, want 1 to 281474976710655`)
	_, err = f.Join(flow.Root, "b", flow.MaxWeight+1)
	refuse(err, "281474976710656")
	_, err = f.Join(flow.Root, "a", 1)
	refuse(err, `"a" is there already`)
	refuse(f.SetWeight(n, 0), `weight of "a": 0`)
	refuse(f.SetWeight(flow.Root, 1), "none of the root")
	if after, _ := f.AppendBinary(nil); string(after) != string(before) {
		t.Error("a refusal has changed something")
	}
	for range flow.MaxDepth - 1 {
		n = join(t, f, n, "", 1)
	}
	_, err = f.Join(n, "deep", 1)
	refuse(err, `"deep" would be deeper than 16`)
	if err := f.UnmarshalBinary([]byte("no snapshot")); err == nil {
		t.Error("something was restored that is no snapshot")
	}
	data, _ := f.AppendBinary(nil)
	if err := f.UnmarshalBinary(data); err != nil {
		t.Errorf("the deepest flows are refused: %v", err)
	}
}

// A mistake of the caller panics.
func TestPanics(t *testing.T) {
	for name, f := range map[string]func(f *flow.Flows, a, group, leaf flow.Flow){
		"no such flow":          func(f *flow.Flows, a, _, _ flow.Flow) { f.Charge(77, 1) },
		"group active":          func(f *flow.Flows, _, group, _ flow.Flow) { f.SetActive(group, true) },
		"root active":           func(f *flow.Flows, _, _, _ flow.Flow) { f.SetActive(flow.Root, true) },
		"root leaves":           func(f *flow.Flows, _, _, _ flow.Flow) { f.Leave(flow.Root) },
		"group leaves":          func(f *flow.Flows, _, group, _ flow.Flow) { f.Leave(group) },
		"leaves twice":          func(f *flow.Flows, a, _, _ flow.Flow) { f.Leave(a); f.Leave(a) },
		"settled, not charged":  func(f *flow.Flows, a, _, _ flow.Flow) { f.Correct(a, 1, 1) },
		"more settled":          func(f *flow.Flows, a, _, _ flow.Flow) { f.Charge(a, 1); f.Refund(a, 2) },
		"below an active flow":  func(f *flow.Flows, a, _, _ flow.Flow) { f.SetActive(a, true); f.Join(a, "x", 1) },
		"active after it left":  func(f *flow.Flows, a, _, _ flow.Flow) { f.Charge(a, 1); f.Leave(a); f.SetActive(a, true) },
		"below one that left":   func(f *flow.Flows, a, _, _ flow.Flow) { f.Charge(a, 1); f.Leave(a); f.Join(a, "x", 1) },
		"a clock's weight of 0": func(*flow.Flows, flow.Flow, flow.Flow, flow.Flow) { new(sfq.Clock).Enter("", 0) },
	} {
		fs := flow.New(flow.Options{})
		a, group := join(t, fs, flow.Root, "a", 1), join(t, fs, flow.Root, "g", 1)
		leaf := join(t, fs, group, "a", 1)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f(fs, a, group, leaf)
		}()
	}
}

// Credit is what a flow left unused while it was there, up to the limit, and no more.
func TestCredit(t *testing.T) {
	for _, credit := range []uint64{0, 5, 30, 1000} {
		f := flow.New(flow.Options{Credit: credit})
		busy, light := join(t, f, flow.Root, "busy", 1), join(t, f, flow.Root, "light", 1)
		f.SetActive(busy, true)
		for range 10 {
			serve(t, f, 10)
		}
		f.SetActive(light, true)
		first := uint64(0)
		for n := serve(t, f, 10); n == light; n = serve(t, f, 10) {
			first++
		}
		// Virtual time is 90, the busy flow is at 100, and goes first among equals.
		if want := (min(credit, 90) + 10 + 9) / 10; first != want {
			t.Errorf("credit %d: %d tasks before the busy flow, want %d", credit, first, want)
		}
	}
}

// New flows, charges and flows that go take no memory of their own once there is room.
func TestAllocations(t *testing.T) {
	f, flows := manyFlows(t, 1000, 1)
	r := rand.New(rand.NewPCG(1, 2))
	var out []flow.Flow
	step := func() {
		n, _ := f.Least()
		f.Charge(n, 1000)
		out = append(out, n)
		if len(out) == 16 {
			f.Correct(out[0], 1000, r.Uint64N(2000))
			out = out[:copy(out, out[1:])]
		}
		m := flows[r.IntN(len(flows))]
		f.SetActive(m, false)
		f.SetActive(m, true)
	}
	for range 1000 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("a step allocates %v times, want 0", n)
	}
}

func manyFlows(t testing.TB, n, depth int) (*flow.Flows, []flow.Flow) {
	f := flow.New(flow.Options{})
	list := make([]flow.Flow, n)
	up := flow.Root
	for range depth - 1 {
		up = join(t, f, up, "group", 1)
	}
	for i := range list {
		list[i] = join(t, f, up, fmt.Sprint(i), 1+uint64(i%7))
		f.SetActive(list[i], true)
	}
	return f, list
}

// One operation is the choice of a flow, its charge, and the correction of an earlier one. Beside it stands the same on a heap of package container/heap
// of one float for each flow, without names, levels, debts or bounds.
func BenchmarkServe(b *testing.B) {
	for _, depth := range []int{0, 1, 3} {
		for _, n := range []int{100, 10_000, 100_000} {
			name := fmt.Sprintf("flows=%d/depth=%d", n, depth)
			if depth == 0 {
				name = fmt.Sprintf("flows=%d/container-heap", n)
			}
			b.Run(name, func(b *testing.B) {
				var serve func(actual uint64, last uint32) (next uint32)
				if depth > 0 {
					f, _ := manyFlows(b, n, depth)
					serve = func(actual uint64, last uint32) uint32 {
						if last != 0 {
							f.Correct(flow.Flow(last), 5e8, actual)
						}
						next, _ := f.Least()
						f.Charge(next, 5e8)
						return uint32(next)
					}
				} else {
					serve = newFloats(n).serve
				}
				r := rand.New(rand.NewPCG(1, 2))
				costs := make([]uint64, 1024)
				for i := range costs {
					costs[i] = 1 + r.Uint64N(1e9)
				}
				var out [16]uint32
				step := func(i int) { out[i%16] = serve(costs[i%1024], out[i%16]) }
				for i := range 10 * n { // until the order is as it stays
					step(i)
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					step(i)
				}
			})
		}
	}
}

// floats are flows with a float each, in a heap of package container/heap.
type floats struct {
	tag, weight []float64
	order, pos  []uint32
}

func newFloats(n int) *floats {
	f := &floats{tag: make([]float64, n+1), weight: make([]float64, n+1), pos: make([]uint32, n+1)}
	for i := 1; i <= n; i++ {
		f.weight[i] = float64(1 + (i-1)%7)
		f.pos[i] = uint32(len(f.order))
		f.order = append(f.order, uint32(i))
	}
	return f
}

func (f *floats) Len() int           { return len(f.order) }
func (f *floats) Less(i, j int) bool { return f.tag[f.order[i]] < f.tag[f.order[j]] }
func (f *floats) Swap(i, j int) {
	f.order[i], f.order[j] = f.order[j], f.order[i]
	f.pos[f.order[i]], f.pos[f.order[j]] = uint32(i), uint32(j)
}
func (f *floats) Push(any) {}
func (f *floats) Pop() any { return nil }

func (f *floats) serve(actual uint64, last uint32) uint32 {
	if last != 0 {
		f.tag[last] += (float64(actual) - 5e8) / f.weight[last]
		heap.Fix(f, int(f.pos[last]))
	}
	next := f.order[0]
	f.tag[next] += 5e8 / f.weight[next]
	heap.Fix(f, 0)
	return next
}

// One operation is a flow that joins, is served once, and leaves, beside others.
func BenchmarkLife(b *testing.B) {
	f, _ := manyFlows(b, 10_000, 1)
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprint("new", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n, _ := f.Join(flow.Root, names[i%1000], 1)
		f.SetActive(n, true)
		f.Charge(n, 1000)
		f.SetActive(n, false)
		f.Correct(n, 1000, 900)
		f.Leave(n)
	}
}

// The example of the package comment: weights 3 and 1, calls of 10 s and 1 s, four workers.
func TestTwoTenants(t *testing.T) {
	f := flow.New(flow.Options{})
	a, b := join(t, f, flow.Root, "alice", 3), join(t, f, flow.Root, "bob", 1)
	length := map[flow.Flow]int{a: 10, b: 1}
	f.SetActive(a, true)
	f.SetActive(b, true)
	var of [4]flow.Flow
	var end [4]int
	for now := range 1001 {
		for w := range of {
			if now < end[w] {
				continue
			}
			if now > 0 {
				f.Correct(of[w], 5, uint64(length[of[w]]))
			}
			of[w], _ = f.Least()
			f.Charge(of[w], 5)
			end[w] = now + length[of[w]]
		}
	}
	if x, y := f.Explain(a).Had, f.Explain(b).Had; x != 2990 || y != 997 {
		t.Errorf("alice had %d s and bob %d s, want 2990 and 997", x, y)
	}
}

// What a host expects may be too much by far, or too little: whoever comes while that is out, or later, gets as much as the others at once. What was expected
// too much is taken back when it ends, but virtual time would not be.
func TestWrongExpectationIsPaidByNoOther(t *testing.T) {
	for _, off := range []float64{1e-6, 1, 1000, 1e6, 1e12} {
		for _, known := range []int{0, 1, 40} { // calls of a that have ended before
			for _, later := range []int{0, 1, 8, 100} { // how many have ended when b comes
				f := flow.New(flow.Options{})
				const cost, slots = 1_000_000, 8
				a := join(t, f, flow.Root, "a", 1)
				f.SetActive(a, true)
				expected := func(n flow.Flow) uint64 {
					if n == a {
						return uint64(cost * off)
					}
					return cost
				}
				for range known {
					f.Charge(a, cost)
					f.Correct(a, cost, cost)
				}
				var running []flow.Flow
				had := map[flow.Flow]int{}
				serve := func() { // all calls take as long
					if len(running) == slots {
						f.Correct(running[0], expected(running[0]), cost)
						running = running[1:]
					}
					n, _ := f.Least()
					f.Charge(n, expected(n))
					running = append(running, n)
					had[n]++
				}
				for range slots + later {
					serve()
				}
				b, c := join(t, f, flow.Root, "b", 1), join(t, f, flow.Root, "c", 1)
				f.SetActive(b, true)
				f.SetActive(c, true)
				clear(had)
				for range 1000 {
					serve()
				}
				if had[b] < 320 || had[c] < 320 || had[b] > had[c]+2 || had[c] > had[b]+2 {
					t.Errorf("a expects %v of what it costs, %d had ended, %d more when others come: of 1,000 calls %d, %d and %d", off, known, later, had[a], had[b], had[c])
				}
			}
		}
	}
}

// Some whose calls have cost what is wrong by far, and that have gone, so that not all of their debts are kept, keep nobody out who comes later.
func TestWrongCostsOfThoseThatHaveGone(t *testing.T) {
	f := flow.New(flow.Options{})
	a := join(t, f, flow.Root, "a", 1)
	f.SetActive(a, true)
	for range 100 {
		serve(t, f, 100)
	}
	for i := range 5 {
		n := join(t, f, flow.Root, fmt.Sprint("wrong", i), 1)
		f.Charge(n, 100)
		f.Correct(n, 100, 1<<40)
		f.Leave(n)
		for range 20 {
			serve(t, f, 100)
		}
	}
	b := join(t, f, flow.Root, "b", 1)
	f.SetActive(b, true)
	had := map[flow.Flow]int{}
	for range 1000 {
		had[serve(t, f, 100)]++
	}
	if had[b] < 450 {
		t.Errorf("of 1,000 calls a had %d and b %d, want about half", had[a], had[b])
	}
}

// Two workers have the prefixes of half of six tenants each in their caches. A call of a tenant has 1 to 20 tokens, and takes four times as long where its
// prefix is not. All tenants always have calls. With Least about half of the calls find their prefix, and with Near and a window of 20 tokens nearly all: more tokens
// are served, no worker ever idles, and the tenants stay within the window and what two calls may cost.
func TestNear(t *testing.T) {
	serve := func(window uint64) (hits, calls int, tokens uint64, apart uint64) {
		r := rand.New(rand.NewPCG(1, 1))
		f := flow.New(flow.Options{})
		var flows []flow.Flow
		for i := range 6 {
			n, err := f.Join(flow.Root, fmt.Sprint(i), 1)
			if err != nil {
				t.Fatal(err)
			}
			f.SetActive(n, true)
			flows = append(flows, n)
		}
		var free [2]uint64 // when each worker is free
		var each [6]uint64
		for min(free[0], free[1]) < 100_000 {
			w := 0
			if free[1] < free[0] {
				w = 1
			}
			cached := func(n flow.Flow) bool { return slices.Index(flows, n)%2 == w }
			n, _ := f.Near(window, cached)
			cost := 1 + r.Uint64N(20)
			f.Charge(n, cost)
			f.Correct(n, cost, cost)
			each[slices.Index(flows, n)] += cost
			tokens += cost
			apart = max(apart, slices.Max(each[:])-slices.Min(each[:]))
			if calls++; cached(n) {
				hits++
				free[w] += cost
			} else {
				free[w] += 4 * cost
			}
		}
		return hits, calls, tokens, apart
	}
	var served [3]uint64
	for i, window := range []uint64{0, 5, 20} {
		hits, calls, tokens, apart := serve(window)
		t.Logf("window %3d: %.2f of the calls find their prefix, %d tokens are served, tenants are %d apart at most", window, float64(hits)/float64(calls), tokens, apart)
		if served[i] = tokens; apart > window+20 {
			t.Errorf("window %d: tenants are %d apart, want at most %d", window, apart, window+20)
		}
	}
	if served[2] < 2*served[0] || served[1] <= served[0] {
		t.Errorf("served %v tokens, want twice as many with the window of 20 as without one", served)
	}
}

// A flow that joins with a debt stands behind a flow with the same tag that was charged before and waits.
func TestDebtGoesLastAmongEquals(t *testing.T) {
	f := flow.New(flow.Options{})
	come := func(name string) flow.Flow {
		n := join(t, f, flow.Root, name, 1)
		f.SetActive(n, true)
		return n
	}
	a, b := come("a"), come("b")
	serve(t, f, 1)
	serve(t, f, 1)
	f.Leave(a)
	a = come("a")
	if n, _ := f.Least(); n != b {
		t.Errorf("flow %d is served first, want %d, not %d with its debt", n, b, a)
	}
}
