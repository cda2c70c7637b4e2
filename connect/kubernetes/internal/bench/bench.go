package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
)

const (
	stock = "stock"            // kube-scheduler in results
	slot  = "example.com/slot" // the extended resource of which each pod requests one
	other = kubetest.Server("scheduler")
)

// A bench is a control plane with nodes.
type bench struct {
	options
	dir     string
	cluster *kubetest.Cluster
	client  kubernetes.Interface
}

func newBench(ctx context.Context, o options) (*bench, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	c, err := kubetest.New(ctx, dir)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	b := &bench{options: o, dir: dir, cluster: c, client: c.Client()}
	if err := parallel(o.nodes, func(i int) error {
		n := kubetest.Node(fmt.Sprintf("n%04d", i), map[string]string{"cpu": "640", "memory": "640Gi", "pods": "5000", slot: strconv.Itoa(o.slots)})
		_, err := b.client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
		return err
	}); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) close() {
	b.cluster.Close()
	os.RemoveAll(b.dir)
}

// start starts a scheduler and returns which server it is.
func (b *bench) start(ctx context.Context, s scheduler) (kubetest.Server, error) {
	const qps = 5000 // kube-scheduler's own default is 50
	if s.command == nil {
		return kubetest.Scheduler, b.cluster.StartScheduler(ctx, qps)
	}
	if s.managed {
		if err := b.cluster.StartScheduler(ctx, qps); err != nil {
			return "", err
		}
	}
	kubeconfig, err := b.cluster.Kubeconfig()
	if err != nil {
		return "", err
	}
	port, err := b.cluster.Port(other)
	if err != nil {
		return "", err
	}
	if s.config != "" {
		return other, b.startPlugin(ctx, s, kubeconfig, port, qps)
	}
	var args []string
	for _, a := range s.command {
		args = append(args, strings.NewReplacer("{kubeconfig}", kubeconfig, "{port}", strconv.Itoa(port)).Replace(a))
	}
	return other, b.cluster.StartCommand(ctx, other, args[0], fmt.Sprintf("http://127.0.0.1:%d/readyz", port), args[1:]...)
}

// startPlugin starts kube-scheduler with the plugin.
func (b *bench) startPlugin(ctx context.Context, s scheduler, kubeconfig string, port, qps int) error {
	config := filepath.Join(b.dir, "plugin.yaml")
	text := fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: %d, burst: %d}
profiles:
- schedulerName: %s
  plugins: {multiPoint: {enabled: [{name: Sojourn}]}, postFilter: {enabled: [{name: Sojourn}]}}
  pluginConfig: [{name: Sojourn, args: {policy: %q}}]
