// Package plugin is a plugin of kube-scheduler that lets Jobs start in the order of a sojourn policy. Use it if you may run a
// scheduler of your own in your cluster, and want every constraint of kube-scheduler as it is: the plugin decides which pod is next,
// and kube-scheduler where it goes. The command sojourn-kube-scheduler is kube-scheduler with this plugin:
//
//	os.Exit(cli.Run(app.NewSchedulerCommand(app.WithPlugin(plugin.Name, plugin.New))))
//
// Tier: kit.
//
// Pods of Jobs take part that name a profile in which it is enabled, by spec.schedulerName. [Args] are its arguments. It must come
// before other PostFilter plugins, which deploy/plugin.yaml sees to.
//
// # How it works
//
// PreEnqueue holds each pod of a Job in the memory of kube-scheduler. When the policy
// gives a pod its turn, the plugin activates it, and kube-scheduler looks for a node as always.
//
// What the cluster holds is not configured, and no node needs slots. A slot of the policy is a token: one for each pod of a Job
// that runs or is in flight, and a few that are free while a pod waits that may fit. If a pod fits nowhere, it gives its token
// back and waits, with all pods of the same shape, until a pod has ended or a node has come, while those of other shapes go on. A
// shape is what pods request and where they may go. After a pod has found a node, one more may be in flight, up to 16; after a miss,
// one. So the policy decides pod by pod where room is short, and few tries are in vain (TestOrder).
// Where nothing is known to have changed, a shape is tried anew after 20 ms, then after longer and longer, at most 10 s. Of all shapes, 100
// are tried anew each second at most, so that many of them do not keep kube-scheduler busy (TestManyShapes).
//
// While large pods wait, small ones pass them. After [Args].Patience a node is kept for the one that has waited, for up to 10
// minutes: the plugin nominates the pod to the node that is short by the least, and kube-scheduler then leaves room there
// (TestLargePod).
//
// # What is promised
//
//   - kube-scheduler places every pod. So nothing is over-committed, and taints, affinity, spread, volumes, device claims, quotas,
//     priorities and preemption are kube-scheduler's own. The plugin ends no pod.
//   - All pods of a Job are one job of the policy, with indexes or without (TestShortJobGoesFirst). Annotations are those of package
//     kubernetes, in the bounds of [kubernetes.Limits]: by default the pool of a Job is its namespace, and no weight is above 1.
//   - A Job that the policy refuses, or whose annotations are wrong, is scheduled as without the plugin; an event NotOrdered says
//     why. So is a pod whose Job is not known after 10 seconds (TestRefusedJobsPass). Pods that no Job has made, and pods with a
//     schedulingGroup, pass at once (TestWhoWaits). If the plugin fails, all pods pass, and the log says so (TestFailureLetsAllPass).
//   - A pod that fits nowhere says Unschedulable, as always. The pods that wait behind it, of its shape, say the same, up to 100 more each
//     second, so an autoscaler sees how many wait (TestAutoscalerSeesAll). A pod that waits for its turn while others of its shape fit has
//     no condition PodScheduled, as one that waits in the queue of kube-scheduler.
//   - /metrics of kube-scheduler tells by pool how many pods wait (sojourn_waiting_pods), for how long (sojourn_longest_wait_seconds), and how
//     long those had waited that found a node (sojourn_wait_seconds), 1,000 pools at most, and the others as one
//     (TestMetrics, TestMetricsOfManyPools).
//   - After a restart, each pod that runs is an attempt of the policy, and the ages of Jobs are told (TestRestart). What the policy
//     has learned is lost.
//
// # What is not
//
//   - Policies that promise deadlines, such as rtmr, are refused: nobody knows what the cluster holds.
//   - Policies never preempt here. Slots that a policy keeps free for short tasks are tokens, and no room on a node.
//   - Changed annotations count for Jobs that come later, not for one that the policy has.
//   - A replica that waits lets few pods go, of which none is tried (TestReplicaThatWaits): these may be out of turn once it leads.
//
// Built and tested with Kubernetes 1.36.3, and by connect/kubernetes/minor.sh with 1.35.4 and the build tag kubernetes1.35. The interfaces of
// the framework are those of k8s.io/kube-scheduler, which it has had since 1.35.
package plugin
