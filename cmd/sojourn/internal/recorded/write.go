package recorded

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
)

// WritePage writes the page of a folder into it.
func WritePage(ctx context.Context, dir string) error {
	r, err := Page(ctx, []string{dir})
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, files.Report))
	if err != nil {
		return err
	}
	return cmp.Or(r.Write(file), file.Close())
}
