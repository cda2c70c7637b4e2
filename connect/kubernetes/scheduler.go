package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

// A Scheduler binds pods in the order of a policy. New makes it.
type Scheduler struct {
	config Config
	core   *core
	events *mailbox // for the loop
	api    *api
	ran    atomic.Bool
	ready  atomic.Bool
	pulse  Pulse

	rounds, pods, jobs, nodes, busy atomic.Int64 // busy is in nanoseconds
}

// New returns a scheduler, or says what is wrong with the configuration.
func New(c Config) (*Scheduler, error) {
	c, selector, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Scheduler{config: c, events: newMailbox()}
	s.api = &api{client: c.Client, queue: newMailbox(), loop: s.events}
	base := time.Now()
	s.core, err = newCore(c, selector, s.api, func() sojourn.Time {
		return sojourn.Time(base.Sub(epoch) + time.Since(base)) // by the monotonic clock
	})
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	s.api.core = s.core
	return s, nil
}

// Run schedules until ctx ends, and returns its error then, after the requests under way were answered.
// With a Lease it first waits until it is elected, and returns an error when it is no longer: start the
// process anew. It may be called once.
func (s *Scheduler) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		return errors.New("kubernetes: Run was called before")
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typed.EventSinkImpl{Interface: s.config.Client.CoreV1().Events("")})
	s.api.recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: s.config.Name})
	if s.config.Lease == nil {
		return s.lead(ctx)
	}
	return s.config.Lease.Hold(ctx, s.config.Client, s.lead)
}

// Times of a Lease. Who cannot renew it knows that leaseTime-renewTime before anybody else can take it.
const (
	leaseTime = 15 * time.Second
	renewTime = 8 * time.Second
	patience  = 3 * time.Second // how long requests under way may take after the end
)

// Hold waits until the identity of the Lease is elected, and calls lead, whose context ends when it is no
// longer. It returns when lead does, and gives the Lease back. If the election was lost, it returns an error.
// Scheduler.Run does this itself; Hold is for other programs, such as package suspend.
func (lease *Lease) Hold(ctx context.Context, client kubernetes.Interface, lead func(context.Context) error) error {
	// The elector's own ReleaseOnCancel would give the Lease back earlier: it ends the context of who leads
	// only after it has given it back, or has failed to for as long as it tries to renew.
	candidate, retire := context.WithCancel(context.WithoutCancel(ctx))
	defer retire()
	elected := make(chan context.Context, 1)
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: lease.Identity},
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseTime, RenewDeadline: renewTime, RetryPeriod: 2 * time.Second, Name: lease.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { elected <- leading },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("kubernetes: %w", err)
	}
	done := make(chan error, 1)
	go func() {
		defer retire()
		select {
		case <-ctx.Done():
			done <- ctx.Err()
		case leading := <-elected:
			done <- leadWhile(ctx, leading, lead)
		}
	}()
	elector.Run(candidate)
	err = <-done
	release(lock)
	return err
}

// release gives a Lease back, if it is still ours. Otherwise it ends by itself.
func release(lock *resourcelock.LeaseLock) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	record, _, err := lock.Get(ctx)
	if err != nil || record.HolderIdentity != lock.Identity() {
		return
	}
	now := metav1.Now()
	record.HolderIdentity, record.LeaseDurationSeconds, record.AcquireTime, record.RenewTime = "", 1, now, now
	_ = lock.Update(ctx, *record) // of the version that was read
}

// leadWhile leads until ctx ends, or leading, which is an error of its own.
func leadWhile(ctx, leading context.Context, lead func(context.Context) error) error {
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(leading, cancel)()
	err := lead(both)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return errors.New("kubernetes: leadership is lost")
	}
	return err
}

// lead schedules until ctx ends and the requests under way were answered.
func (s *Scheduler) lead(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.ready.Store(false)
	running, err := s.watch(ctx)
	if err != nil {
		return err
	}
	requests, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	s.api.ctx = requests
	var workers sync.WaitGroup
	for range s.config.Workers {
		workers.Go(func() { s.api.work(ctx) })
	}
	defer func() {
		cancel()
		defer time.AfterFunc(patience, abort).Stop()
		workers.Wait()
	}()
	// Nodes are in, then Jobs, then pods that run or have ended, then those that wait: no slot may be
	// offered before the policy knows what runs.
	s.pulse.Work()
	defer s.pulse.Wait()
	s.core.restoring = true
	s.round()
	for _, p := range running {
		if p.Spec.NodeName != "" {
			s.core.pod(p)
		}
	}
	for _, p := range running {
		if p.Spec.NodeName == "" {
			s.core.pod(p)
		}
	}
	s.core.restoring = false
	s.ready.Store(true)
	timer := time.NewTimer(0)
	for {
		start := time.Now()
		s.pulse.Work()
		s.round()
		sleep, err := s.core.settle()
		s.busy.Add(int64(time.Since(start)))
		if err != nil {
			return fmt.Errorf("kubernetes: %w", err)
		}
		timer.Reset(sleep)
		s.pulse.Wait()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.events.wake:
		case <-timer.C:
		}
	}
}

