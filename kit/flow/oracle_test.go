package flow_test

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
)

// world is a dumb and exact version of Flows: a tree of structs, fractions of big integers, and a look
// at every flow at each question.
type world struct {
	credit *big.Int
	root   *flowStruct
	seq    int
}

type flowStruct struct {
	name    string
	up      *flowStruct
	weight  *big.Int
	tag     *big.Rat // whole multiples of 1/weight
	out     []*big.Int
	had     *big.Int
	mean    *big.Int // of its costs of late
	ends    int
	last    int // when it was charged, or 0
	came    int
	waits   bool
	left    bool
	below   []*flowStruct
	virtual *big.Rat
	debts   map[string]*flowStruct
}

func newWorld(credit uint64) *world {
	w := &world{credit: new(big.Int).SetUint64(credit)}
	w.root = w.flow(nil, "", 1, new(big.Rat))
	return w
}

func (w *world) flow(up *flowStruct, name string, weight uint64, at *big.Rat) *flowStruct {
	w.seq++
	f := &flowStruct{name: name, up: up, weight: new(big.Int).SetUint64(weight), had: new(big.Int), mean: new(big.Int), came: w.seq, virtual: new(big.Rat), debts: map[string]*flowStruct{}}
	f.tag = up2(at, f.weight)
	return f
}

