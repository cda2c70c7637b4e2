package input

import (
	"fmt"
	"testing"
)

func TestGeneratorFlag(t *testing.T) {
	var g Generator
	if err := g.Set("hfsp-dev:bins=1,1,0,0,jobs=50,load=0.9"); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(g.Options), "map[bins:1,1,0,0 jobs:50 load:0.9]"; got != want || g.From.Name != "hfsp-dev" {
		t.Errorf("generator %s with %s, want hfsp-dev with %s", g.From.Name, got, want)
	}
	for _, text := range []string{"", "hfsp", "hfsp-dev:", "hfsp-dev:jobs", "hfsp-dev:=3", "hfsp-dev:jobs=1,jobs=2", "hfsp-dev:jobs=1,=2"} {
		var g Generator
		if err := g.Set(text); err == nil || g.Given() {
			t.Errorf("--gen %q: %v, %v; want an error", text, g, err)
		}
	}
}
