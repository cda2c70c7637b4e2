package leastwork

import (
	"container/list"
	"math/bits"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// Stats hold what finished tasks of one class of slots show: the usual task time, and how accurate
// the estimates of jobs are. The first task of each phase that finishes is a sample. A phase of many
// tasks therefore counts no more than another. The samples are called votes.
type stats struct {
	votes   uint64  // of all phases
	sum     octaves // of the times of those tasks
	usual   octaves // their mean, to a whole octave, as of when it changed; see settle
	settled uint64  // how many votes there were then; at most votes

	usualTime time.Duration // of usual

	toldVotes uint64  // of phases whose times were told
	bias      octaves // moving mean of how much longer their tasks took than told

	// Moving means of how far the four ways to predict a task were off.
	off [predictors]octaves

	// What follows from off, with hysteresis.
	useTold  bool  // told times, or these corrected by names, predict better than names and the class do
	useRank  bool  // told times as they are predict better than names and the class do, and not much worse than corrected ones
	useRatio bool  // told times are multiplied by what they were off under that name
	useNames bool  // names predict better than the class does
	doubt    doubt // in told times

	names names
	seen  lengths // of the tasks that voted

	round round // which jobs are still filed by older statistics
}

// ClassStats are the statistics by class; nil where no job had a phase.
type classStats []*stats

// of returns the statistics of a class.
func (l *classStats) of(c sojourn.Class) *stats {
	if int(c) < len(*l) && (*l)[c] != nil {
		return (*l)[c]
	}
	return l.begin(c)
}

// begin makes the statistics of a class that had none.
func (l *classStats) begin(c sojourn.Class) *stats {
	for int(c) >= len(*l) {
		*l = append(*l, nil)
	}
	b := new(stats)
	b.reset()
	(*l)[c] = b
	return b
}

// A predictor is a way to predict how long a task takes. vote counts the error of each, settle decides which are used, and
// prior and corrected predict. Snapshots have the errors in this order, and the tables of the package comment and the oracle
// of the tests list all.
type predictor int

const (
	byTold  predictor = iota // the told time, apart from the bias that all told times have
	byRatio                  // the told time, times what told times were off under that name
	byName                   // what tasks under that name took
	byClass                  // what tasks of the class took
	predictors
)

// A doubt says how far off the estimates are that are used.
type doubt uint8

const (
	exact   doubt = iota // mostly by less than a factor of sqrt 2
	noisy                // mostly by less than a factor of 3
	useless              // by more
)

// The greatest error at which each doubt ends, in octaves.
var doubtEnds = [useless]octaves{octave / 2, octave * 8 / 5}

const (
	memory    = 128            // votes after which a moving mean has forgotten
	caution   = 16             // votes that the errors of the beginning count as
	beginning = octave * 5 / 4 // how far names and classes are taken to be off
	maxNames  = 4096           // names that a class remembers: those that voted last
	settling  = 4              // times as many votes as before, until what is usual changes
	forget    = octave * 4 / 5 // what the votes of a name keep of their weight at each further one
)

// reset sets b to what holds before any task has finished.
func (b *stats) reset() {
	*b = stats{
		usual:    log(option.DefaultTaskTime),
		off:      [predictors]octaves{byName: beginning, byClass: beginning},
		useTold:  true,
		useRank:  true,
		useNames: true,
	}
	b.usualTime = b.usual.time()
	b.names.reset()
}

// prior returns the predicted time of a task without an estimate, of a phase in which none has finished.
func (b *stats) prior(name string) time.Duration {
	if b.useNames {
		if n := b.names.find(name); n != nil {
			return n.mean.time()
		}
	}
	return b.usualTime
}

// ratio returns how much longer tasks under a name take than their estimates; 0 if that is not used.
func (b *stats) ratio(name string) octaves {
	if b.useRatio {
		if n := b.names.find(name); n != nil && n.toldWeight > 0 {
			return n.ratio
		}
	}
	return 0
}

// corrects returns how much longer tasks of a job are predicted to take than their estimates, in phases of which none has
// finished: the mean of its other phases, and of what is known of its name, which counts as one of them.
func (b *stats) corrects(j *ledger.Job[jobData]) octaves {
	return (b.ratio(j.Spec().Name) + j.Data.own.off) / octaves(j.Data.own.votes+1)
}

// vote counts the first task of a phase that finishes: how long it took, and its estimate, 0 if there
// was none. If other phases of the job correct that estimate, names are not judged by it: what they say then comes from these phases,
// too. It reports what has changed, so that jobs are filed anew.
func (b *stats) vote(took, told time.Duration, name string, corrected bool) change {
	y := log(took)
	n := b.names.find(name)
	usual := b.usual
	if b.votes > 0 {
		usual = b.sum / octaves(b.votes)
	}
	byClassOff := (y - usual).abs()
	byNameOff := byClassOff
	if n != nil {
		byNameOff = (y - n.mean).abs()
	}
	if b.votes++; b.votes == maxVotes {
		b.votes, b.sum, b.toldVotes, b.settled = b.votes/2, b.sum/2, b.toldVotes/2, b.settled/2
		for i := range b.seen {
			b.seen[i] /= 2
		}
	}
	b.sum += y
	b.seen.add(took)
	b.miss(byClass, byClassOff)
	b.miss(byName, byNameOff)
	if told > 0 {
		x := y - log(told)
		if b.toldVotes == 0 {
			b.bias = x
		}
		b.toldVotes++
		byToldOff := (x - b.bias).abs()
		byRatioOff := byToldOff
		if n != nil && n.toldWeight > 0 && !corrected {
			byRatioOff = (x - n.ratio).abs()
		}
		b.miss(byTold, byToldOff)
		b.miss(byRatio, byRatioOff)
		b.bias += (x - b.bias) / octaves(min(b.toldVotes, memory))
	}
	b.names.vote(name, y, told)
	return b.settle()
}

// maxVotes is where votes are no longer counted, so that their sum fits.
const maxVotes = 1 << 40

// miss counts the error of a predictor.
func (b *stats) miss(p predictor, off octaves) {
	b.off[p] += (off - b.off[p]) / octaves(min(b.votes+caution, memory))
}

// A change says what has changed in the statistics of a class.
type change uint8

const (
	nothing change = iota
	unused         // the accuracy of estimates that are not used: no key depends on it
	untold         // the predicted time of tasks without estimates, or whose estimates are not used
	all            // more than that
)

// settle applies the rules of the package comment after a vote, and reports what has changed by it. All have
// hysteresis, so that they are rare: jobs are filed anew at each. The mean of few votes moves far
// at each further one, so that what is usual waits for several times as many as before.
func (b *stats) settle() change {
	before := *b
	if mean := b.sum / octaves(b.votes); b.votes == 1 || b.votes >= settling*b.settled && (mean-b.usual).abs() > octave*3/4 {
		b.settled = b.votes
		b.usual = mean.whole()
		b.usualTime = b.usual.time()
	}
	own := min(b.off[byName], b.off[byClass])
	if !b.useTold || b.off[byRatio] >= own {
		prefer(&b.useTold, b.off[byTold], own)
		b.useTold = b.useTold || b.off[byRatio]*9 < own*8
	}
	prefer(&b.useRank, b.off[byTold], min(own, b.off[byRatio]*4/3))
	prefer(&b.useRatio, b.off[byRatio], b.off[byTold])
	prefer(&b.useNames, b.off[byName], b.off[byClass])
	for b.doubt < useless && b.off[byTold] > doubtEnds[b.doubt] {
		b.doubt++
	}
	for b.doubt > exact && b.off[byTold]*4 < doubtEnds[b.doubt-1]*3 {
		b.doubt--
	}
	told := b.useRatio != before.useRatio || b.doubt != before.doubt
	switch {
	case b.useTold != before.useTold || told && b.useTold:
		return all
	case b.usual != before.usual || b.useNames != before.useNames:
		return untold
	case told:
		return unused
	}
	return nothing
}

// prefer decides between two ways to predict: the first is taken up when it is off by an eighth
// less than the second, and given up when it is off by an eighth more.
func prefer(first *bool, off, other octaves) {
	if *first {
		*first = off*8 <= other*9
	} else {
		*first = off*9 < other*8
	}
}

// Lengths count times of tasks by octaves: [i] is how many have at most i binary digits in nanoseconds. Invariant: it
// never decreases with i, and the last one is votes.
type lengths [64]uint64

// digits returns the binary digits of a time, from 1 to 63.
func digits(d time.Duration) int { return bits.Len64(uint64(max(d, 1))) }

func (l *lengths) add(d time.Duration) {
	for i := digits(d); i < len(l); i++ {
		l[i]++
	}
}

// rank returns which part of the times is shorter. Those of the same octave count half.
func (l *lengths) rank(d time.Duration) reserve.Rank {
	i := digits(d)
	return reserve.Rank{Num: l[i-1] + l[i], Den: 2 * l[len(l)-1]}
}

// Names are what is remembered of the names of jobs. No more than maxNames are: those that
// voted last.
type names struct {
	byName map[string]*list.Element // of *named
	latest *list.List               // the one that voted last in front
}

// A named is what is remembered of one name. Later votes weigh more.
type named struct {
	name       string
	weight     octaves // sum of the weights of its votes, of which the latest has an octave
	mean       octaves // of the times of tasks
	toldWeight octaves // the same, of the votes of phases whose times were told
	ratio      octaves // mean of how much longer they took than told
}

func (n *names) reset() { *n = names{byName: map[string]*list.Element{}, latest: list.New()} }

// find returns what is remembered of a name; nil if nothing is.
func (n *names) find(name string) *named {
	if e := n.byName[name]; e != nil {
		return e.Value.(*named)
	}
	return nil
}

// vote remembers a task under a name.
func (n *names) vote(name string, took octaves, told time.Duration) {
	if name == "" {
		return
	}
	e := n.byName[name]
	if e == nil {
		if len(n.byName) == maxNames {
			last := n.latest.Back()
			delete(n.byName, last.Value.(*named).name)
			n.latest.Remove(last)
		}
		e = n.latest.PushFront(&named{name: name})
		n.byName[name] = e
	}
	n.latest.MoveToFront(e)
	r := e.Value.(*named)
	average(&r.mean, &r.weight, took)
	if told > 0 {
		average(&r.ratio, &r.toldWeight, took-log(told))
	}
}

// average takes a value into a mean whose older values weigh less.
func average(mean, weight *octaves, value octaves) {
	*weight = *weight*forget/octave + octave
	*mean += (value - *mean) * octave / *weight
}
