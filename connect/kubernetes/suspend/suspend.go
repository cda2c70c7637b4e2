package suspend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	clients "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

const prefix = "sojourn-sched.github.io/"

// Managed is the label, with the value "true", of the Jobs that get turns, by default.
const Managed = prefix + "managed"

// Annotations of managed Jobs.
const (
	Parallelism = prefix + "parallelism" // the most pods at a time; spec.parallelism at first by default
	Granted     = prefix + "granted"     // written: how many pods the Job may run now
)

// A Config says which Jobs get turns, and how. Client and Policy are needed.
type Config struct {
	// Client reaches the API server. Set its QPS: the default of client-go is 5 requests a second.
	Client clients.Interface

	// Policy decides. It is new, and belongs to the Controller.
	Policy sojourn.Policy

	// Slots is how many pods of all these Jobs may run at a time, from 1 to 2^20. With zero their room counts: what Nodes or
	// Quota say.
	Slots int

	// Nodes selects nodes by their labels. What they offer, less what other pods on them request, is the room of all these Jobs
	// (TestRoomOfNodes), as far as they tolerate the taints (TestRoomOfTaintedNodes). Empty means all nodes, unless Slots or Quota say otherwise.
	Nodes string

	// Quota is the namespace and the name of a ResourceQuota, as a/b. What it allows, less what other pods of its namespace request,
	// is the room of all these Jobs, which Namespace then restricts to it (TestRoomOfQuota).
	Quota string

	// Name is the source of events. Empty means "sojourn-jobs".
	Name string

	// Namespace restricts Jobs to one namespace. Empty means all.
	Namespace string

	// Jobs selects Jobs by their labels. Empty means Managed with the value "true".
	Jobs string

	// Limits bound what annotations say.
	Limits kubernetes.Limits

	// Workers is how many requests are under way at a time. Zero means 8.
	Workers int

	// Lease, unless nil, elects one of several controllers.
	Lease *kubernetes.Lease
}

// withDefaults returns the first thing that is wrong, or the configuration with its defaults filled in.
func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Client == nil:
		return c, errors.New("suspend: Config.Client is nil")
	case c.Policy == nil:
		return c, errors.New("suspend: Config.Policy is nil")
	case c.Slots < 0 || c.Slots > 1<<20:
		return c, fmt.Errorf("suspend: Config.Slots is %d; want 0 to %d", c.Slots, 1<<20)
	case c.Slots > 0 && c.Nodes+c.Quota != "" || c.Nodes != "" && c.Quota != "":
		return c, errors.New("suspend: Config has more than one of Slots, Nodes and Quota")
	case c.Workers < 0:
		return c, fmt.Errorf("suspend: Config.Workers is %d", c.Workers)
	case c.Lease != nil && (c.Lease.Namespace == "" || c.Lease.Name == "" || c.Lease.Identity == ""):
		return c, errors.New("suspend: Config.Lease needs a namespace, a name and an identity")
	}
	if c.Name == "" {
		c.Name = "sojourn-jobs"
	}
	if c.Jobs == "" {
		c.Jobs = Managed + "=true"
	}
	if c.Workers == 0 {
		c.Workers = 8
	}
	if _, err := labels.Parse(c.Jobs); err != nil {
		return c, fmt.Errorf("suspend: Config.Jobs: %w", err)
	}
	if _, err := labels.Parse(c.Nodes); err != nil {
		return c, fmt.Errorf("suspend: Config.Nodes: %w", err)
	}
	if c.Quota != "" {
		space, name, _ := strings.Cut(c.Quota, "/")
		if space == "" || name == "" || c.Namespace != "" && c.Namespace != space {
			return c, fmt.Errorf("suspend: Config.Quota is %q: want the namespace and the name of a ResourceQuota, as a/b, and no other Namespace", c.Quota)
		}
		c.Namespace = space
	}
	return c, nil
}

