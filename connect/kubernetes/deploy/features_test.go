package deploy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// A feature is what pods may ask of kube-scheduler, and where the pods of a Job that asks for it go: to the node of that zone, to
// any one (*), or nowhere, with a word.
type feature struct {
	name string
	spec string // of a pod, as YAML; {of} is the profile. Nodes are a, b, and c with a GPU and gen=5, and d, which is tainted
	want []string
	late bool // once all others are where they go
}

const gpu = "example.com/gpu"

// The features of kube-scheduler that the examination of schedulers has gone through, in the order of the README.
var features = []feature{
	{name: "node-selector", spec: `nodeSelector: {zone: b}`, want: []string{"b"}},
	{name: "node-selector-none", spec: `nodeSelector: {zone: none}`, want: []string{"didn't match Pod's node affinity/selector"}},
	{name: "affinity-in", spec: nodeAffinity(`matchExpressions: [{key: zone, operator: In, values: [b, none]}]`), want: []string{"b"}},
	{name: "affinity-gt", spec: nodeAffinity(`matchExpressions: [{key: gen, operator: Gt, values: ["4"]}]`), want: []string{"c"}},
	{name: "affinity-fields", spec: nodeAffinity(`matchFields: [{key: metadata.name, operator: In, values: ["a-{of}"]}]`), want: []string{"a"}},
	{name: "affinity-preferred", want: []string{"c"},
		spec: `affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: zone, operator: In, values: [c]}]}}]}}`},
	{name: "taint", spec: `nodeSelector: {zone: d}`, want: []string{"untolerated taint"}},
	{name: "taint-tolerated", spec: "nodeSelector: {zone: d}\ntolerations: [{key: dedicated, operator: Exists}]", want: []string{"d"}},
	{name: "cpu-99", spec: containers(`cpu: 99`), want: []string{"Insufficient cpu"}},
	{name: "init-99", spec: `initContainers: [{name: i, image: none, resources: {requests: {cpu: 99}}}]`, want: []string{"Insufficient cpu"}},
	{name: "sidecar-99", spec: `initContainers: [{name: i, image: none, restartPolicy: Always, resources: {requests: {cpu: 99}}}]`, want: []string{"Insufficient cpu"}},
	{name: "pod-99", spec: `resources: {requests: {cpu: 99}, limits: {cpu: 99}}`, want: []string{"Insufficient cpu"}},
	{name: "overhead-99", spec: `runtimeClassName: heavy-{of}`, want: []string{"Insufficient cpu"}},
	{name: "gpu", spec: containers(gpu + `: 1`), want: []string{"c"}},
	{name: "gpu-99", spec: containers(gpu + `: 99`), want: []string{"Insufficient " + gpu}},
	{name: "pod-affinity", want: []string{"b"},
		spec: `affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {feature: node-selector}}}]}}`},
	{name: "pod-anti-affinity", want: []string{"b", "anti-affinity"},
		spec: "nodeSelector: {zone: b}\naffinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {feature: pod-anti-affinity}}}]}}"},
	{name: "pod-anti-affinity-preferred", want: []string{"*"},
		spec: `affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {feature: gpu}}}}]}}`},
	{name: "spread", want: []string{"a", "b", "c"},
		spec: `topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {feature: spread}}}]`},
	{name: "claim", spec: `volumes: [{name: v, persistentVolumeClaim: {claimName: "claim-{of}"}}]`, want: []string{"c"}},
	{name: "claim-none", spec: `volumes: [{name: v, persistentVolumeClaim: {claimName: "no-claim-{of}"}}]`, want: []string{"not found"}},
	{name: "ephemeral", want: []string{"c"},
		spec: `volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: "local-{of}", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]`},
	{name: "volume-inline", spec: `volumes: [{name: v, csi: {driver: example.com}}]`, want: []string{"*"}},
	{name: "host-port", want: []string{"b", "free ports"},
		spec: "nodeSelector: {zone: b}\ncontainers: [{name: c, image: none, ports: [{containerPort: 80, hostPort: 8080}]}]"},
	{name: "host-port-sidecar", want: []string{"b", "free ports"},
		spec: "nodeSelector: {zone: b}\ninitContainers: [{name: i, image: none, restartPolicy: Always, ports: [{containerPort: 80, hostPort: 9090}]}]"},
	{name: "device", spec: device("first"), want: []string{"c"}},
	{name: "device-taken", spec: device("second"), want: []string{"cannot allocate all claims"}, late: true},
	{name: "device-none", spec: device("none"), want: []string{"cannot allocate all claims"}},
}

