//go:build all

package sojourn_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fused matches a multiplication and an addition that the compiler has fused, in
// the output of -S: the place in the source, then the instruction.
var fused = regexp.MustCompile(`\(([^()]+:\d+)\)\t(V?FN?M(?:ADD|SUB)\w*)\t`)

// assembly returns what the compiler prints for packages of the module in dir.
func assembly(t *testing.T, dir string, packages, env []string) []byte {
	t.Helper()
	cmd := exec.Command("go", append([]string{"build", "-gcflags=-S"}, packages...)...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "GOOS=linux", "CGO_ENABLED=0"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s go build: %v\n%.2000s", strings.Join(env, " "), err, out)
	}
	return out
}

// A fused multiply-add rounds once instead of twice. So the last bit of a sum
// differs between platforms with and without it. The compiler fuses x*y + z, but
// not float64(x*y) + z.
//
// It compiles the module for two other platforms, for one with -short, which takes a minute of processor
// time, so that only .ci/run does it.
func TestNoFusedMultiplyAdd(t *testing.T) {
	platforms := [][]string{{"GOARCH=arm64"}, {"GOARCH=amd64", "GOAMD64=v3"}}
	if testing.Short() {
		platforms = platforms[:1]
	}

	tr, err := load(os.DirFS(".")) // go test sees these reads, and runs the test again after a change
	if err != nil {
		t.Fatal(err)
	}
	var packages []string
	for _, f := range tr.inOrder() {
		if k := kindOf(f.dir); k != helper && k != program && len(f.code) > 0 {
			packages = append(packages, "./"+f.dir)
		}
	}
	for _, env := range platforms {
		asm := assembly(t, ".", packages, env)
		if len(asm) == 0 {
			t.Errorf("%v: the compiler printed no assembly", env)
		}
		places := map[string]bool{}
		for _, m := range fused.FindAllSubmatch(asm, -1) {
			if place := string(m[1]); !places[place] {
				places[place] = true
				t.Errorf("%v: %s: %s: write float64(x*y) + z", env, place, m[2])
			}
		}
	}

	// The same on a package that has one of each.
	dir := t.TempDir()
	const src = `package p

func Fused(x, y, z float64) float64 { return x*y + z }
func Apart(x, y, z float64) float64 { return float64(x*y) + z }
`
	for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.25.0\n", "p.go": src} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, env := range platforms {
		found := fused.FindAllSubmatch(assembly(t, dir, []string{"."}, env), -1)
		if len(found) != 1 || !strings.HasSuffix(string(found[0][1]), "p.go:3") {
			t.Errorf("%v: found %q in\n%s\nwant one, in line 3", env, found, src)
		}
	}
}
