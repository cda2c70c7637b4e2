package vqueue_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// Each value is read back from its text, and only the default gives way.
func TestLate(t *testing.T) {
	for _, late := range []vqueue.Late{vqueue.LateDefault, vqueue.LateFirst, vqueue.LateShare} {
		text, _ := late.MarshalText()
		got := vqueue.Late(7)
		if err := got.UnmarshalText(text); err != nil || got != late {
			t.Errorf("%v is read back as %v, %v", late, got, err)
		}
		want := late
		if late == vqueue.LateDefault {
			want = vqueue.LateShare
		}
		if got := late.Or(vqueue.LateShare); got != want {
			t.Errorf("%v.Or(LateShare) = %v, want %v", late, got, want)
		}
	}
	late := vqueue.LateShare
	if err := late.UnmarshalText([]byte("auto")); err == nil || late != vqueue.LateShare {
		t.Errorf(`of "auto": %v, %v, want an error and what it was`, late, err)
	}
}
