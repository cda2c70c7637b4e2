package release

import (
	"fmt"
	"log/slog"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// An explainer ranks the jobs that wait behind the others, and says what they wait for.
type explainer struct{ p *policy }

// AppendRanking ranks the jobs that wait, by release time, behind the others.
func (e explainer) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	in, _ := sojourn.As[sojourn.Explainer](e.p.in.Policy)
	dst = in.AppendRanking(dst)
	for _, j := range e.p.waiting() {
		dst = append(dst, j.Spec().ID)
	}
	return dst
}

// Explain answers for the jobs that wait. Its keys are those of [ledger.Ledger.Attrs].
func (e explainer) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := e.p.ledger.Job(id)
	if j == nil || j.Data.released {
		in, _ := sojourn.As[sojourn.Explainer](e.p.in.Policy)
		return in.Explain(id)
	}
	attrs := e.p.ledger.Attrs(j)
	startable := int64(0)
	for i := range attrs {
		switch a := &attrs[i]; a.Key {
		case "why":
			a.Value = slog.StringValue(e.p.why(j))
		case "startable":
			startable = a.Value.Int64()
			a.Value = slog.IntValue(0)
		case "blocked":
			a.Value = slog.Int64Value(a.Value.Int64() + startable)
		}
	}
	return attrs, true
}

// why says what a job waits for.
func (p *policy) why(j *ledger.Job[job]) string {
	if b := j.Data.before; b != nil {
		return fmt.Sprintf("waits for job %d, the one before it in sequence %q", b.Spec().ID, j.Spec().Sequence)
	}
	if c := j.Data.crowd; c != nil {
		return fmt.Sprintf("waits until fewer than %d jobs of %q are released", c.at.max, c.at.key.of)
	}
	if j.Spec().Release <= p.ledger.Now() {
		return "waits for the next event, since the limits have changed"
	}
	return fmt.Sprintf("waits for its release time, in %v", j.Spec().Release.Sub(p.ledger.Now()))
}
