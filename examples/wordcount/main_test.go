package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	var files []string
	for i := range 9 {
		files = append(files, filepath.Join(t.TempDir(), fmt.Sprint(i)))
		text := strings.Repeat("Sojourn, sojourn! ", i) + "a job and a task."
		if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got strings.Builder
	if err := count(context.Background(), &got, files, 3); err != nil {
		t.Fatal(err)
	}
	if want := "    72  sojourn\n    18  a\n     9  and\n"; got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	if err := count(context.Background(), &got, append(files, "absent"), 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is absent: %v", err)
	}
	if err := count(context.Background(), &got, nil, 3); err == nil {
		t.Error("no files: no error")
	}
}
