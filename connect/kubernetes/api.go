package kubernetes

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	conflict "k8s.io/client-go/util/retry"
)

// retry is how long to wait before a request that failed is repeated. The wait doubles up to maxRetry
// while no answer comes.
const (
	retry    = 100 * time.Millisecond
	maxRetry = 5 * time.Second
)

// A mailbox is a list of closures, for one taker of all or for several takers of one.
type mailbox struct {
	mu   sync.Mutex
	list []func()
	wake chan struct{} // has an element if list is not empty
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

func (m *mailbox) signal() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *mailbox) put(f func()) {
	m.mu.Lock()
	m.list = append(m.list, f)
	m.mu.Unlock()
	m.signal()
}

// all takes everything.
func (m *mailbox) all() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.list
	m.list = nil
	return list
}

// one takes the first, nil if there is none.
func (m *mailbox) one() func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.list) == 0 {
		return nil
	}
	f := m.list[0]
	m.list[0], m.list = nil, m.list[1:]
	if len(m.list) > 0 {
		m.signal()
	}
	return f
}

// An api is the actuator that asks the API server.
type api struct {
	client   kubernetes.Interface
	recorder record.EventRecorder
	queue    *mailbox // of requests, for the workers
	loop     *mailbox
	core     *core // to be touched in the loop only
	ctx      context.Context

	mu         sync.Mutex
	answers    histogram            // how long binds took
	conditions map[types.UID][]byte // the patches that are to be written, by Job: the last one counts

	binds, refused, evictions, admissions, rejections, warnings, words atomic.Int64
}

// work makes requests until ctx ends.
func (a *api) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.queue.wake:
		}
		for f := a.queue.one(); f != nil && ctx.Err() == nil; f = a.queue.one() {
			f()
		}
	}
}

// patient is the wait before a repetition at which a request has failed so often that its object gets an
// event. It gets no more of them.
const patient = 8 * retry

// persist makes a request in a worker, and hands its answer to answered: nil, or an error if the answer
// was no. While there is no answer, it repeats the request after a wait, in which no worker is kept.
func (a *api) persist(o runtime.Object, request func() error, answered func(error)) {
	a.persistAfter(retry, o, request, answered)
}

// persistAfter is persist with the wait before the first repetition.
func (a *api) persistAfter(wait time.Duration, o runtime.Object, request func() error, answered func(error)) {
	a.queue.put(func() {
		err := request()
		switch {
		case err == nil || batch.Definite(err):
			answered(err)
		case a.ctx.Err() == nil: // otherwise nobody knows what became of it; who comes next looks
			if wait == patient {
				a.warn(o, "NoAnswer", "the request is repeated: "+err.Error())
			}
			time.AfterFunc(wait, func() { a.persistAfter(min(2*wait, maxRetry), o, request, answered) })
		}
	})
}

func (a *api) bind(p *corev1.Pod, node string, attempt uint32) {
	b := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: p.UID, Annotations: map[string]string{Attempt: strconv.FormatUint(uint64(attempt), 10)}},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	a.place(p, attempt, func() error {
		return a.client.CoreV1().Pods(b.Namespace).Bind(a.ctx, b, metav1.CreateOptions{})
	})
}

// place makes a request that binds a pod, and tells the core if it was refused.
func (a *api) place(p *corev1.Pod, attempt uint32, try func() error) {
	var seen *corev1.Pod // after a conflict
	request := func() (err error) {
		start := time.Now()
		defer func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.answers.add(time.Since(start))
		}()
		if err = try(); apierrors.IsConflict(err) {
			seen, err = a.conflict(p, err)
		}
		return err
	}
	a.persist(p, request, func(err error) {
		if err == nil {
			a.binds.Add(1)
			return
		}
		a.refused.Add(1)
		gone := apierrors.IsNotFound(err)
		a.loop.put(func() {
			if wait := a.core.bindFailed(p.UID, attempt, gone, seen); wait > 0 {
				if wait < maxRetry {
					a.warn(p, "BindRefused", err.Error())
				}
				time.AfterFunc(wait, func() { a.loop.put(func() { a.core.again(p.UID) }) })
			}
		})
	})
}

// conflict reads a pod whose bind was answered with a conflict, which is also the API server's word for
// errors that it does not know. The error is NotFound if the pod is gone, and not definite if the pod
// could not be read.
func (a *api) conflict(p *corev1.Pod, err error) (*corev1.Pod, error) {
	seen, failed := a.client.CoreV1().Pods(p.Namespace).Get(a.ctx, p.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(failed):
		return nil, failed
	case failed != nil:
		return nil, fmt.Errorf("%v; then: %v", err, failed)
	case seen.UID != p.UID:
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), p.Name)
	}
	_, _ = strip(seen)
	return seen, err
}

