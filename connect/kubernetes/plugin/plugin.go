package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"sigs.k8s.io/yaml"
)

// Name is the name of the plugin in the configuration of kube-scheduler.
const Name = "Sojourn"

// Args are the arguments of the plugin, in pluginConfig of the configuration.
type Args struct {
	// Policy is a policy and its options, such as hfsp or fair:order=running. By default it is default.
	Policy string `json:"policy"`

	// AnyPool, MaxWeight, MinSize and NoDeadlines bound what annotations of Jobs say: see [kubernetes.Limits].
	AnyPool     bool            `json:"anyPool"`
	MaxWeight   float64         `json:"maxWeight"`
	MinSize     metav1.Duration `json:"minSize"`
	NoDeadlines bool            `json:"noDeadlines"`

	// Patience is how long a pod fits nowhere, while others start, until a node is kept for it: 1 minute by default. One pod at a
	// time has a node. With 0 or less none is kept.
	Patience metav1.Duration `json:"patience"`
}

// Plugin is the plugin of one profile. New makes it.
type Plugin struct {
	handle fwk.Handle
	core   *core // for the loop

	patch  func(o *corev1.Pod, patch []byte) // of its status
	saying atomic.Bool                       // patches are under way

	collector *collector
	waits     *metrics.HistogramVec
	queues    atomic.Pointer[map[string]queue] // by pool

	mail []func() // what the loop has to do; guarded by mu, as what follows
	wake chan struct{}

	mu     sync.Mutex
	failed bool                // all pods pass
	may    map[types.UID]bool  // pods that kube-scheduler may try; true if for good
	keep   keep                // the node that is kept
	missed map[types.UID]fails // pods that have found no node
}

var (
	_ fwk.PreEnqueuePlugin  = (*Plugin)(nil)
	_ fwk.EnqueueExtensions = (*Plugin)(nil)
	_ fwk.PostFilterPlugin  = (*Plugin)(nil)
	_ fwk.ReservePlugin     = (*Plugin)(nil)
)

// New makes the plugin of a profile. It is the factory that app.WithPlugin of kube-scheduler wants. It returns what is wrong with
// the arguments.
func New(ctx context.Context, args runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
	p, err := newPlugin(args, h)
	if err == nil {
		err = errors.Join(p.watch(ctx), legacyregistry.CustomRegister(p.collector), legacyregistry.Register(p.waits))
	}
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", Name, err)
	}
	go p.loop(ctx)
	return p, nil
}

func newPlugin(args runtime.Object, h fwk.Handle) (*Plugin, error) {
	a := Args{Policy: "default", Patience: metav1.Duration{Duration: time.Minute}}
	if u, ok := args.(*runtime.Unknown); ok {
		if err := yaml.UnmarshalStrict(u.Raw, &a); err != nil {
			return nil, fmt.Errorf("args: %w", err)
		}
	}
	policy, err := catalog.Builtin().Make(a.Policy)
	if err != nil {
		return nil, fmt.Errorf("args: policy: %w", err)
	}
	p := &Plugin{handle: h, wake: make(chan struct{}, 1), may: map[types.UID]bool{}, missed: map[types.UID]fails{}, keep: keep{patience: a.Patience.Duration}}
	p.newMetrics()
	p.patch = func(o *corev1.Pod, patch []byte) {
		_, err := h.ClientSet().CoreV1().Pods(o.Namespace).Patch(context.Background(), o.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) { // otherwise it has changed, and counts anew in the next tick
			klog.Background().Error(err, "plugin Sojourn: a pod is not called Unschedulable", "pod", klog.KObj(o))
		}
	}
	limits := kubernetes.Limits{AnyPool: a.AnyPool, MaxWeight: a.MaxWeight, MinSize: a.MinSize.Duration, NoDeadlines: a.NoDeadlines}
	base := time.Now()
	now := func() sojourn.Time { return kubernetes.Time(base) + sojourn.Time(time.Since(base)) }
	p.core, err = newCore(policy, h.ProfileName(), limits, p, now)
	return p, err
}

// Name implements fwk.Plugin.
func (p *Plugin) Name() string { return Name }

// watch has the informers of kube-scheduler tell the loop of pods, Jobs and nodes.
func (p *Plugin) watch(ctx context.Context) error {
	f := p.handle.SharedInformerFactory()
	var synced []cache.InformerSynced
	on := func(i cache.SharedIndexInformer, h cache.ResourceEventHandler) error {
		r, err := i.AddEventHandler(h)
		if err == nil {
			synced = append(synced, r.HasSynced)
		}
		return err
	}
	c := p.core
	if err := errors.Join(
		on(f.Batch().V1().Jobs().Informer(), batch.Handler(p.put, c.jobSeen, c.jobGone)),
		on(f.Core().V1().Pods().Informer(), batch.Handler(p.put, c.pod, c.podGone)),
		on(f.Core().V1().Nodes().Informer(), batch.Handler(p.put, func(*corev1.Node) { c.grown() }, func(*corev1.Node) {})),
	); err != nil {
		return err
	}
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), synced...) {
			p.put(c.restored)
		}
	}()
	return nil
}