func nodeAffinity(term string) string {
	return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{" + term + "}]}}}"
}

func containers(limits string) string {
	return "containers: [{name: c, image: none, resources: {limits: {" + limits + "}}}]"
}

func device(claim string) string {
	return `resourceClaims: [{name: r, resourceClaimName: "` + claim + `-{of}"}]` + "\ncontainers: [{name: c, image: none, resources: {claims: [{name: r}]}}]"
}

// What the pods of the features refer to.
const objects = `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: "heavy-{of}"}
handler: heavy
overhead: {podFixed: {cpu: 99}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: "local-{of}"}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: "one-{of}"}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: "local-{of}"
  local: {path: /none}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: ["c-{of}"]}]}]}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: "two-{of}"}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: "local-{of}"
  local: {path: /none}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: ["c-{of}"]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: "claim-{of}"}
spec: {storageClassName: "local-{of}", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: "device-{of}"}
spec: {selectors: [{cel: {expression: 'device.driver == "{of}.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: "none-{of}"}
spec: {selectors: [{cel: {expression: 'device.driver == "none.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: "slice-{of}"}
spec:
  driver: "{of}.example.com"
  nodeName: "c-{of}"
  pool: {name: "c-{of}", generation: 1, resourceSliceCount: 1}
  devices: [{name: d0}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: "first-{of}"}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: "device-{of}"}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: "second-{of}"}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: "device-{of}"}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: "none-{of}"}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: "none-{of}"}}]}}
`

// Each feature of kube-scheduler is as it is without the plugin: Jobs that ask for it go where they should under the profile that has
// the plugin, and under the one that has not.
func pluginFeatures(t *testing.T, b *bed) {
	profiles := []string{"sojourn", "default-scheduler"}
	for _, of := range profiles {
		for _, zone := range []string{"a", "b", "c", "d"} {
			b.node(t, zone+"-"+of, "8", map[string]string{"of": of, "zone": zone, "gen": "2"}, func(n *corev1.Node) {
				switch zone {
				case "c":
					n.Status.Capacity[gpu], n.Status.Allocatable[gpu] = resource.MustParse("2"), resource.MustParse("2")
					n.Labels["gen"] = "5"
				case "d":
					n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
				}
			})
		}
		list, err := kubetest.Manifests([]byte(strings.ReplaceAll(objects, "{of}", of)))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Apply(t.Context(), false, list...); err != nil {
			t.Fatal(err)
		}
	}
	for _, late := range []bool{false, true} {
		for _, f := range features {
			for _, of := range profiles {
				if f.late == late {
					create(t, b.client, f.job(t, of))
				}
			}
		}
		for _, f := range features {
			for _, of := range profiles {
				if f.late == late {
					t.Run(f.name+"/"+of, func(t *testing.T) { f.check(t, b, of) })
				}
			}
		}
	}
}

// job returns the Job of a feature, under a profile.
func (f *feature) job(t *testing.T, of string) *batchv1.Job {
	var spec corev1.PodSpec
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(f.spec, "{of}", of)), &spec); err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	if spec.Containers == nil {
		spec.Containers = []corev1.Container{{Name: "c", Image: "none", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}}}}
	}
	if spec.NodeSelector == nil {
		spec.NodeSelector = map[string]string{}
	}
	spec.NodeSelector["of"] = of
	spec.SchedulerName, spec.RestartPolicy, spec.TerminationGracePeriodSeconds = of, corev1.RestartPolicyNever, new(int64)
	n := int32(len(f.want))
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: f.name + "-" + of},
		Spec: batchv1.JobSpec{Completions: &n, Parallelism: &n, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"feature": f.name}}, Spec: spec}}}
}