func (a *api) evict(p *corev1.Pod, attempt uint32) {
	e := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(p.UID))},
	}
	a.queue.put(func() {
		err := a.client.CoreV1().Pods(p.Namespace).EvictV1(a.ctx, e)
		switch {
		case err == nil:
			a.evictions.Add(1)
		case !batch.Definite(err) && a.ctx.Err() == nil: // a disruption budget says later, or the answer was lost
			time.AfterFunc(time.Second, func() { a.loop.put(func() { a.core.evictAgain(p.UID, attempt) }) })
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			a.warn(p, "EvictionRefused", err.Error())
			a.loop.put(func() { a.core.spared(p.UID, attempt) })
		}
	})
}

func (a *api) admit(o *batchv1.Job) {
	patch := batch.Patch(map[string]any{
		"metadata": map[string]any{"uid": o.UID, "annotations": map[string]string{Admitted: time.Now().UTC().Format(time.RFC3339)}},
		"spec":     map[string]any{"suspend": false},
	})
	a.patch(o, patch, "NotResumed", func(err error) {
		if err == nil {
			a.admissions.Add(1)
		}
	})
}

func (a *api) reject(o *batchv1.Job, message string, again bool) {
	if !again {
		a.rejections.Add(1)
		a.warn(o, "AdmissionRejected", message)
	}
	a.condition(o, corev1.ConditionTrue, "AdmissionRejected", message)
}

func (a *api) accept(o *batchv1.Job) {
	a.condition(o, corev1.ConditionFalse, "Admitted", "the job was accepted after all")
}

// unplaceable says that no node would take a pod.
func (a *api) unplaceable(p *corev1.Pod, message string) {
	a.warn(p, "FailedScheduling", message)
	a.unscheduled(p, message)
}

// unscheduled writes the condition PodScheduled of a pod that has no place. The API server makes it true when the pod is bound.
func (a *api) unscheduled(p *corev1.Pod, message string) {
	patch := batch.Patch(map[string]any{
		"metadata": map[string]any{"uid": p.UID},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message, LastTransitionTime: metav1.Now(),
		}}},
	})
	request := func() error {
		_, err := a.client.CoreV1().Pods(p.Namespace).Patch(a.ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	}
	a.persist(p, request, func(err error) {
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			a.warn(p, "NoCondition", err.Error())
		}
	})
}

// condition writes the condition Rejected of a Job. Of several the last one is written last.
func (a *api) condition(o *batchv1.Job, status corev1.ConditionStatus, reason, message string) {
	now := metav1.Now()
	patch := batch.Patch(map[string]any{
		"metadata": map[string]any{"uid": o.UID},
		"status": map[string]any{"conditions": []batchv1.JobCondition{{
			Type: Rejected, Status: status, Reason: reason, Message: message, LastProbeTime: now, LastTransitionTime: now,
		}}},
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conditions == nil {
		a.conditions = map[types.UID][]byte{}
	}
	if _, busy := a.conditions[o.UID]; !busy {
		a.write(o, patch)
	}
	a.conditions[o.UID] = patch
}

// write writes a patch of conditions, and then the one that has come since, if there is one.
func (a *api) write(o *batchv1.Job, patch []byte) {
	a.patch(o, patch, "NoCondition", func(error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if next := a.conditions[o.UID]; !bytes.Equal(next, patch) {
			a.write(o, next)
			return
		}
		delete(a.conditions, o.UID)
	}, "status")
}

// patch changes a Job, and then calls done. If the API server refuses, an event of that reason says so.
func (a *api) patch(o *batchv1.Job, patch []byte, reason string, done func(error), subresources ...string) {
	request := func() error {
		return conflict.RetryOnConflict(conflict.DefaultRetry, func() error { // many writers, or the Job is another one by now
			_, err := a.client.BatchV1().Jobs(o.Namespace).Patch(a.ctx, o.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, subresources...)
			return err
		})
	}
	a.persist(o, request, func(err error) {
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			a.warn(o, reason, err.Error())
		}
		done(err)
	})
}

func (a *api) warn(o runtime.Object, reason, message string) {
	a.warnings.Add(1)
	if a.recorder != nil {
		a.recorder.Event(o, corev1.EventTypeWarning, reason, message)
	}
}
