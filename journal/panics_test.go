package journal

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// A policy that panics while Open asks it again is defective. It is not taken for one that decides otherwise, which would be
// made anew and lose what it knew.
func TestPanicsWhenAskedAgain(t *testing.T) {
	m := newMemory()
	j := mustOpen(t, m, newFIFO(t), Options{})
	for _, call := range story()[:7] {
		if err := call(j); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	was := m.String()
	defer func() {
		if r := recover(); r != "defect" {
			t.Errorf("Open of a policy that panics: %v, want its panic", r)
		}
		if now := m.String(); now != was {
			t.Errorf("the journal was\n%s\nand is\n%s", was, now)
		}
	}()
	s, err := openFiles(m, "dir")
	if err != nil {
		t.Fatal(err)
	}
	Open(s, panics{newFIFO(t)}, Options{})
	t.Error("Open returns")
}

// panics has a defect in Assign.
type panics struct{ *inOrder }

func (panics) Assign(sojourn.SlotID) (sojourn.Assignment, bool) { panic("defect") }