// put has the loop call f, unless it has failed.
func (p *Plugin) put(f func()) {
	p.mu.Lock()
	if !p.failed {
		p.mail = append(p.mail, f)
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// loop owns the core. If that fails, all pods pass from then on, as without the plugin.
func (p *Plugin) loop(ctx context.Context) {
	defer func() {
		if r := recover(); r != nil {
			klog.FromContext(ctx).Error(fmt.Errorf("%v", r), "plugin Sojourn has failed: all pods pass in the order of kube-scheduler", "stack", string(debug.Stack()))
			p.mu.Lock()
			p.failed, p.mail = true, nil
			p.mu.Unlock()
			p.release()
		}
	}()
	timer := time.NewTimer(0)
	for {
		p.mu.Lock()
		mail := p.mail
		p.mail = nil
		p.mu.Unlock()
		for _, f := range mail {
			f()
		}
		timer.Reset(p.core.settle())
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-timer.C:
		}
	}
}

// release activates all pods that PreEnqueue may have held, those that the loop has not heard of included: an informer has a pod before
// kube-scheduler hears of it.
func (p *Plugin) release() {
	held := map[string]*corev1.Pod{}
	for _, o := range p.handle.SharedInformerFactory().Core().V1().Pods().Informer().GetStore().List() {
		if o := o.(*corev1.Pod); jobOf(o) != nil && o.Spec.NodeName == "" && o.Spec.SchedulerName == p.handle.ProfileName() {
			held[string(o.UID)] = o
		}
	}
	p.handle.Activate(klog.Background(), held)
}

// jobOf returns the Job that has made a pod and orders it, nil if none does.
func jobOf(o *corev1.Pod) *metav1.OwnerReference {
	if grouped(o) {
		return nil
	}
	return batch.Owner(o)
}

// PreEnqueue implements fwk.PreEnqueuePlugin: a pod of a Job waits until it has its turn. A pod that has a nominated node has had it.
func (p *Plugin) PreEnqueue(_ context.Context, o *corev1.Pod) *fwk.Status {
	if jobOf(o) == nil || o.Status.NominatedNodeName != "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, may := p.may[o.UID]; may || p.failed || p.keep.uid == o.UID {
		return nil
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "the pod waits for its turn in the order of the policy")
}

// EventsToRegister implements fwk.EnqueueExtensions: no event gives a pod its turn.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return nil, nil
}

// PostFilter implements fwk.PostFilterPlugin: it hears that a pod fits nowhere. It must come before other plugins of this kind.
func (p *Plugin) PostFilter(_ context.Context, _ fwk.CycleState, o *corev1.Pod, nodes fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	none := fwk.NewStatus(fwk.Unschedulable)
	if jobOf(o) == nil {
		return nil, none
	}
	defer p.put(func() { p.core.miss(o.UID) }) // after what is noted here, which it removes if the pod was deleted
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed || p.may[o.UID] {
		return nil, none
	}
	delete(p.may, o.UID)
	result, kept := p.reserve(o, nodes)
	if kept {
		return result, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "a node is kept for the pod") // nobody is preempted for it
	}
	return result, none
}

// Reserve implements fwk.ReservePlugin: it hears that a pod has a node.
func (p *Plugin) Reserve(_ context.Context, _ fwk.CycleState, o *corev1.Pod, _ string) *fwk.Status {
	if jobOf(o) != nil {
		p.mu.Lock()
		p.keep.started++
		p.forget(o.UID)
		p.mu.Unlock()
		p.put(func() { p.core.fit(o.UID) })
	}
	return nil
}

// Unreserve implements fwk.ReservePlugin: it hears that a pod was not bound after all.
func (p *Plugin) Unreserve(_ context.Context, _ fwk.CycleState, o *corev1.Pod, _ string) {
	if jobOf(o) != nil {
		p.stop(o.UID)
		p.put(func() { p.core.miss(o.UID) })
	}
}

// start lets kube-scheduler try a pod: until it has found no node, or for good.
func (p *Plugin) start(o *corev1.Pod, good bool) {
	p.mu.Lock()
	p.may[o.UID] = good
	p.mu.Unlock()
	p.handle.Activate(klog.Background(), map[string]*corev1.Pod{string(o.UID): o})
}

// stop takes the permission of a pod back, unless it has it for good.
func (p *Plugin) stop(uid types.UID) {
	p.mu.Lock()
	if !p.failed && !p.may[uid] {
		delete(p.may, uid)
	}
	p.mu.Unlock()
}

// over hears that a pod is gone.
func (p *Plugin) over(uid types.UID) {
	p.mu.Lock()
	delete(p.may, uid)
	p.forget(uid)
	p.mu.Unlock()
}

// kept returns the pod for which a node is kept, and whether that is over.
func (p *Plugin) kept(now time.Time) (types.UID, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keep.uid, now.After(p.keep.until)
}

// say gives pods the condition that they are Unschedulable, one after the other, unless it still does so with others. A pod that has
// changed is left as it is.
func (p *Plugin) say(list []*corev1.Pod, why map[types.UID]string) {
	if p.saying.Swap(true) {
		return
	}
	go func() {
		defer p.saying.Store(false)
		for _, o := range list {
			text, err := json.Marshal(map[string]any{
				"metadata": map[string]any{"uid": o.UID, "resourceVersion": o.ResourceVersion},
				"status": map[string]any{"conditions": []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why[o.UID], LastTransitionTime: metav1.Now(),
				}}},
			})
			if err != nil {
				panic(err)
			}
			p.patch(o, text)
		}
	}()
}

func (p *Plugin) word(o runtime.Object, reason, message string) {
	p.handle.EventRecorder().Eventf(o, nil, corev1.EventTypeWarning, reason, "Ordering", "%s", message)
}
