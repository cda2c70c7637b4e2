package command

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

const evil = "e\x1b[2J\a\r\x7f\u0085\u202e\u2028\ufeff\xff"

// check fails the test if a text has what a terminal obeys, or does not have the name.
func check(t *testing.T, what, text string) {
	t.Helper()
	bad := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || slices.Contains([]rune{0x2028, 0xfeff}, r) || unicode.Is(unicode.Bidi_Control, r)
	}
	if strings.ContainsFunc(text, bad) || !utf8.ValidString(text) {
		t.Errorf("%s prints %q", what, text)
	}
	if !strings.Contains(text, `\u202e`) {
		t.Errorf("%s prints %q without the name", what, text)
	}
}

// What client-go logs, in each of the ways in which klog is used, has no character that terminals obey.
func TestLogsShowNames(t *testing.T) {
	var out bytes.Buffer
	logTo(shown{&out})
	defer klog.ClearLogger()
	err := errors.New(evil)
	for what, log := range map[string]func(){
		"Errorf":  func() { klog.Errorf("pod %s", evil) },
		"Warning": func() { klog.Warning(evil) },
		"Infof":   func() { klog.Infof("%s\n%s", evil, evil) },
		"InfoS":   func() { klog.InfoS(evil, "name", evil, "lines", evil+"\n"+evil) },
		"ErrorS":  func() { klog.ErrorS(err, evil, evil, evil) },
		"a logger": func() {
			klog.Background().WithName(evil).WithValues("a", evil+"\n").Error(err, evil, "b", []string{evil})
		},
		"a logger of a key": func() { klog.FromContext(t.Context()).Info("x", "struct", struct{ A string }{evil}) },
		"HandleError":       func() { runtime.HandleErrorWithContext(t.Context(), err, evil, "name", evil) },
	} {
		out.Reset()
		log()
		klog.Flush()
		check(t, what, out.String())
	}
}

// So has what is wrong with flags.
func TestFlagsShowNames(t *testing.T) {
	none := func(*Flags) error { return nil }
	policy := func(f *Flags) error { _, err := f.Policy(); return err }
	for arg, use := range map[string]func(*Flags) error{
		"-" + evil: none, "-qps=" + evil: none, evil: none,
		"-policy=" + evil: policy, "-policy=fair:pools=" + evil: policy, "-policy=fifo:" + evil + "=1": policy,
		"-lease=" + evil:      func(f *Flags) error { _, err := f.Lease(); return err },
		"-kubeconfig=" + evil: func(f *Flags) error { _, err := f.Client(); return err },
		"-listen=" + evil:     func(f *Flags) error { return f.Run(t.Context(), nil) },
	} {
		old := os.Stderr
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		os.Stderr = w
		said := make(chan string)
		go func() {
			text, _ := io.ReadAll(r)
			said <- string(text)
		}()
		f := NewFlags("name", 1)
		if err = f.Parse([]string{arg}); err == nil {
			err = use(f)
		}
		if err == nil {
			t.Fatalf("%q: no error", arg)
		}
		report("name", err)
		os.Stderr = old
		w.Close()
		check(t, arg, <-said)
	}
}