// check waits until the pods of a feature are where they should be.
func (f *feature) check(t *testing.T, b *bed, of string) {
	var got []string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("got %q, want %q", got, f.want)
		}
	})
	waitFor(t, f.name, func() bool {
		got = nil
		for _, p := range b.pods(t, "default", f.name+"-"+of) {
			if zone, ok := strings.CutSuffix(p.Spec.NodeName, "-"+of); ok {
				got = append(got, zone)
			} else {
				got = append(got, refused(&p))
			}
		}
		left := slices.Clone(got)
		for _, want := range f.want {
			i := slices.IndexFunc(left, func(s string) bool {
				return s == want || want == "*" && len(s) == 1 || len(want) > 1 && strings.HasPrefix(s, corev1.PodReasonUnschedulable+": ") && strings.Contains(s, want)
			})
			if i < 0 {
				return false
			}
			left = slices.Delete(left, i, i+1)
		}
		return len(left) == 0
	})
}

// pluginChanges is what changes while Jobs wait and run.
func pluginChanges(t *testing.T, b *bed) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, *shift)
	}{
		{"resize", resizes}, {"priority", priorities}, {"gates", gates}, {"parallelism", widths}, {"quota", quotas}, {"binds-refused", bindsRefused},
		{"nodes", nodesChange}, {"drain", drains}, {"namespace", namespaceGoes}, {"ttl", ttl},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.test(t, b.shift(t, tc.name))
		})
	}
}

// shift makes a namespace.
func (b *bed) shift(t *testing.T, name string) *shift {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := b.client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return &shift{bed: b, name: name}
}

// A shift has a namespace, and nodes, to itself.
type shift struct {
	*bed
	name string
}

func (s *shift) nodes(t *testing.T, cpus ...string) {
	t.Helper()
	for i, cpu := range cpus {
		s.node(t, fmt.Sprint(s.name, "-", i), cpu, map[string]string{"room": s.name})
	}
}

