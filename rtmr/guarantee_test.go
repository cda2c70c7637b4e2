package rtmr

import (
	"flag"
	"testing"
)

// jobs is the number of jobs that the guarantee is tested with, in each variant. The full
// number is a million: go test ./rtmr -run Guarantee -rtmr.jobs=1000000 -timeout 0
var jobs = flag.Int("rtmr.jobs", 3000/share, "simulated jobs for each variant of the guarantee")

// variants are those for which the guarantee is claimed.
func variants() []variant {
	chain := Options{Booking: Chain}
	paper := Options{Booking: Chain, OnePosition: true}
	feedback := func(o Options) Options { o.Feedback = true; return o }
	return []variant{
		{name: "rebook, random"},
		{name: "rebook, exact", exact: true},
		{name: "rebook, zero", zeros: true},
		{name: "rebook, big", big: true},
		{name: "rebook, big zero", big: true, zeros: true},
		{name: "rebook, retest", retest: true, zeros: true},
		{name: "rebook, one position", opts: Options{OnePosition: true}},
		{name: "rebook, fifo", opts: Options{Order: FIFO}, zeros: true},
		{name: "rebook, heartbeat padded", beat: 5, pad: 5, zeros: true},
		{name: "rebook, bounded", bound: true},
		{name: "rebook, bounded exact", bound: true, exact: true},
		{name: "rebook, bounded big zero", bound: true, big: true, zeros: true},
		{name: "rebook, bounded retest", bound: true, retest: true, zeros: true},
		{name: "rebook, bounded one position", bound: true, opts: Options{OnePosition: true}},
		{name: "rebook, bounded fifo", bound: true, opts: Options{Order: FIFO}, zeros: true},
		{name: "rebook, bounded heartbeat padded", bound: true, beat: 5, pad: 5, zeros: true},
		{name: "chain, random", opts: paper},
		{name: "chain, exact", opts: paper, exact: true},
		{name: "chain, zero", opts: paper, zeros: true},
		{name: "chain, big", opts: paper, big: true},
		{name: "chain, all positions", opts: chain, zeros: true},
		{name: "chain, fifo", opts: Options{Booking: Chain, Order: FIFO}, zeros: true},
		{name: "chain, feedback", opts: feedback(paper)},
		{name: "chain, feedback zero", opts: feedback(chain), zeros: true},
		{name: "chain, feedback big", opts: feedback(paper), big: true},
		{name: "chain, feedback exact", opts: feedback(paper), exact: true},
		{name: "chain, feedback fifo", opts: Options{Booking: Chain, Order: FIFO, Feedback: true}},
		{name: "chain, feedback delta", opts: Options{Booking: Chain, OnePosition: true, Feedback: true, Delta: 2}, big: true},
		{name: "chain, retest", opts: feedback(chain), retest: true},
		{name: "chain, heartbeat padded", opts: feedback(paper), beat: 5, pad: 5},
	}
}

// No accepted job misses its deadline.
//
// Reference: Appendix, Proof-1 to Proof-4; doc.go, Theorem.
func TestGuarantee(t *testing.T) {
	for i, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			got, _ := v.simulate(uint64(i)<<40, *jobs, nil)
			if got.missed > 0 {
				t.Errorf("%s: %v", v.name, got)
			}
			t.Log(got)
		})
	}
}

// If a hypothesis does not hold, or with the paper's own mistake, accepted jobs are late.
// So the simulation can fail.
func TestLate(t *testing.T) {
	paper := Options{Booking: Chain, OnePosition: true}
	for i, v := range []variant{
		{name: "the paper's >", opts: Options{Booking: Chain, OnePosition: true, PaperReservation: true}, exact: true},
		{name: "the paper's > with rebook", opts: Options{PaperReservation: true}, exact: true},
		{name: "heartbeat not padded", opts: paper, beat: 5},
		{name: "heartbeat not padded with rebook", beat: 5},
		{name: "estimates exceeded", opts: paper, over: 5},
		{name: "estimates exceeded with rebook", over: 5},
	} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			v.misses(t, uint64(i)<<40)
		})
	}
}

// misses fails unless an accepted job misses its deadline, in worlds from a seed on.
func (v *variant) misses(t *testing.T, seed uint64) {
	t.Helper()
	var got tally
	for ; got.missed == 0 && got.jobs < 2_000_000; seed += 1 << 20 {
		more, _ := v.simulate(seed, 2000, nil)
		got.jobs += more.jobs
		got.accepted += more.accepted
		got.missed += more.missed
	}
	if got.missed == 0 {
		t.Errorf("%s: %v; the mistake was not noticed", v.name, got)
	}
	t.Log(got)
}
