package history

import (
	"fmt"
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/visible"
)

// A Difference is the first call of a history that a policy answers differently
// from the record.
type Difference struct {
	Recorded Entry
	Got      Entry // the same call, with the policy's answer
}

// Error says where the difference is, and gives both answers.
func (d *Difference) Error() string {
	return fmt.Sprintf("%s:%d: recorded %q, replayed %q", visible.Text(d.Recorded.File), d.Recorded.Line, d.Recorded, d.Got)
}

// Replay makes the calls of a history on p, which must be new, and compares its
// answers with the recorded ones. For an event it compares whether it is accepted,
// and otherwise the name of the error and the fields of a RejectedError. It
// compares decisions completely. Replay returns nil if all answers are equal, a
// [*Difference] for the first one that is not, or the first error of entries.
//
// If the history offers slots that are not free, p panics, as it would in a run:
// see [Check].
func Replay(p sojourn.Policy, entries iter.Seq2[Entry, error]) error {
	for e, err := range entries {
		if err != nil {
			return err
		}
		got := e
		switch e.Kind {
		case Observe:
			got.Err = p.Observe(e.Event)
			if got.Err == nil && e.Err == nil {
				continue
			}
		case Assign:
			got.Assignment, got.OK = p.Assign(e.Slot)
			if got.Assignment == e.Assignment && got.OK == e.OK {
				continue
			}
		default:
			continue
		}
		if got.String() != e.String() {
			return &Difference{Recorded: e, Got: got}
		}
	}
	return nil
}
