package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A program that goes on after an interrupt is ended, at once at a second one, also while nobody reads what it says on stderr. What
// was in its place stays there, and what is not finished is removed.
func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself such a signal")
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range signals() { // one that this process was started to ignore, by nohup or in the background of a script, stays ignored
		for _, times := range []int{1, 2} {
			dir := t.TempDir()
			out, err := (&Folder{Dir: filepath.Join(dir, "whole")}).Create()
			if err == nil {
				err = out.Commit()
			}
			if err == nil {
				_, err = (&Folder{Dir: filepath.Join(dir, "folder")}).Create()
			}
			if err != nil {
				t.Fatal(err)
			}
			writing, release, written := make(chan bool), make(chan bool), make(chan error)
			go func() {
				written <- Replace(filepath.Join(dir, "file"), func(io.Writer) error {
					close(writing)
					<-release
					return errors.New("released")
				})
			}()
			<-writing

			silent, stderr := io.Pipe()
			exit := make(chan int)
			ctx, stop := Interruptible(t.Context(), "prog", stderr, func(status int) { exit <- status })
			var said strings.Builder
			read := make(chan bool)
			if sig != syscall.SIGHUP { // as where the terminal is gone
				go func() {
					io.CopyN(&said, silent, int64(len("prog: interrupted\n")))
					close(read)
				}()
			}
			start := time.Now()
			for range times {
				if err := self.Signal(sig); err != nil {
					t.Fatal(err)
				}
				<-ctx.Done()
			}
			if status := <-exit; status != 1 {
				t.Errorf("%v: status %d, want 1", sig, status)
			}
			if took := time.Since(start); times == 1 && took < grace {
				t.Errorf("%v: ended after %v, want not before %v", sig, took, grace)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || entries[0].Name() != "whole" {
				t.Errorf("%v: the folder holds %v, %v, want whole alone", sig, entries, err)
			}
			if sig != syscall.SIGHUP {
				if <-read; said.String() != "prog: interrupted\n" {
					t.Errorf("%v: stderr has %q", sig, said.String())
				}
			}
			stop()
			unfinished.Unlock()
			close(release)
			<-written
			clear(unfinished.names)
		}
	}
}