// A Controller gives Jobs turns in the order of a policy. New makes it.
type Controller struct {
	config Config
	core   *core
	writer *writer
	ran    atomic.Bool
	ready  atomic.Bool
	pulse  kubernetes.Pulse

	mu     sync.Mutex
	events []func()
	wake   chan struct{} // has an element if events is not empty

	jobs, grants, taken, slots atomic.Int64
}

// New returns a controller, or says what is wrong with the configuration.
func New(c Config) (*Controller, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Controller{config: c, wake: make(chan struct{}, 1)}
	s.writer = newWriter(c.Client)
	base := time.Now()
	s.core, err = newCore(c, s.writer, func() sojourn.Time {
		return kubernetes.Time(base) + sojourn.Time(time.Since(base)) // by the monotonic clock
	})
	if err != nil {
		return nil, fmt.Errorf("suspend: %w", err)
	}
	s.writer.answer = func(k key, w *writing, o *batchv1.Job) { s.put(func() { s.core.written(k.uid, w, o) }) }
	return s, nil
}

// Run gives turns until ctx ends, and returns its error then. With a Lease it first waits until it is elected,
// and returns an error when it is no longer: start the process anew. It may be called once.
func (s *Controller) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		return errors.New("suspend: Run was called before")
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typed.EventSinkImpl{Interface: s.config.Client.CoreV1().Events("")})
	s.writer.recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: s.config.Name})
	if s.config.Lease == nil {
		return s.lead(ctx)
	}
	return s.config.Lease.Hold(ctx, s.config.Client, s.lead)
}

func (s *Controller) put(f func()) {
	s.mu.Lock()
	s.events = append(s.events, f)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// lead gives turns until ctx ends and the requests under way were answered.
func (s *Controller) lead(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.ready.Store(false)
	defer s.pulse.Wait()
	list, err := s.watch(ctx)
	if err != nil {
		return err
	}
	defer s.writer.run(ctx, s.config.Workers)()
	defer cancel()
	s.core.restore(list)
	s.ready.Store(true)
	timer := time.NewTimer(0)
	for {
		s.pulse.Work()
		s.mu.Lock()
		events := s.events
		s.events = nil
		s.mu.Unlock()
		for _, f := range events {
			f()
		}
		sleep, err := s.core.settle()
		if err != nil {
			return fmt.Errorf("suspend: %w", err)
		}
		s.jobs.Store(int64(s.core.truth.Live()))
		s.grants.Store(int64(len(s.core.on)))
		s.taken.Store(int64(s.core.taken))
		s.slots.Store(int64(s.core.slots))
		timer.Reset(sleep)
		s.pulse.Wait()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake:
		case <-timer.C:
		}
	}
}

// watch starts the informers, and returns the Jobs that are there.
func (s *Controller) watch(ctx context.Context) ([]*batchv1.Job, error) {
	if s.core.room != nil {
		if err := s.watchRoom(ctx); err != nil {
			return nil, err
		}
	}
	in := informers.NewSharedInformerFactoryWithOptions(s.config.Client, 0, informers.WithNamespace(s.config.Namespace),
		informers.WithTransform(strip), selected(s.config.Jobs, "")).Batch().V1().Jobs().Informer()
	go in.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), in.HasSynced) {
		return nil, ctx.Err()
	}
	var list []*batchv1.Job
	for _, o := range in.GetStore().List() {
		list = append(list, o.(*batchv1.Job))
	}
	// The handler hears of them all again, which changes nothing.
	_, err := on(s, in, s.core.job, func(o *batchv1.Job) { s.core.gone(o.UID) })
	return list, err
}

