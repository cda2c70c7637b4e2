package shadow

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/visible"
)

// Options are the options of a [Shadow].
type Options struct {
	// Buffer is how many events and starts the candidate may be behind before it is given up.
	// Zero means 65,536.
	Buffer int

	// Policy makes another new policy of a name, for [Shadow.Swap] and for a journal around, which goes on with the policy that took over. The empty name is that of
	// the active policy of New. Nil means that nothing takes over.
	Policy func(name string) (sojourn.Policy, error)

	// Window is how many completed jobs are remembered for [Shadow.Predict]: the latest ones. Zero
	// means 1,000.
	Window int
}

// Validate returns the first thing that is wrong with the options, or nil.
func (o Options) Validate() error {
	return option.First("shadow", option.AtLeast("Buffer", o.Buffer, 0), option.AtLeast("Window", o.Window, 0))
}

func (o Options) withDefaults() Options {
	if o.Buffer == 0 {
		o.Buffer = 1 << 16
	}
	if o.Window == 0 {
		o.Window = 1000
	}
	return o
}

// A Shadow is a policy that decides as the active one does, while a candidate watches. Its methods may be
// called by several goroutines, since it has a lock: see [sojourn.Locked].
type Shadow struct {
	*sojourn.Locked
	pair  *pair
	watch *watcher
	named func(string) (sojourn.Policy, error)
}

// New returns a Shadow of two policies that are new: nothing was reported to them. From then on both
// are used only through it.
func New(active, candidate sojourn.Policy, o Options) (*Shadow, error) {
	err := option.First("shadow", o.Validate(),
		option.Want(active != nil, "active", "nil", "a policy"),
		option.Want(candidate != nil, "candidate", "nil", "a policy"))
	if err != nil {
		return nil, err
	}
	w := newWatcher(candidate, o.withDefaults())
	p := &pair{active: account.New(active), watch: w}
	if err := errors.Join(p.active.Err(), w.candidate.Err()); err != nil {
		return nil, fmt.Errorf("shadow: %w", err)
	}
	p.force.Store(new(force))
	_, p.seeks = sojourn.As[sojourn.Seeker](active)
	return &Shadow{sojourn.NewLocked(p), p, w, o.Policy}, nil
}

// Swap lets another policy take over from the active one: the one that Options.Policy makes of the name. It is told all that is true, as
// [account.Account.Rebuild] does, and decides from then on. The candidate goes on watching it. A driver that
// sleeps learns at its next event what the other policy wants. A journal around keeps the name: Swap is durable when a later Flush of the journal has
// returned nil.
//
// Swap returns an error, and changes nothing, if Options.Policy does, or if the other policy is not new, does not support what is live, or
// names no slots worth offering while the first one did: a driver may rely on that.
func (s *Shadow) Swap(name string) error {
	err := s.swap(name)
	if err != nil {
		return &swapError{name, err}
	}
	return nil
}

func (s *Shadow) swap(name string) (err error) {
	if s.named == nil {
		return errors.New("Options.Policy is nil: let it make a policy of each name")
	}
	next, err := s.named(name)
	switch {
	case err != nil:
		return err
	case next == nil:
		return errors.New("Options.Policy makes no policy of that name")
	}
	if _, ok := sojourn.As[sojourn.Seeker](next); !ok && s.pair.seeks {
		return fmt.Errorf("%w: a %T is no Seeker", errors.ErrUnsupported, next)
	}
	a := account.New(next)
	if err := a.Err(); err != nil {
		return err
	}
	s.Visit(func(sojourn.Policy) {
		if err = s.pair.active.Rebuild(a); err != nil {
			return
		}
		for old := range sojourn.All[retirer](s.pair.active) {
			old.Retire()
		}
		s.pair.active = a
		s.pair.force.Store(&force{name, s.pair.force.Load().swaps + 1})
	})
	return err
}

// A swapError says which policy cannot take over.
type swapError struct {
	name string
	err  error
}

func (e *swapError) Error() string {
	return visible.Errorf("shadow: the policy %q cannot take over: %w", e.name, e.err).Error()
}

func (e *swapError) Unwrap() error { return e.err }

// Active returns the name of the policy that decides, which is empty before the first Swap, and how often another one has taken over. A journal asks, so that it keeps the
// name and saves that policy.
func (s *Shadow) Active() (name string, swaps uint64) {
	in := s.pair.force.Load()
	return in.name, in.swaps
}

// A retirer wants to know that it is told nothing more.
type retirer interface{ Retire() }

// A pair is the active policy, and tells the watcher what happens. It is used under a lock.
type pair struct {
	active *account.Account
	watch  *watcher
	seeks  bool // the first active policy is a Seeker, and so are all after it
	force  atomic.Pointer[force]
}

// A force says which policy is in force.
type force struct {
	name  string
	swaps uint64 // until it was
}

