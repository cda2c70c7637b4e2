package suspend

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clients "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
)

const (
	minRetry = 100 * time.Millisecond
	maxRetry = 5 * time.Second
	patience = 3 * time.Second // how long requests under way may take after the end
)

// A key names what is written: a Job, or its status.
type key struct {
	uid    types.UID
	status bool
}

// A note is what is to be written next.
type note struct {
	job     *batchv1.Job
	writing *writing
	patch   []byte
}

// A writer is the actuator that asks the API server. One request about a key is under way at a time, and the
// last note counts.
type writer struct {
	client   clients.Interface
	recorder record.EventRecorder
	queue    workqueue.TypedRateLimitingInterface[key]
	answer   func(key, *writing, *batchv1.Job)
	ctx      context.Context

	mu    sync.Mutex
	notes map[key]note

	patches, refused, warnings atomic.Int64
}

func newWriter(client clients.Interface) *writer {
	return &writer{client: client, notes: map[key]note{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[key](minRetry, maxRetry))}
}

// run makes requests until ctx ends. The function that it returns waits for those under way.
func (w *writer) run(ctx context.Context, workers int) (wait func()) {
	requests, abort := context.WithCancel(context.WithoutCancel(ctx))
	w.ctx = requests
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				k, shut := w.queue.Get()
				if shut {
					return
				}
				w.next(k)
				w.queue.Done(k)
			}
		})
	}
	return func() {
		<-ctx.Done()
		w.queue.ShutDown()
		defer abort()
		defer time.AfterFunc(patience, abort).Stop()
		group.Wait()
	}
}

// next writes what is to be written for a key. Without an answer, it is tried again.
func (w *writer) next(k key) {
	w.mu.Lock()
	n, ok := w.notes[k]
	delete(w.notes, k)
	w.mu.Unlock()
	if !ok {
		return
	}
	var sub []string
	if k.status {
		sub = append(sub, "status")
	}
	var o *batchv1.Job
	patch := func() (err error) {
		o, err = w.client.BatchV1().Jobs(n.job.Namespace).Patch(w.ctx, n.job.Name, types.StrategicMergePatchType, n.patch, metav1.PatchOptions{}, sub...)
		return err
	}
	err := patch()
	if k.status && apierrors.IsConflict(err) { // many write a status, or the Job is another one by now
		err = retry.RetryOnConflict(retry.DefaultRetry, patch)
	}
	switch {
	case err == nil:
		w.queue.Forget(k)
		_, _ = strip(o)
		if !k.status {
			w.patches.Add(1)
			w.answer(k, n.writing, o)
		}
	case batch.Definite(err):
		w.queue.Forget(k)
		w.refused.Add(1)
		if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // the Job is gone: the informer tells
			w.warn(n.job, "NotWritten", err.Error())
		}
		if !k.status {
			w.answer(k, n.writing, nil)
		}
	default:
		w.mu.Lock()
		if _, newer := w.notes[k]; !newer {
			w.notes[k] = n
		}
		w.mu.Unlock()
		w.queue.AddRateLimited(k)
	}
}

func (w *writer) put(k key, n note, later bool) {
	w.mu.Lock()
	w.notes[k] = n
	w.mu.Unlock()
	if later {
		w.queue.AddAfter(k, maxRetry)
	} else {
		w.queue.Add(k)
	}
}

func (w *writer) write(o *batchv1.Job, what *writing, later bool) {
	spec := map[string]any{}
	if !what.keep {
		spec["suspend"] = what.width == 0
	}
	if what.width > 0 {
		spec["parallelism"] = what.width
	}
	w.put(key{uid: o.UID}, note{o, what, batch.Patch(map[string]any{
		"metadata": map[string]any{"uid": o.UID, "annotations": map[string]string{
			kubernetes.Admitted: what.admitted, Parallelism: strconv.Itoa(what.parallelism), Granted: strconv.Itoa(what.width)}},
		"spec": spec,
	})}, later)
}

func (w *writer) condition(o *batchv1.Job, refused bool, message string) {
	now := metav1.Now()
	c := batchv1.JobCondition{Type: kubernetes.Rejected, Status: corev1.ConditionFalse, Reason: "Admitted", Message: message, LastProbeTime: now, LastTransitionTime: now}
	if refused {
		c.Status, c.Reason = corev1.ConditionTrue, "AdmissionRejected"
	}
	w.put(key{o.UID, true}, note{job: o, patch: batch.Patch(map[string]any{
		"metadata": map[string]any{"uid": o.UID},
		"status":   map[string]any{"conditions": []batchv1.JobCondition{c}},
	})}, false)
}

func (w *writer) warn(o *batchv1.Job, reason, message string) {
	w.warnings.Add(1)
	if w.recorder != nil {
		w.recorder.Event(o, corev1.EventTypeWarning, reason, message)
	}
}