// up2 returns the least multiple of 1/weight that is not below x.
func up2(x *big.Rat, weight *big.Int) *big.Rat {
	y := new(big.Rat).Mul(x, new(big.Rat).SetInt(weight))
	q, r := new(big.Int).QuoRem(y.Num(), y.Denom(), new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return new(big.Rat).SetFrac(q, weight)
}

func clamp(c uint64) *big.Int {
	return new(big.Int).SetUint64(min(max(c, 1), 1<<63-1))
}

func (f *flowStruct) active() bool {
	for _, b := range f.below {
		if b.active() {
			return true
		}
	}
	return f.waits
}

func (f *flowStruct) busy() (list []*flowStruct) {
	for _, b := range f.below {
		if b.active() {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b *flowStruct) int {
		never := func(f *flowStruct) int {
			if f.last == 0 {
				return f.came
			}
			return f.last + 1<<30
		}
		return cmp.Or(a.tag.Cmp(b.tag), cmp.Compare(never(a), never(b)))
	})
	return list
}

func (w *world) join(up *flowStruct, name string, weight uint64) *flowStruct {
	for _, b := range up.below {
		if b.name == name {
			b.left = false
			b.reweigh(weight)
			return b
		}
	}
	at, owes := up.virtual, false
	if d := up.debts[name]; d != nil {
		at, owes = d.tag, true
		delete(up.debts, name)
	}
	f := w.flow(up, name, weight, at)
	if owes { // it was charged before
		f.last = f.came
	}
	up.below = append(up.below, f)
	return f
}

func (f *flowStruct) reweigh(weight uint64) {
	sum := new(big.Int)
	for _, c := range f.out {
		sum.Add(sum, c)
	}
	if f.weight.Cmp(new(big.Int).SetUint64(weight)) == 0 {
		return
	}
	t := new(big.Rat).Sub(f.tag, new(big.Rat).SetFrac(sum, f.weight))
	f.weight = new(big.Int).SetUint64(weight)
	f.tag = up2(t, f.weight)
	f.tag.Add(f.tag, new(big.Rat).SetFrac(sum, f.weight))
}

func (f *flowStruct) setActive(on bool, credit *big.Int) {
	var raise []*flowStruct
	if on {
		for x := f; x.up != nil && !x.active(); x = x.up {
			raise = append(raise, x)
		}
	}
	f.waits = on
	for _, x := range raise {
		to := up2(x.up.virtual, x.weight)
		to.Sub(to, new(big.Rat).SetFrac(credit, x.weight))
		if x.tag.Cmp(x.up.virtual) < 0 && x.tag.Cmp(to) < 0 {
			x.tag = to
		}
	}
}

func (f *flowStruct) leave() {
	f.waits, f.left = false, true
	f.up.forget()
	f.retire()
}

func (f *flowStruct) alive() (n int) {
	for _, b := range f.below {
		if !b.left {
			n++
		}
	}
	return n
}

// forget drops the debts that virtual time has passed, and more while there are more than flows: virtual time passes to the least one, but not by more than the mean.
func (f *flowStruct) forget() {
	for {
		var least *flowStruct
		for _, d := range f.debts {
			if least == nil || cmp.Or(d.tag.Cmp(least.tag), cmp.Compare(d.name, least.name)) < 0 {
				least = d
			}
		}
		switch {
		case least != nil && least.tag.Cmp(f.virtual) <= 0:
		case len(f.debts) > f.alive():
			most := f.mean
			if most.Sign() == 0 {
				most = big.NewInt(1)
			}
			to := up2(f.virtual, least.weight)
			if to.Add(to, new(big.Rat).SetFrac(most, least.weight)); to.Cmp(least.tag) > 0 {
				to = least.tag
			}
			f.virtual = to
		default:
			return
		}
		delete(f.debts, least.name)
	}
}

func (f *flowStruct) retire() {
	if !f.left || len(f.out) > 0 || len(f.below) > 0 {
		return
	}
	f.up.below = slices.DeleteFunc(f.up.below, func(b *flowStruct) bool { return b == f })
	f.up.debts[f.name] = f
	f.up.forget()
}

func (w *world) charge(f *flowStruct, c uint64) {
	w.seq++
	for ; f.up != nil; f = f.up {
		to := f.proved()
		if busy := f.up.busy(); len(busy) > 0 && busy[0].tag.Cmp(to) < 0 {
			to = busy[0].tag
		}
		if f.up.virtual.Cmp(to) < 0 {
			f.up.virtual = to
		}
		f.up.forget()
		f.tag = new(big.Rat).Add(f.tag, new(big.Rat).SetFrac(clamp(c), f.weight))
		f.out = append(f.out, clamp(c))
		f.last = w.seq
	}
}

// proved is the tag, where each charge that is out counts as four times the mean of late at most, all together.
func (f *flowStruct) proved() *big.Rat {
	out, known := new(big.Int), new(big.Int)
	for _, c := range f.out {
		out.Add(out, c)
	}
	if f.ends >= 3 {
		known.Mul(f.mean, big.NewInt(4*int64(len(f.out))))
	}
	most := clamp(math.MaxUint64)
	if out.Cmp(known) <= 0 || out.Cmp(most) >= 0 && known.Cmp(most) >= 0 {
		return f.tag
	}
	return new(big.Rat).Sub(f.tag, new(big.Rat).SetFrac(out.Sub(out, known), f.weight))
}

// learn lets the mean follow a cost: of the first 16 costs each counts the same, and from then on a new one counts a sixteenth.
func (f *flowStruct) learn(cost *big.Int) {
	f.ends++
	if f.ends > 1 {
		sixteen := big.NewInt(16)
		most := new(big.Int).Mul(sixteen, f.mean)
		if most.Sign() == 0 {
			most = sixteen
		}
		if cost.Cmp(most) > 0 {
			cost = most
		}
		if f.ends <= 5 && cost.Cmp(new(big.Int).Quo(f.mean, sixteen)) < 0 {
			f.mean = new(big.Int).Mul(sixteen, cost)
		}
	}
	of := int64(min(f.ends, 16))
	d := new(big.Int).Sub(cost, f.mean)
	round := big.NewInt(of - 1)
	if d.Sign() < 0 {
		round.Neg(round)
	}
	f.mean = new(big.Int).Add(f.mean, d.Add(d, round).Quo(d, big.NewInt(of)))
}

func (f *flowStruct) settle(expected, actual *big.Int) {
	for f.up != nil {
		up := f.up
		i := slices.IndexFunc(f.out, func(c *big.Int) bool { return c.Cmp(expected) == 0 })
		f.out = slices.Delete(f.out, i, i+1)
		f.tag = new(big.Rat).Add(f.tag, new(big.Rat).SetFrac(new(big.Int).Sub(actual, expected), f.weight))
		f.had = new(big.Int).Add(f.had, actual)
		if actual.Sign() > 0 {
			f.learn(actual)
		}
		f.retire()
		f = up
	}
	if actual.Sign() > 0 {
		f.learn(actual) // all together
	}
}

func (w *world) least() *flowStruct {
	f := w.root
	for len(f.below) > 0 {
		busy := f.busy()
		if len(busy) == 0 {
			return nil
		}
		f = busy[0]
	}
	if f.up == nil {
		return nil
	}
	return f
}

// near is least where the first of the flows goes first that are local and within the window at each level.
func (w *world) near(window uint64, local map[*flowStruct]bool) *flowStruct {
	var find func(f *flowStruct) *flowStruct
	find = func(f *flowStruct) *flowStruct {
		if len(f.below) == 0 && local[f] {
			return f
		}
		busy := f.busy()
		for _, b := range busy {
			end := new(big.Rat).Add(busy[0].tag, new(big.Rat).SetInt(new(big.Int).SetUint64(window)))
			if b.tag.Cmp(end) <= 0 {
				if found := find(b); found != nil {
					return found
				}
			}
		}
		return nil
	}
	if f := find(w.root); f != nil {
		return f
	}
	return w.least()
}

func (f *flowStruct) path() string {
	if f == nil || f.up == nil {
		return ""
	}
	return fmt.Sprint(f.up.path(), "/", f.name)
}
