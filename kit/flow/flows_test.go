package flow_test

import (
	"bytes"

	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/kit/flow"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

var (
	weights = rapid.OneOf(rapid.SampledFrom([]uint64{1, 2, 3, flow.MaxWeight, flow.MaxWeight - 1, 1 << 16}), rapid.Uint64Range(1, flow.MaxWeight), rapid.Uint64Range(1, 5))
	costs   = rapid.OneOf(rapid.SampledFrom([]uint64{0, 1, 2, 1 << 16, flow.MaxCost - 1, flow.MaxCost, math.MaxUint64}), rapid.Uint64(), rapid.Uint64Range(0, 9))
	credits = rapid.OneOf(rapid.SampledFrom([]uint64{0, 0, 1, 5, flow.MaxCost, math.MaxUint64}))
)

// A pair has the flows under test and the oracle, and the flow of each of the oracle's.
type pair struct {
	f   *flow.Flows
	w   *world
	of  map[*flowStruct]flow.Flow
	out []charged
}

type charged struct {
	f    *flowStruct
	cost uint64
}

func newPair(credit uint64) *pair {
	p := &pair{f: flow.New(flow.Options{Credit: credit}), w: newWorld(min(credit, flow.MaxCost)), of: map[*flowStruct]flow.Flow{}}
	p.of[p.w.root] = flow.Root
	return p
}

// all returns the flows that have not left, outermost first, without the root.
func (p *pair) all() (list []*flowStruct) {
	var add func(f *flowStruct)
	add = func(f *flowStruct) {
		for _, b := range f.below {
			if !b.left {
				list = append(list, b)
				add(b)
			}
		}
	}
	add(p.w.root)
	return list
}

func pathOf(f *flow.Flows, n flow.Flow) (path string) {
	for name := range f.Path(n) {
		path += "/" + name
	}
	return path
}

func (p *pair) check(t *rapid.T) {
	want := p.w.least()
	got, ok := p.f.Least()
	if ok != (want != nil) || ok && p.of[want] != got {
		t.Fatalf("Least is %q, %v, want %q", pathOf(p.f, got), ok, want.path())
	}
	window, local, near := costs.Draw(t, "window"), map[*flowStruct]bool{}, map[flow.Flow]bool{}
	for _, f := range p.all() {
		local[f] = rapid.Bool().Draw(t, "local")
		near[p.of[f]] = local[f]
	}
	want = p.w.near(window, local)
	got, ok = p.f.Near(window, func(n flow.Flow) bool { return near[n] })
	if ok != (want != nil) || ok && p.of[want] != got {
		t.Fatalf("Near is %q, %v, want %q", pathOf(p.f, got), ok, want.path())
	}
	for _, f := range p.all() {
		s := p.f.Explain(p.of[f])
		before := 0
		for i, b := range f.up.busy() {
			if b == f {
				before = i
			}
		}
		if s.Active != f.active() || s.Outstanding != uint64(len(f.out)) || s.Active && s.Before != before {
			t.Fatalf("%s stands %+v, want active %v, %d outstanding, %d before", f.path(), s, f.active(), len(f.out), before)
		}
		if want := new(big.Int).Set(f.had); want.IsInt64() && s.Had != want.Uint64() {
			t.Fatalf("%s had %d, want %v", f.path(), s.Had, want)
		}
		if busy := f.up.busy(); len(busy) > 0 {
			ahead := new(big.Rat).Mul(new(big.Rat).Sub(f.tag, busy[0].tag), new(big.Rat).SetInt(f.weight))
			if want := up2(ahead, big.NewInt(1)).Num(); want.Sign() >= 0 && want.IsInt64() && s.Ahead != want.Uint64() {
				t.Fatalf("%s is ahead by %d, want %v", f.path(), s.Ahead, want)
			}
		}
	}
}

// step makes one change to both.
func (p *pair) step(t *rapid.T) {
	all := p.all()
	pick := func() *flowStruct { return all[rapid.IntRange(0, len(all)-1).Draw(t, "flow")] }
	switch op := rapid.IntRange(0, 9).Draw(t, "op"); {
	case op == 0 || len(all) == 0:
		up := p.w.root
		if len(all) > 0 && rapid.Bool().Draw(t, "nested") {
			if up = pick(); up.waits || depth(up) > 3 {
				return
			}
		}
		name := rapid.SampledFrom([]string{"a", "b", "c", "d", "", "e"}).Draw(t, "name")
		for _, b := range up.below {
			if b.name == name && !b.left {
				return
			}
		}
		weight := weights.Draw(t, "weight")
		n, err := p.f.Join(p.of[up], name, weight)
		if err != nil {
			t.Fatal(err)
		}
		p.of[p.w.join(up, name, weight)] = n
	case op == 1:
		if f := pick(); f.alive() == 0 {
			p.f.Leave(p.of[f])
			f.leave()
		}
	case op <= 3:
		if f := pick(); len(f.below) == 0 {
			on := op == 2 || rapid.Bool().Draw(t, "on")
			p.f.SetActive(p.of[f], on)
			f.setActive(on, p.w.credit)
		}
	case op <= 6:
		f := p.w.least()
		if op == 6 || f == nil {
			f = pick()
		}
		c := costs.Draw(t, "cost")
		p.f.Charge(p.of[f], c)
		p.w.charge(f, c)
		p.out = append(p.out, charged{f, c})
	case op <= 8 && len(p.out) > 0:
		i := rapid.IntRange(0, len(p.out)-1).Draw(t, "charge")
		o := p.out[i]
		p.out = append(p.out[:i], p.out[i+1:]...)
		if op == 8 && rapid.Bool().Draw(t, "lost") {
			p.f.Refund(p.of[o.f], o.cost)
			o.f.settle(clamp(o.cost), new(big.Int))
		} else {
			c := costs.Draw(t, "cost")
			p.f.Correct(p.of[o.f], o.cost, c)
			o.f.settle(clamp(o.cost), clamp(c))
		}
	case op == 9:
		f, weight := pick(), weights.Draw(t, "weight")
		if err := p.f.SetWeight(p.of[f], weight); err != nil {
			t.Fatal(err)
		}
		f.reweigh(weight)
	}
}

func depth(f *flowStruct) (d int) {
	for ; f.up != nil; f = f.up {
		d++
	}
	return d
}

// Flows answer as an exact version does that looks at every flow, over all calls and with nested
// flows. A snapshot goes on in the same way, and is the same again.
func TestOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(credits.Draw(t, "credit"))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			p.step(t)
			p.check(t)
		}
		data, err := p.f.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.f.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		again, _ := p.f.AppendBinary(nil)
		if !bytes.Equal(data, again) {
			t.Fatal("a snapshot is not the same again")
		}
		p.check(t)
		for range 20 {
			p.step(t)
			p.check(t)
		}
	})
}

// A forged snapshot is refused, or it is one that would be saved so, and what it says can be used.
func TestForgeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			p.step(t)
		}
		data, _ := p.f.AppendBinary(nil)
		for range rapid.IntRange(1, 3).Draw(t, "forgeries") {
			at := rapid.IntRange(len(data)/8, len(data)-1).Draw(t, "at")
			data[at] = byte(rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 255)).Draw(t, "byte"))
		}
		snapshot.Seal(data)
		f := flow.New(flow.Options{})
		if f.UnmarshalBinary(data) != nil {
			return
		}
		if again, _ := f.AppendBinary(nil); !bytes.Equal(data, again) {
			t.Fatal("a forgery is accepted and saved as something else")
		}
		for range 50 {
			n, ok := f.Least()
			if !ok {
				return
			}
			f.Charge(n, 10)
			f.Correct(n, 10, 20)
			f.SetActive(n, false)
			f.Leave(n)
		}
	})
}
