//go:build !kubernetes1.35

package plugin

import corev1 "k8s.io/api/core/v1"

// grouped reports whether a pod belongs to a group that kube-scheduler schedules as one.
func grouped(o *corev1.Pod) bool { return o.Spec.SchedulingGroup != nil }