// watchRoom starts the informers of what the room is made of, and returns when the loop will hear of all that is there.
func (s *Controller) watchRoom(ctx context.Context) error {
	factory := func(space, labels, fields string) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(s.config.Client, 0, informers.WithNamespace(space), informers.WithTransform(strip), selected(labels, fields))
	}
	c := s.core
	space, name, quota := strings.Cut(s.config.Quota, "/")
	of := factory("", s.config.Nodes, "").Core().V1().Nodes().Informer()
	heard, err := on(s, of, c.node, c.nodeGone)
	if quota {
		of = factory(space, "", "metadata.name="+name).Core().V1().ResourceQuotas().Informer()
		heard, err = on(s, of, c.allow, c.quotaGone)
	}
	pods := factory(space, "", "status.phase!=Succeeded,status.phase!=Failed").Core().V1().Pods().Informer()
	all, err2 := on(s, pods, c.pod, c.podGone)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	go of.RunWithContext(ctx)
	go pods.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), heard, all) {
		return ctx.Err()
	}
	return nil
}

// selected restricts what is asked for.
func selected(labels, fields string) informers.SharedInformerOption {
	return informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector, o.FieldSelector = labels, fields })
}

// on has the loop hear of objects, and returns what tells whether it has heard of all that were there.
func on[T any](s *Controller, in cache.SharedIndexInformer, seen, gone func(T)) (cache.InformerSynced, error) {
	r, err := in.AddEventHandler(batch.Handler(s.put, seen, gone))
	if err != nil {
		return nil, err
	}
	return r.HasSynced, nil
}

// strip drops what takes much memory and is not looked at.
func strip(o any) (any, error) {
	switch o := o.(type) {
	case *batchv1.Job:
		o.ManagedFields = nil
		tolerations := o.Spec.Template.Spec.Tolerations
		o.Spec.Template = corev1.PodTemplateSpec{Spec: bare(&o.Spec.Template.Spec)}
		o.Spec.Template.Spec.Tolerations = tolerations
	case *corev1.Pod:
		o.ManagedFields, o.Annotations, o.Labels, o.Spec = nil, nil, nil, bare(&o.Spec)
	case *corev1.Node:
		o.ManagedFields, o.Annotations, o.Status.Images = nil, nil, nil
	}
	return o, nil
}

// bare returns what a pod requests, and where it is.
func bare(s *corev1.PodSpec) corev1.PodSpec {
	requests := func(list []corev1.Container) (bare []corev1.Container) {
		for _, c := range list {
			bare = append(bare, corev1.Container{Name: c.Name, Resources: c.Resources, RestartPolicy: c.RestartPolicy})
		}
		return bare
	}
	return corev1.PodSpec{NodeName: s.NodeName, Overhead: s.Overhead, Resources: s.Resources, Containers: requests(s.Containers), InitContainers: requests(s.InitContainers)}
}

// Handler answers /metrics in the text format of Prometheus, /healthz while the loop does not hang, and /readyz while
// this controller leads or waits to be elected.
func (s *Controller) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", &s.pulse)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready.Load() && (s.config.Lease == nil || !s.ran.Load()) {
			http.Error(w, "not all Jobs are known yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		leading := int64(0)
		if s.ready.Load() {
			leading = 1
		}
		for _, m := range []struct {
			name, kind, help string
			value            int64
		}{
			{"leading", "gauge", "1 while this controller gives turns.", leading},
			{"live", "gauge", "Live Jobs that the policy knows.", s.jobs.Load()},
			{"slots", "gauge", "Slots that the policy has: pods that may run at a time, if their number is given.", s.slots.Load()},
			{"granted", "gauge", "Pods that the policy lets run.", s.grants.Load()},
			{"occupied", "gauge", "Pods that may run now, those that still terminate included.", s.taken.Load()},
			{"patches_total", "counter", "Changes of Jobs.", s.writer.patches.Load()},
			{"patches_refused_total", "counter", "Changes of Jobs that the API server has refused.", s.writer.refused.Load()},
			{"warnings_total", "counter", "Warning events.", s.writer.warnings.Load()},
		} {
			fmt.Fprintf(w, "# HELP sojourn_jobs_%s %s\n# TYPE sojourn_jobs_%s %s\nsojourn_jobs_%s %d\n", m.name, m.help, m.name, m.kind, m.name, m.value)
		}
	})
	return mux
}
