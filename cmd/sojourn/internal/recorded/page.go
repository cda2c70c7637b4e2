package recorded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
)

// Page reads folders and returns the page that shows them: runs of the same workload on the same
// cluster together, or one folder of a sweep, of several seeds, or of a plan.
func Page(ctx context.Context, dirs []string) (*page.Report, error) {
	if len(dirs) == 1 {
		for _, kind := range []struct {
			name string
			read func(string) (*page.Report, error)
		}{{files.Seeds, readSeeds}, {files.Sweep, readSweep}, {files.Plan, readPlan}} {
			if _, err := os.Stat(filepath.Join(dirs[0], kind.name)); err == nil {
				return kind.read(dirs[0])
			}
		}
	}
	var found []string
	for _, dir := range dirs {
		list, err := runsIn(dir)
		if err != nil {
			return nil, err
		}
		found = append(found, list...)
	}
	var runs []*run
	for _, dir := range found {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, err := readRun(dir)
		if err != nil {
			return nil, err
		}
		if err := r.sameAs(runs); err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return comparison(runs), nil
}

// runsIn returns the folders of runs in a folder: itself, or those below it in the order of
// their numbers.
func runsIn(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, files.Run)); err == nil {
		return []string{dir}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, plain(err)
	}
	var list []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(dir, e.Name(), files.Run)); err == nil {
			list = append(list, filepath.Join(dir, e.Name()))
		} else if !errors.Is(err, fs.ErrNotExist) && e.IsDir() {
			return nil, plain(err)
		}
	}
	if len(list) == 0 {
		return nil, usage.Errorf("folder %s holds no run: it has no %s, and no folder in it has one", dir, files.Run)
	}
	rank := func(dir string) int {
		n, _, _ := strings.Cut(filepath.Base(dir), "-")
		k, _ := strconv.Atoi(n)
		return k
	}
	slices.SortStableFunc(list, func(a, b string) int { return rank(a) - rank(b) })
	return list, nil
}

// sameAs returns an error unless r can be compared with the other runs.
func (r *run) sameAs(others []*run) error {
	if len(others) == 0 {
		return nil
	}
	a, b := others[0], r
	switch {
	case a.info.Input != b.info.Input:
		return usage.Errorf("%s ran workload %s and %s another one, %s: runs of one workload can be compared", a.dir, a.info.Input.describe(), b.dir, b.info.Input.describe())
	case a.info.Cluster.Name != b.info.Cluster.Name || !maps.Equal(a.info.Cluster.Slots, b.info.Cluster.Slots):
		return usage.Errorf("%s ran on cluster %s and %s on %s: runs on one cluster can be compared", a.dir, a.info.Cluster.Name, b.dir, b.info.Cluster.Name)
	}
	for i := range r.jobs {
		if r.jobs[i].id != a.jobs[i].id || r.jobs[i].arrival != a.jobs[i].arrival {
			return usage.Errorf("job %d of %s is not that of %s: runs of one workload and one seed can be compared", i+1, b.dir, a.dir)
		}
	}
	return nil
}

func (w Workload) describe() string {
	text := fmt.Sprintf("%s (%d jobs)", w.Name, w.Jobs)
	if w.Scaled != "" {
		text += ", " + w.Scaled
	}
	return text
}
