package kubernetes

import (
	"fmt"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	"github.com/sojourn-sched/sojourn/driver"
	corev1 "k8s.io/api/core/v1"
)

// When the scheduler says why a pod waits, at the earliest: after firstWord, again after nextWord if
// another reason keeps it waiting, and after sameWord if it is the same one.
const (
	firstWord = 5 * time.Second
	nextWord  = time.Minute
	sameWord  = 20 * time.Minute // the API server forgets events after an hour
)

const (
	pace      = time.Second // between two sweeps
	sweep     = 1000        // the most pods that one sweep looks at
	maxLength = 1000        // bytes of a message; the API server accepts 1,024
)

// Reasons of events that say why a pod waits.
const (
	waits        = "Waiting"      // for its turn
	notScheduled = "NotScheduled" // for something that may never come
)

// listen puts a pod that waits among those of whom the scheduler says why.
func (c *workload) listen(p *pod) {
	if (c.words > 0 || c.marks) && !p.listed {
		p.listed, p.due = true, c.driver.Now().Add(firstWord)
		c.listed = append(c.listed, p)
	}
}

// tell says why pods wait, of as many pods as may get an event in a second, half of them of one job at
// most. It returns how long to wait before the next call.
func (c *core) tell() time.Duration {
	now := c.driver.Time()
	switch left := pace - now.Sub(c.told); {
	case len(c.listed) == 0:
		return driver.Never
	case left > 0:
		return left
	}
	c.told = now
	v := &view{core: c, words: map[*job]int{}}
	for n, left := min(len(c.listed), sweep), c.words; n > 0 && (left > 0 || c.marks); n-- {
		p := c.listed[0]
		c.listed[0], c.listed = nil, c.listed[1:]
		if p.listed = p.state == waiting || p.state == unseen && p.orphan && p.wrong == nil; !p.listed {
			continue
		}
		c.listed = append(c.listed, p)
		if now < p.due {
			continue
		}
		j := c.jobOf(p)
		if c.marks && p.state == waiting && !p.marked {
			p.marked = true
			_, gist, _ := v.why(p, j)
			c.act.unscheduled(p.obj, gist[:min(len(gist), maxLength)])
		}
		if left == 0 || v.words[j] >= (c.words+1)/2 {
			continue
		}
		reason, gist, details := v.why(p, j)
		if gist == p.said && now < p.due.Add(sameWord-nextWord) {
			continue
		}
		v.words[j]++
		left--
		p.said, p.due = gist, now.Add(nextWord)
		text := gist + details
		c.act.tell(p.obj, reason, text[:min(len(text), maxLength)])
	}
	return pace
}

// jobOf returns the job of a pod, nil if it is not known.
func (c *known) jobOf(p *pod) *job {
	if p.task != nil {
		return c.byID[p.task.id.Job]
	}
	if o := batch.Owner(p.obj); o != nil {
		return c.jobs[o.UID]
	}
	return nil
}

// A view is what a sweep has found out so far.
type view struct {
	core  *core
	words map[*job]int           // events of the sweep
	order map[sojourn.JobID]int  // from 1; nil if nobody has asked yet
	slots map[sojourn.Class]load // likewise
}

// A load is how many slots of a class there are, and how many of them are free.
type load struct{ all, free int }

// why says why a pod waits: the gist, and what may change all the time.
func (v *view) why(p *pod, j *job) (reason, gist, details string) {
	switch {
	case p.state == waiting && j != nil:
		gist, details = v.turn(p, j)
		return waits, gist, details
	case j == nil:
		return notScheduled, "the Job of the pod is not one of this scheduler, is gone, or is over", ""
	case j.id == 0:
		return notScheduled, "the Job of the pod was refused: ", j.refusal
	case !indexed(j.obj):
		return notScheduled, fmt.Sprintf("the Job of the pod has %d completions, and each is done or has its pod", j.spec.Phases[0].Tasks), ""
	default:
		return notScheduled, fmt.Sprintf("the index of the pod is %s, and its Job has %d completions",
			p.obj.Annotations[indexAnnotation], j.spec.Phases[0].Tasks), ""
	}
}

// turn says why a pod waits that the policy knows.
func (v *view) turn(p *pod, j *job) (gist, details string) {
	var state string
	var rest []string
	if e, ok := sojourn.As[sojourn.Explainer](v.core.truth); ok {
		if v.order == nil {
			v.order = map[sojourn.JobID]int{}
			for i, id := range e.AppendRanking(nil) {
				v.order[id] = i + 1
			}
		}
		attrs, _ := e.Explain(j.id)
		for _, a := range attrs {
			if a.Key == "why" {
				state = a.Value.String()
			} else {
				rest = append(rest, a.String())
			}
		}
		if at := v.order[j.id]; at > 0 {
			details = fmt.Sprintf(". Job %s is number %d of %d in the order of the policy", j.spec.Name, at, len(v.order))
		}
	}
	var name corev1.ResourceName
	var l load
	if v.core.shapes == nil {
		name, l = v.core.slots[p.class], v.load(p.class)
	}
	switch {
	case j == v.core.gangs.kept:
		gist = "the gang takes each place that comes free until it has all"
		details = fmt.Sprintf(", %d so far", len(v.core.gangs.picks[j])) + details
	case j.gang:
		gist = "the pods of the gang are not all there, or have no place all together"
	case v.core.shapes != nil:
		gist = fmt.Sprintf("no node has room for %v now, or the policy keeps it for others", p.want)
	case l.all == 0:
		gist = fmt.Sprintf("no node that is ready and not cordoned offers %s", name)
	case l.free == 0:
		gist = fmt.Sprintf("all slots of %s are taken", name)
		details = fmt.Sprintf(", %d of them", l.all) + details
	case p.task != nil && p.task.blocked:
		gist = fmt.Sprintf("no free slot of %s is on a node that the pod matches and tolerates", name)
		details = fmt.Sprintf(", %d of %d are free", l.free, l.all) + details
	default:
		gist = fmt.Sprintf("the policy keeps free slots of %s for others, or for later", name)
		details = fmt.Sprintf(", %d of %d", l.free, l.all) + details
	}
	if state != "" && state != "waits for a slot" {
		gist = "the job " + state + "; " + gist
	}
	if len(rest) > 0 {
		details += ": " + strings.Join(rest, " ")
	}
	return gist, details
}

func (v *view) load(class sojourn.Class) load {
	if v.slots == nil {
		v.slots = map[sojourn.Class]load{}
		for _, n := range v.core.nodes { // sums only
			for i, s := range n.classes {
				l := v.slots[sojourn.Class(i)]
				l.all += len(s.slots)
				for _, id := range s.slots {
					if v.core.on[id] == nil {
						l.free++
					}
				}
				v.slots[sojourn.Class(i)] = l
			}
		}
	}
	return v.slots[class]
}

// tell records an event that says why a pod waits.
func (a *api) tell(p *corev1.Pod, reason, message string) {
	a.words.Add(1)
	kind := corev1.EventTypeNormal
	if reason == notScheduled {
		kind = corev1.EventTypeWarning
	}
	a.recorder.Event(p, kind, reason, message)
}
