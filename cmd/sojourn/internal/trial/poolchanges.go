package trial

import (
	"bufio"
	"fmt"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// readPoolChanges reads how pools change from a history, which has nothing else; name is "" if there is none.
func readPoolChanges(name string) (changes []sojourn.Event, err error) {
	if name == "" {
		return nil, nil
	}
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	last := sojourn.Time(0)
	for e, err := range history.Read(bufio.NewReader(file), name) {
		if err != nil {
			return nil, badHistory(err)
		}
		reason := ""
		switch bad := e.Event.Pool.Check(); {
		case e.Kind == history.Header:
			continue
		case e.Kind != history.Observe || e.Event.Kind != sojourn.PoolChanged || e.Err != nil:
			reason = "want changes of pools alone, such as @10s PoolChanged pool=etl weight=2"
		case bad != nil:
			reason = bad.Error()
		case e.Event.At < last:
			reason = fmt.Sprintf("time goes back from %v to %v", last, e.Event.At)
		}
		if reason != "" {
			return nil, &trace.Error{File: e.File, Line: e.Line, Column: 1, Reason: reason}
		}
		last = e.Event.At
		changes = append(changes, e.Event)
	}
	return changes, nil
}
