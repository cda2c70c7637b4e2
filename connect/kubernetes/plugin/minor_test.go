//go:build !kubernetes1.35

package plugin

import "k8s.io/client-go/tools/events"

// eventRecorder is what a handle of the framework records events with.
type eventRecorder = events.EventRecorderLogger