// Observe implements [sojourn.Policy].
func (p *pair) Observe(ev sojourn.Event) error {
	if err := ev.CheckSupport(sojourn.Supports(p.active)); err != nil { // a driver knows what the first policy supported
		if wrong := p.active.Check(&ev); wrong != nil {
			return wrong // what does not fit comes before what is not supported
		}
		return err
	}
	err := p.active.Observe(ev)
	if err == nil {
		p.watch.tell(entry{ev: ev})
	}
	return err
}

// Assign implements [sojourn.Policy].
func (p *pair) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	as, ok := p.active.Assign(id)
	if ok {
		p.watch.tell(entry{start: as})
	}
	return as, ok
}

// Unwrap returns the active policy: see [sojourn.As].
func (p *pair) Unwrap() sojourn.Policy { return p.active }

// NextWake implements [sojourn.Waker], since a policy that takes over may be one.
func (p *pair) NextWake() (sojourn.Time, bool) {
	if w, ok := sojourn.As[sojourn.Waker](p.active); ok {
		return w.NextWake()
	}
	return 0, false
}

// AppendPreemptions implements [sojourn.Preemptor], since a policy that takes over may be one.
func (p *pair) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	if q, ok := sojourn.As[sojourn.Preemptor](p.active); ok {
		return q.AppendPreemptions(dst)
	}
	return dst
}

// As finds what the active policy can do. The answers are those of whichever policy is active when it is asked.
func (p *pair) As(target any) bool {
	switch t := target.(type) {
	case *sojourn.Seeker:
		return inside.Answer[sojourn.Seeker](p.active, t, asked{p})
	case *sojourn.Admitter:
		return inside.Answer[sojourn.Admitter](p.active, t, asked{p})
	case *sojourn.Explainer:
		return inside.Answer[sojourn.Explainer](p.active, t, asked{p})
	case *sojourn.Sharer:
		return inside.Answer[sojourn.Sharer](p.active, t, asked{p})
	case *sojourn.Promiser:
		return inside.Answer[sojourn.Promiser](p.active, t, asked{p})
	}
	return false
}

// asked answers as the active policy. If that is no longer of the kind asked for, it answers as a policy that
// accepts each job, explains nothing, has no pools and promises nothing. It remains a Seeker: see Swap.
type asked struct{ p *pair }

// Seek implements [sojourn.Seeker].
func (a asked) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	in, _ := sojourn.As[sojourn.Seeker](a.p.active)
	return in.Seek(c)
}

// Admit implements [sojourn.Admitter].
func (a asked) Admit(job *sojourn.Job) error {
	if in, ok := sojourn.As[sojourn.Admitter](a.p.active); ok {
		return in.Admit(job)
	}
	return nil
}

// AppendRanking implements [sojourn.Explainer].
func (a asked) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	if in, ok := sojourn.As[sojourn.Explainer](a.p.active); ok {
		return in.AppendRanking(dst)
	}
	return dst
}

// Explain implements [sojourn.Explainer].
func (a asked) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	if in, ok := sojourn.As[sojourn.Explainer](a.p.active); ok {
		return in.Explain(id)
	}
	return nil, false
}

// AppendShares implements [sojourn.Sharer].
func (a asked) AppendShares(dst []sojourn.Share, c sojourn.Class) []sojourn.Share {
	if in, ok := sojourn.As[sojourn.Sharer](a.p.active); ok {
		return in.AppendShares(dst, c)
	}
	return dst
}

// Pool implements [sojourn.Sharer].
func (a asked) Pool(name string) (sojourn.Pool, bool) {
	if in, ok := sojourn.As[sojourn.Sharer](a.p.active); ok {
		return in.Pool(name)
	}
	return sojourn.Pool{}, false
}

// AppendVoid implements [sojourn.Promiser].
func (a asked) AppendVoid(dst []sojourn.JobID) []sojourn.JobID {
	if in, ok := sojourn.As[sojourn.Promiser](a.p.active); ok {
		return in.AppendVoid(dst)
	}
	return dst
}

// Void implements [sojourn.Promiser].
func (a asked) Void(id sojourn.JobID) (why string, ok bool) {
	if in, ok := sojourn.As[sojourn.Promiser](a.p.active); ok {
		return in.Void(id)
	}
	return "", false
}

// AppendBinary implements [sojourn.Snapshotter]. It saves the active policy and its account.
func (p *pair) AppendBinary(dst []byte) ([]byte, error) { return p.active.AppendBinary(dst) }

// UnmarshalBinary implements [sojourn.Snapshotter]. A candidate that has seen nothing is told all facts; any
// other one is given up.
func (p *pair) UnmarshalBinary(data []byte) error {
	if err := p.active.UnmarshalBinary(data); err != nil {
		return err
	}
	p.watch.restart(p.active.Facts())
	return nil
}