// job makes a Job of n pods that request so much cpu.
func (s *shift) job(t *testing.T, name string, n int32, cpu, takes string, change ...func(*batchv1.Job)) {
	t.Helper()
	j := job(name, n, false, nil)
	j.Spec.CompletionMode, j.Spec.Template.Spec.NodeSelector = nil, map[string]string{"room": s.name}
	j.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
	if takes != "" {
		j.Spec.Template.Annotations = map[string]string{"takes": takes}
	}
	for _, f := range change {
		f(j)
	}
	if _, err := s.client.BatchV1().Jobs(s.name).Create(t.Context(), j, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (s *shift) patch(t *testing.T, name, patch string) {
	t.Helper()
	if _, err := s.client.BatchV1().Jobs(s.name).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// wait waits until so many pods of a Job are on nodes, and so many are not.
func (s *shift) wait(t *testing.T, name string, placed, not int) {
	t.Helper()
	s.waitPods(t, name, placed, not, func(*corev1.Pod) bool { return true })
}

// waitPods does the same, and what is not placed is as ok wants it.
func (s *shift) waitPods(t *testing.T, name string, placed, not int, ok func(*corev1.Pod) bool) {
	t.Helper()
	waitFor(t, fmt.Sprintf("%d pods of %s placed and %d not", placed, name, not), func() bool {
		p, n := 0, 0
		for _, o := range s.pods(t, s.name, name) {
			switch {
			case o.Spec.NodeName != "":
				p++
			case ok(&o):
				n++
			}
		}
		return p == placed && n == not
	})
}

// delete deletes a pod, if it is there.
func (s *shift) delete(t *testing.T, pod string) {
	t.Helper()
	err := s.client.CoreV1().Pods(s.name).Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

func (s *shift) complete(t *testing.T, name string) {
	t.Helper()
	waitFor(t, name+" is complete", func() bool {
		j, err := s.client.BatchV1().Jobs(s.name).Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
		})
	})
}

func lacksCPU(p *corev1.Pod) bool { return strings.Contains(refused(p), "Insufficient cpu") }

// A pod that was resized in place has what it has now.
func resizes(t *testing.T, s *shift) {
	s.nodes(t, "8")
	s.job(t, "grows", 1, "1", "")
	s.wait(t, "grows", 1, 0)
	patch := []byte(`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"6"}}}]}}`)
	if _, err := s.client.CoreV1().Pods(s.name).Patch(t.Context(), s.pods(t, s.name, "grows")[0].Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "resize"); err != nil {
		t.Fatal(err)
	}
	s.job(t, "late", 1, "5", "")
	s.waitPods(t, "late", 0, 1, lacksCPU)
}

// A pod of a higher priority takes the place of one of a lower.
func priorities(t *testing.T, s *shift) {
	s.nodes(t, "1")
	high, err := kubetest.Manifests([]byte("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), false, high...); err != nil {
		t.Fatal(err)
	}
	s.job(t, "low", 1, "1", "")
	s.wait(t, "low", 1, 0)
	s.job(t, "high", 1, "1", "100ms", func(j *batchv1.Job) { j.Spec.Template.Spec.PriorityClassName = "high" })
	s.complete(t, "high")
}

// A pod with gates waits until they are gone.
func gates(t *testing.T, s *shift) {
	s.nodes(t, "2")
	s.job(t, "gated", 1, "1", "", func(j *batchv1.Job) {
		j.Spec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/hold"}}
	})
	s.waitPods(t, "gated", 0, 1, func(p *corev1.Pod) bool { return strings.HasPrefix(refused(p), corev1.PodReasonSchedulingGated) })
	s.job(t, "free", 1, "1", "100ms")
	s.complete(t, "free")
	s.wait(t, "gated", 0, 1)
	name := s.pods(t, s.name, "gated")[0].Name
	if _, err := s.client.CoreV1().Pods(s.name).Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.wait(t, "gated", 1, 0)
}

// Parallelism goes up and down, and pods are deleted by hand: each completion comes once.
func widths(t *testing.T, s *shift) {
	s.nodes(t, "4")
	s.job(t, "map", 12, "1", "200ms", func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(2)) })
	for i, n := range []int{5, 1, 6} {
		waitFor(t, "some are done", func() bool {
			j, err := s.client.BatchV1().Jobs(s.name).Get(t.Context(), "map", metav1.GetOptions{})
			return err == nil && int(j.Status.Succeeded) > 2*i
		})
		s.patch(t, "map", fmt.Sprintf(`{"spec":{"parallelism":%d}}`, n))
		if pods := s.pods(t, s.name, "map"); i == 1 && len(pods) > 0 {
			s.delete(t, pods[len(pods)-1].Name)
		}
	}
	s.complete(t, "map")
}

// A quota of two pods holds a Job of six: it takes longer, and others go on.
func quotas(t *testing.T, s *shift) {
	s.nodes(t, "8")
	list, err := kubetest.Manifests([]byte("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: two, namespace: quota}\nspec: {hard: {pods: 2}}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), false, list...); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the quota counts", func() bool {
		q, err := s.client.CoreV1().ResourceQuotas(s.name).Get(t.Context(), "two", metav1.GetOptions{})
		return err == nil && q.Status.Hard != nil
	})
	s.job(t, "six", 6, "1", "100ms")
	s.complete(t, "six")
}

// While an admission policy refuses the bindings of a Job, other Jobs go on. Once it is gone, its pods run.
func bindsRefused(t *testing.T, s *shift) {
	s.nodes(t, "8")
	list, err := kubetest.Manifests([]byte(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-binds}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods/binding]}]}
  validations: [{expression: 'request.namespace != "binds-refused" || !request.name.startsWith("refused-")', message: not today}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-binds}
