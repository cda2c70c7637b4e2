package kubetest

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Node returns a ready node with the label kubernetes.io/hostname. Its capacity, all of it
// allocatable, is given as in a manifest: {"cpu": "4", "memory": "8Gi"}. It has room for 110
// pods unless "pods" says otherwise.
func Node(name string, capacity map[string]string) *corev1.Node {
	list := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
	for k, v := range capacity {
		list[corev1.ResourceName(k)] = resource.MustParse(v)
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Capacity: list, Allocatable: list,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}},
		},
	}
}

// SetReady sets the condition Ready of a node.
func SetReady(ctx context.Context, cl kubernetes.Interface, node string, status corev1.ConditionStatus) error {
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q}]}}`, status)
	_, err := cl.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// A Kubelet plays the part of every node's kubelet: a bound pod runs, ends after some time, and
// is gone once someone deletes it.
type Kubelet struct {
	Client kubernetes.Interface

	// Run says how long a pod runs, and in which phase it ends: Succeeded or Failed. A negative
	// time means until someone deletes it. Nil means that all do.
	Run func(*corev1.Pod) (time.Duration, corev1.PodPhase)

	started sync.Map // types.UID -> time.Time: status.startTime has whole seconds only
}

// Start begins and returns once all pods are known. It goes on until ctx ends; what the API
// server refuses is tried again.
func (k *Kubelet) Start(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(k.Client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
	}))
	pods := factory.Core().V1().Pods()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	add := func(obj any) {
		if pod, ok := obj.(*corev1.Pod); ok {
			queue.Add(cache.MetaObjectToName(pod))
		}
	}
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) },
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced) {
		return ctx.Err()
	}
	for range 16 {
		go func() {
			for k.next(ctx, queue, pods.Lister()) {
			}
		}()
	}
	go func() { <-ctx.Done(); queue.ShutDown() }()
	return nil
}

// next does one step for the next pod of the queue, and reports whether there may be more.
func (k *Kubelet) next(ctx context.Context, queue workqueue.TypedRateLimitingInterface[cache.ObjectName], pods listers.PodLister) bool {
	name, shut := queue.Get()
	if shut {
		return false
	}
	defer queue.Done(name)
	pod, err := pods.Pods(name.Namespace).Get(name.Name)
	if err != nil { // it is gone
		queue.Forget(name)
		return true
	}
	after, err := k.step(ctx, pod)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		queue.AddRateLimited(name)
	case after > 0:
		queue.AddAfter(name, after)
		fallthrough
	default:
		queue.Forget(name)
	}
	return true
}

// step brings one pod one step further, and returns when to look at it again, 0 if its next
// change says so.
func (k *Kubelet) step(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if pod.DeletionTimestamp != nil {
		// A pod of a Job has a finalizer. With a podFailurePolicy it goes only once the pod has ended.
		if !ended {
			return 0, k.phase(ctx, pod, corev1.PodFailed)
		}
		grace := int64(0)
		return 0, k.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: &grace, Preconditions: &metav1.Preconditions{UID: &pod.UID},
		})
	}
	if ended {
		return 0, nil
	}
	if pod.Status.Phase == corev1.PodPending {
		return 0, k.phase(ctx, pod, corev1.PodRunning)
	}
	if k.Run == nil {
		return 0, nil
	}
	d, end := k.Run(pod)
	if d < 0 {
		return 0, nil
	}
	start, _ := k.started.LoadOrStore(pod.UID, time.Now())
	if left := d - time.Since(start.(time.Time)); left > 0 {
		return left, nil
	}
	return 0, k.phase(ctx, pod, end)
}

// phase writes the phase of this very pod, not of a later one of the same name. A pod that runs is ready.
func (k *Kubelet) phase(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase) error {
	ready := corev1.ConditionFalse
	if phase == corev1.PodRunning {
		ready = corev1.ConditionTrue
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"phase":%q,"conditions":[{"type":"Ready","status":%q}]}}`, pod.UID, phase, ready)
	_, err := k.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