`, kubeconfig, qps, qps, s.podName, s.config)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	return b.cluster.StartCommand(ctx, other, s.command[0], fmt.Sprintf("https://127.0.0.1:%d/readyz", port),
		"--config="+config, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--cert-dir="+b.dir,
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig, "--authentication-tolerate-lookup-failure=true")
}

// turn measures one burst in a namespace of its own.
func (b *bench) turn(ctx context.Context, s scheduler, namespace string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := b.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return result{}, err
	}
	server, err := b.start(ctx, s)
	if err != nil {
		return result{}, err
	}
	defer b.cluster.Stop(server)
	if err := b.cluster.Pause(server); err != nil {
		return result{}, err
	}
	if err := b.fill(ctx, namespace, s.podName); err != nil {
		return result{}, err
	}
	pods := b.client.CoreV1().Pods(namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return result{}, err
	}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return pods.Watch(ctx, o) },
	})
	if err != nil {
		return result{}, err
	}
	defer w.Stop()
	before, err := b.cpu(server)
	if err != nil {
		return result{}, err
	}
	start := time.Now()
	if err := b.cluster.Resume(server); err != nil {
		return result{}, err
	}
	if err := b.bound(w.ResultChan(), func() error { b.cluster.Kill(server); return b.cluster.Restart(ctx, server) }); err != nil {
		return result{}, err
	}
	r := result{Pods: b.pods, Seconds: time.Since(start).Seconds(), CPU: map[string]float64{}}
	r.PerSecond = float64(r.Pods) / r.Seconds
	after, err := b.cpu(server)
	if err != nil {
		return result{}, err
	}
	for name, d := range after {
		r.CPU[string(name)] = (d - before[name]).Seconds()
	}
	_, peak, err := b.cluster.Memory(server)
	if err != nil {
		return result{}, err
	}
	r.MiB = float64(peak) / (1 << 20)
	if server == other {
		if r.Busy, err = b.busy(ctx); err != nil {
			return result{}, err
		}
	}
	return r, b.clear(ctx, namespace)
}

// fill makes the pods, and their Jobs.
func (b *bench) fill(ctx context.Context, namespace, scheduler string) error {
	owners, err := b.owners(ctx, namespace, scheduler)
	if err != nil {
		return err
	}
	return parallel(b.pods, func(i int) error {
		p := pod(i, scheduler)
		if job := owners[p.Labels[batchv1.JobNameLabel]]; job != nil {
			p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: p.Labels[batchv1.JobCompletionIndexAnnotation]}
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
		}
		_, err := b.client.CoreV1().Pods(namespace).Create(ctx, p, metav1.CreateOptions{})
		return err
	})
}

// clear deletes all Jobs and pods.
func (b *bench) clear(ctx context.Context, namespace string) error {
	none := int64(0)
	err := b.client.BatchV1().Jobs(namespace).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for err = context.DeadlineExceeded; err != nil && ctx.Err() == nil; { // many pods take longer than a request may
		err = b.client.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &none}, metav1.ListOptions{})
	}
	return err
}

// owners makes the Jobs of all pods, if they are asked for, and returns them by name. No controller
// looks at them.
func (b *bench) owners(ctx context.Context, namespace, scheduler string) (map[string]*batchv1.Job, error) {
	if !b.jobs {
		return nil, nil
	}
	tasks := map[string]int32{}
	var names []string
	for i := range b.pods {
		name := pod(i, scheduler).Labels[batchv1.JobNameLabel]
		if tasks[name]++; tasks[name] == 1 {
			names = append(names, name)
		}
	}
	list := make([]*batchv1.Job, len(names))
	err := parallel(len(names), func(i int) (err error) {
		list[i], err = b.client.BatchV1().Jobs(namespace).Create(ctx, indexed(names[i], tasks[names[i]], scheduler), metav1.CreateOptions{})
		return err
	})
	m := map[string]*batchv1.Job{}
	for i, name := range names {
		m[name] = list[i]
	}
	return m, err
}

// indexed returns a Job of n pods, all of which may run at a time.
func indexed(name string, n int32, scheduler string) *batchv1.Job {
	mode := batchv1.IndexedCompletion
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{Completions: &n, Parallelism: &n, CompletionMode: &mode,
			Template: corev1.PodTemplateSpec{Spec: pod(0, scheduler).Spec}},
	}
}

// busy returns how many seconds the loop of the other scheduler has worked since its start: what it makes
// of what it hears, and the policy.
func (b *bench) busy(ctx context.Context) (float64, error) {
	port, err := b.cluster.Port(other)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/metrics", port), nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	return busyIn(string(text)), nil
}

// busyIn finds the seconds in metrics, 0 if another program does not tell them.
func busyIn(metrics string) float64 {
	for line := range strings.Lines(metrics) {
		if v, ok := strings.CutPrefix(line, "sojourn_busy_seconds_total "); ok {
			f, _ := strconv.ParseFloat(strings.TrimSpace(v), 64)
			return f
		}
	}
	return 0
}

// bound returns once all pods are bound. It fails if a node has more of them than slots. In the middle it
// calls restart as often as asked for, after equal numbers of pods.
func (b *bench) bound(events <-chan watch.Event, restart func() error) error {
	restarts := 0
	seen, on := map[types.UID]bool{}, map[string]int{}
	for ev := range events {
		p, ok := ev.Object.(*corev1.Pod)
		if !ok || p.Spec.NodeName == "" || seen[p.UID] {
			continue
		}
		seen[p.UID] = true
		on[p.Spec.NodeName]++
		if n := on[p.Spec.NodeName]; n > b.slots {
			return fmt.Errorf("%d pods on node %s, which has %d slots", n, p.Spec.NodeName, b.slots)
		}
		if len(seen) == b.pods {
			return nil
		}
		if restarts < b.kills && len(seen) >= b.pods*(restarts+1)/(b.kills+1) {
			restarts++
			if err := restart(); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("%w: %d of %d", errBound, len(seen), b.pods)
}

// cpu returns the processor time of each server so far.
func (b *bench) cpu(s kubetest.Server) (map[kubetest.Server]time.Duration, error) {
	m := map[kubetest.Server]time.Duration{}
	for _, s := range []kubetest.Server{kubetest.Etcd, kubetest.APIServer, s} {
		d, err := b.cluster.CPU(s)
		if err != nil {
			return nil, err
		}
		m[s] = d
	}
	return m, nil
}

// pod returns the i-th pod. A hundred pods are four jobs of 1, 4, 20 and 75 tasks.
func pod(i int, scheduler string) *corev1.Pod {
	block, k := i/100, i%100
	for job, size := range []int{1, 4, 20, 75} {
		if k < size {
			name := fmt.Sprintf("job%d", 4*block+job)
			one := corev1.ResourceList{slot: resource.MustParse("1")}
			return &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name:   fmt.Sprintf("%s-%d", name, k),
					Labels: map[string]string{"batch.kubernetes.io/job-name": name, "batch.kubernetes.io/job-completion-index": strconv.Itoa(k)},
				},
				Spec: corev1.PodSpec{
					SchedulerName: scheduler, RestartPolicy: corev1.RestartPolicyNever,
					Containers: []corev1.Container{{Name: "c", Image: "none", Resources: corev1.ResourceRequirements{Requests: one, Limits: one}}},
				},
			}
		}
		k -= size
	}
	panic("the sizes add up to 100")
}

// parallel calls f for 0 to n-1 from 16 goroutines, and returns the first error.
func parallel(n int, f func(int) error) error {
	next := make(chan int)
	var (
		wg    sync.WaitGroup
		once  sync.Once
		first error
	)
	for range 16 {
		wg.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					once.Do(func() { first = err })
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return first
}