spec: {policyName: no-binds, validationActions: [Deny]}
`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), false, list...); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the policy", func() bool {
		err := s.client.CoreV1().Pods(s.name).Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "refused-none"}, Target: corev1.ObjectReference{Kind: "Node", Name: "none"}}, metav1.CreateOptions{})
		return err != nil && strings.Contains(err.Error(), "not today")
	})
	s.job(t, "refused", 8, "1", "50ms")
	s.wait(t, "refused", 0, 8)
	s.job(t, "other", 8, "1", "50ms")
	s.complete(t, "other")
	s.wait(t, "refused", 0, 8)
	if err := s.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(t.Context(), "no-binds", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.complete(t, "refused")
}

// A node that is cordoned gets nothing, and more when it is not. Pods go on a node that is new, and those of a node that is deleted
// run again elsewhere.
func nodesChange(t *testing.T, s *shift) {
	s.nodes(t, "2")
	cordon := func(on bool) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, on)
		if _, err := s.client.CoreV1().Nodes().Patch(t.Context(), "nodes-0", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	cordon(true)
	s.job(t, "map", 4, "1", "")
	s.waitPods(t, "map", 0, 4, func(p *corev1.Pod) bool { return true })
	waitFor(t, "a word", func() bool {
		return slices.ContainsFunc(s.pods(t, s.name, "map"), func(p corev1.Pod) bool { return strings.Contains(refused(&p), "unschedulable") })
	})
	cordon(false)
	s.wait(t, "map", 2, 2)
	s.node(t, "nodes-1", "2", map[string]string{"room": s.name})
	s.wait(t, "map", 4, 0)
	if err := s.client.CoreV1().Nodes().Delete(t.Context(), "nodes-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.pods(t, s.name, "map") { // as the collector of pods does after some 40 s
		if p.Spec.NodeName == "nodes-0" {
			s.delete(t, p.Name)
		}
	}
	s.wait(t, "map", 2, 2)
	s.node(t, "nodes-2", "2", map[string]string{"room": s.name})
	s.wait(t, "map", 4, 0)
}

// A node that is drained ends its pods by evictions. They go elsewhere, once each, and are no failures of the Job.
func drains(t *testing.T, s *shift) {
	s.nodes(t, "1")
	s.job(t, "map", 3, "1", "300ms", func(j *batchv1.Job) {
		j.Spec.BackoffLimit = new(int32)
		j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionIgnore,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}}}}
	})
	waitFor(t, "a pod", func() bool {
		return slices.ContainsFunc(s.pods(t, s.name, "map"), func(p corev1.Pod) bool { return p.Spec.NodeName != "" })
	})
	if _, err := s.client.CoreV1().Nodes().Patch(t.Context(), "drain-0", types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.pods(t, s.name, "map") {
		err := s.client.PolicyV1().Evictions(s.name).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: s.name}})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	s.node(t, "drain-1", "2", map[string]string{"room": s.name})
	s.complete(t, "map")
}

// A namespace is deleted in which 60 pods wait and 4 run. It goes, and Jobs of another one have the room.
func namespaceGoes(t *testing.T, s *shift) {
	s.nodes(t, "4")
	gone := s.shift(t, "namespace-gone")
	gone.job(t, "map", 64, "1", "", func(j *batchv1.Job) { j.Spec.Template.Spec.NodeSelector = map[string]string{"room": s.name} })
	gone.wait(t, "map", 4, 60)
	s.job(t, "next", 4, "1", "50ms")
	if err := s.client.CoreV1().Namespaces().Delete(t.Context(), gone.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.complete(t, "next")
	waitFor(t, "the namespace is gone", func() bool {
		_, err := s.client.CoreV1().Namespaces().Get(t.Context(), gone.name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// Jobs that are deleted as soon as they are complete, thirty at once, leave nothing behind.
func ttl(t *testing.T, s *shift) {
	s.nodes(t, "2")
	for i := range 30 {
		s.job(t, fmt.Sprint("map", i), 2, "1", "10ms", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = new(int32) })
	}
	waitFor(t, "all are gone", func() bool {
		list, err := s.client.BatchV1().Jobs(s.name).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
	s.job(t, "last", 2, "1", "10ms")
	s.complete(t, "last")
}

// The API server is restarted while pods wait: the Job completes, and each of its pods runs once.
func apiServer(t *testing.T, s *shift) {
	s.nodes(t, "4")
	s.job(t, "map", 60, "1", "200ms", func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32) })
	done := func() int32 {
		j, err := s.client.BatchV1().Jobs(s.name).Get(t.Context(), "map", metav1.GetOptions{})
		if err != nil {
			return 0
		}
		return j.Status.Succeeded
	}
	waitFor(t, "some are done", func() bool { return done() >= 10 })
	s.Stop(kubetest.APIServer)
	if err := s.Restart(t.Context(), kubetest.APIServer); err != nil {
		t.Fatal(err)
	}
	s.complete(t, "map")
	if n := done(); n != 60 {
		t.Errorf("%d pods have succeeded, want 60", n)
	}
}
