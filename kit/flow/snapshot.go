package flow

import (
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/sfq"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// The credit may change, so it is not listed.
var header = snapshot.Header{Policy: "flow", Version: 3}

// AppendBinary appends a snapshot of f: all flows with their numbers, and what they had. It never
// returns an error.
func (f *Flows) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, header, func(w *snapshot.Writer) {
		w.Uint(f.turns)
		w.Len(f.nodes.Len())
		f.node(Root).mean.Save(w)
		f.save(w, f.node(Root))
		w.Free(f.spare.Slice())
	})
}

// save writes what is below a flow.
func (f *Flows) save(w *snapshot.Writer, x *node) {
	w.Len(x.kids.Len())
	for _, y := range x.kids.All() {
		if y == nil {
			w.Uint(uint64(Root))
			continue
		}
		w.Uint(uint64(y.flow))
		w.String(y.name)
		y.Account.Save(w)
		w.Uint(y.turn &^ served)
		w.Bool(y.turn&served != 0)
		y.mean.Save(w)
		y.done.Save(w)
		w.Bool(y.gone)
		f.save(w, y)
		if len(y.below) == 0 {
			w.Bool(y.active)
		}
	}
	w.Free(x.gaps.Slice())
	x.clock.Save(w)
}

// UnmarshalBinary replaces f by what a snapshot has. The numbers of flows are those of that time. The
// credit is that of f. After an error f is as it was.
func (f *Flows) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(f, data, header, f.reset, func(r *snapshot.Reader) {
		f.turns = r.Below(1 << 62)
		f.nodes.Grow(r.Len())
		f.node(Root).mean = sfq.RestoreMean(r)
		f.restore(r, f.node(Root))
		f.spare = heap.TableOf(r.Free(f.nodes.Len(), func(n int) bool { return *f.nodes.At(uint32(n)) == nil }))
	})
}

// restore reads what is below a flow.
func (f *Flows) restore(r *snapshot.Reader, x *node) {
	x.kids.Grow(r.Len())
	r.Check(x.kids.Len() == 0 || x.depth < MaxDepth, "a flow is too deep")
	turns := make(map[uint64]bool)
	for id := range uint32(x.kids.Len()) {
		n := Flow(r.Below(uint64(f.nodes.Len())))
		if r.Err() != nil || n == Root {
			continue
		}
		if !r.Check(*f.nodes.At(uint32(n)) == nil, "a flow is there twice") {
			return
		}
		y := &node{flow: n, name: r.String(), parent: x, id: id, depth: x.depth + 1, Account: sfq.RestoreAccount(r)}
		y.turn = r.Below(f.turns + 1)
		r.Check(!turns[y.turn], "two flows have the same turn")
		turns[y.turn] = true
		if r.Bool() {
			y.turn |= served
		}
		y.mean = sfq.RestoreMean(r)
		y.done = wide.Restore128(r)
		y.gone = r.Bool()
		if x.below == nil {
			x.open()
		}
		r.Check(x.below[y.name] == nil, "a flow is there twice")
		*f.nodes.At(uint32(n)), *x.kids.At(id), x.below[y.name] = y, y, y
		if !y.gone {
			x.live++
		}
		f.restore(r, y)
		if r.Err() != nil {
			return
		}
		if len(y.below) == 0 {
			y.active = r.Bool()
		} else {
			y.active = y.first() != nil
		}
		r.Check(!y.gone || !y.active && y.live == 0 && y.Outstanding() > 0, "a flow that has left is there for nothing")
		if y.active {
			y.file()
		}
	}
	x.gaps = heap.TableOf(r.Free(x.kids.Len(), func(id int) bool { return *x.kids.At(uint32(id)) == nil }))
	x.clock = sfq.RestoreClock(r, x.live, 0)
	var charges uint64
	var out wide.Uint128
	for _, y := range x.kids.All() {
		if y == nil {
			continue
		}
		charges, out = charges+y.Outstanding(), out.Add(y.Out())
		r.Check(!x.clock.Owes(y.name), "a flow is there and has left")
	}
	r.Check(x.parent == nil || charges <= x.Outstanding() && !x.Out().Less(out), "flows are charged with more than what they are below")
}
