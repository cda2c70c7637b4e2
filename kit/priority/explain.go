package priority

import (
	"fmt"
	"log/slog"

	"github.com/sojourn-sched/sojourn"
)

// An explainer ranks the greater priorities first, and within one as its policy does.
type explainer struct{ p *policy }

func (e explainer) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	for _, l := range e.p.levels {
		in, _ := sojourn.As[sojourn.Explainer](l.in.Policy)
		dst = in.AppendRanking(dst)
	}
	return dst
}

// Explain answers as the policy of the job's priority, with its rank among all jobs. Its keys are those of that policy and
//
//	key       unit  meaning
//	priority        [sojourn.Job.Priority]
//	higher    jobs  live jobs of greater priorities
func (e explainer) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := e.p.ledger.Job(id)
	if j == nil {
		return nil, false
	}
	in, _ := sojourn.As[sojourn.Explainer](j.Data.level.in.Policy)
	attrs, ok := in.Explain(id)
	if !ok {
		return attrs, false
	}
	higher, ranked := 0, 0
	for _, l := range e.p.levels {
		if l == j.Data.level {
			break
		}
		higher += l.jobs
		other, _ := sojourn.As[sojourn.Explainer](l.in.Policy)
		ranked += len(other.AppendRanking(nil))
	}
	var first *level // that is offered slots before it is
	for i := range j.NumSides() {
		if side := j.Side(i); first == nil && side.Startable() > 0 {
			if list := e.p.offers(side.Class()); len(list) > 0 && list[0] != j.Data.level {
				first = list[0]
			}
		}
	}
	for i := range attrs {
		switch a := &attrs[i]; {
		case a.Key == "why" && first != nil && a.Value.String() == "waits for a slot":
			a.Value = slog.StringValue(fmt.Sprintf("waits for a slot: jobs of priority %d come first", first.priority))
		case a.Key == "rank" && a.Value.Kind() == slog.KindInt64 && a.Value.Int64() >= 0:
			a.Value = slog.Int64Value(a.Value.Int64() + int64(ranked))
		}
	}
	return append(attrs, slog.Int("priority", int(j.Data.level.priority)), slog.Int("higher", higher)), true
}

// A promiser lists what the policies of all priorities do.
type promiser struct{ p *policy }

func (a promiser) AppendVoid(dst []sojourn.JobID) []sojourn.JobID {
	for _, l := range a.p.levels {
		in, _ := sojourn.As[sojourn.Promiser](l.in.Policy)
		dst = in.AppendVoid(dst)
	}
	return dst
}

func (a promiser) Void(id sojourn.JobID) (why string, ok bool) {
	j := a.p.ledger.Job(id)
	if j == nil {
		return "", false
	}
	in, _ := sojourn.As[sojourn.Promiser](j.Data.level.in.Policy)
	return in.Void(id)
}