// round runs the closures that have come.
func (s *Scheduler) round() {
	for _, f := range s.events.all() {
		f()
	}
	s.rounds.Add(1)
	s.pods.Store(int64(len(s.core.pods)))
	s.jobs.Store(int64(s.core.truth.Live()))
	s.nodes.Store(int64(len(s.core.nodes)))
}

// watch starts the informers: of nodes, then of Jobs, then of pods. It returns the pods that are there.
func (s *Scheduler) watch(ctx context.Context) ([]*corev1.Pod, error) {
	all := informers.NewSharedInformerFactoryWithOptions(s.config.Client, 0, informers.WithNamespace(s.config.Namespace), informers.WithTransform(strip))
	ours := informers.NewSharedInformerFactoryWithOptions(s.config.Client, 0, informers.WithNamespace(s.config.Namespace), informers.WithTransform(strip),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("spec.schedulerName", s.config.Name).String()
		}))
	nodes, jobs, pods := all.Core().V1().Nodes().Informer(), all.Batch().V1().Jobs().Informer(), ours.Core().V1().Pods().Informer()
	for _, in := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{nodes, batch.Handler(s.events.put, s.core.node, func(o *corev1.Node) { s.core.nodeGone(o.Name) })},
		{jobs, batch.Handler(s.events.put, s.core.job, func(o *batchv1.Job) { s.core.jobGone(o.UID) })},
	} {
		registration, err := in.informer.AddEventHandler(in.handler)
		if err != nil {
			return nil, err
		}
		go in.informer.RunWithContext(ctx)
		if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			return nil, ctx.Err()
		}
	}
	if s.core.shapes != nil {
		if err := s.watchStrangers(ctx); err != nil {
			return nil, err
		}
	}
	go pods.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced) {
		return nil, ctx.Err()
	}
	var list []*corev1.Pod
	for _, o := range pods.GetStore().List() {
		list = append(list, o.(*corev1.Pod))
	}
	// The handler hears of them all again, which changes nothing.
	_, err := pods.AddEventHandler(batch.Handler(s.events.put, s.core.pod, func(o *corev1.Pod) { s.core.podGone(o.UID) }))
	return list, err
}

// watchStrangers starts the informer of the pods of other schedulers, and of ours in other namespaces.
func (s *Scheduler) watchStrangers(ctx context.Context) error {
	bound := "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
	if s.config.Namespace == "" {
		bound += ",spec.schedulerName!=" + s.config.Name
	}
	factory := informers.NewSharedInformerFactoryWithOptions(s.config.Client, 0, informers.WithTransform(strip),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = bound }))
	pods := factory.Core().V1().Pods().Informer()
	registration, err := pods.AddEventHandler(batch.Handler(s.events.put, func(o *corev1.Pod) {
		if o.Spec.SchedulerName != s.config.Name || s.config.Namespace != "" && o.Namespace != s.config.Namespace {
			s.core.stranger(o)
		}
	}, func(o *corev1.Pod) { s.core.strangerGone(o.UID) }))
	if err != nil {
		return err
	}
	go pods.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return ctx.Err()
	}
	return nil
}

// strip drops what takes much memory and is not looked at.
func strip(o any) (any, error) {
	if m, err := meta.Accessor(o); err == nil {
		m.SetManagedFields(nil)
	}
	if p, ok := o.(*corev1.Pod); ok {
		for i := range p.Spec.Containers {
			c := &p.Spec.Containers[i]
			*c = corev1.Container{Name: c.Name, Resources: c.Resources, Ports: c.Ports}
		}
		for i := range p.Spec.InitContainers {
			c := &p.Spec.InitContainers[i]
			*c = corev1.Container{Name: c.Name, Resources: c.Resources, RestartPolicy: c.RestartPolicy, Ports: c.Ports}
		}
		for _, list := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
			for i, s := range list {
				list[i] = corev1.ContainerStatus{Name: s.Name, Resources: s.Resources, AllocatedResources: s.AllocatedResources}
			}
		}
	}
	return o, nil
}
