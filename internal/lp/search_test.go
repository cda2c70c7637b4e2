package lp

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"weak"
)

// A solution keeps neither the program nor the work space: for ten million tasks they are most
// of the memory.
func TestSolutionLetsGo(t *testing.T) {
	jf := drawForm(rand.New(rand.NewPCG(1, 1)), 50, 2)
	program := weak.Make(jf)
	s := SolveByPrice(jf, 1e-4, 20, 100)
	runtime.GC()
	if program.Value() != nil {
		t.Error("the program is still in memory")
	}
	if len(s.C) != 50 {
		t.Errorf("a point of %d jobs", len(s.C))
	}
}
