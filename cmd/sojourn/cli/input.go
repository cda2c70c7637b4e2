package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sim"
	"github.com/sojourn-sched/sojourn/trace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// inputFlags name the workload and the cluster.
type inputFlags struct {
	workload string
	sample   bool
	gen      generatorFlag
	cluster  string

	// stream keeps no jobs in memory; see [streamed].
	stream bool
}

func (f *inputFlags) register(flags *pflag.FlagSet) {
	f.registerWorkload(flags)
	flags.Var(&f.gen, "gen", "make the workload: `NAME` or NAME:option=value,...")
	flags.StringVarP(&f.cluster, "cluster", "c", "", "`CLUSTER`: 20x4+1,10x2+1 (nodes x map+reduce slots), 50x2 (slots that take any class), or a JSON file")
}

func (f *inputFlags) registerWorkload(flags *pflag.FlagSet) {
	flags.StringVarP(&f.workload, "workload", "w", "", "workload `FILE` (JSON lines, gzip accepted, - is stdin)")
	flags.BoolVar(&f.sample, "sample", false, "use the built-in, made-up workload")
}

// load reads the cluster, which --sample and some generators bring along unless -c
// is given, and reads the workload or makes that of a seed.
func (f *inputFlags) load(cmd *cobra.Command, seed uint64) (*cluster, *workload, error) {
	if err := f.checkWorkload(); err != nil {
		return nil, nil, err
	}
	spec := f.cluster
	if spec == "" && f.sample {
		spec = sampleCluster
	}
	if spec == "" && f.gen.given() {
		spec = f.gen.from.Cluster
	}
	if spec == "" {
		return nil, nil, usagef("no cluster: give -c, such as -c 20x4+1")
	}
	c, err := readCluster(spec)
	if err != nil {
		return nil, nil, err
	}
	if f.gen.given() {
		w, err := f.gen.workload(cmd.Context(), seed, f.stream)
		return c, w, err
	}
	w, err := f.loadWorkload(cmd, c)
	return c, w, err
}

func (f *inputFlags) checkWorkload() error {
	switch {
	case f.sample && f.workload != "":
		return usagef("--sample and -w exclude each other")
	case f.gen.given() && (f.sample || f.workload != ""):
		return usagef("--gen and -w or --sample exclude each other")
	case !f.sample && !f.gen.given() && f.workload == "":
		return usagef("no workload: give -w FILE, or --sample for the built-in one")
	}
	return nil
}

// openInput opens a file, or stdin if name is "-", and returns with it the name that
// messages use.
func openInput(cmd *cobra.Command, name string) (io.ReadCloser, string, error) {
	if name == "-" {
		return io.NopCloser(cmd.InOrStdin()), "stdin", nil
	}
	file, err := openFile(name)
	return file, name, err
}

// openFile opens a file. A folder is none.
func openFile(name string) (*os.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("this is a folder, not a file")}
	}
	return file, nil
}

// loadWorkload reads the workload. c is the cluster that its nodes belong to, or
// nil.
func (f *inputFlags) loadWorkload(cmd *cobra.Command, c *cluster) (*workload, error) {
	if f.sample {
		return readWorkload(bytes.NewReader(sampleWorkload), sampleName, c)
	}
	file, name, err := openInput(cmd, f.workload)
	if err != nil {
		return nil, err
	}
	var w *workload
	if f.stream {
		w, err = streamed(file, name, c)
	} else {
		w, err = readWorkload(file, name, c)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	w.name = filepath.Base(name)
	if !f.stream {
		return w, file.Close()
	}
	spool := w.close
	w.close = func() error { return errors.Join(spool(), file.Close()) }
	return w, nil
}

// A cluster is a cluster with what its owner calls it.
type cluster struct {
	sim.Cluster
	name  string
	nodes map[string]sojourn.NodeID
}

// shortForm matches what is meant to be the short form of a cluster.
var shortForm = regexp.MustCompile(`^([0-9x+,]*$|[0-9]+x)`)

// readCluster reads a cluster from its short form, or else from the file of that
// name. What looks like a short form with an error, and is no file, is one.
func readCluster(spec string) (*cluster, error) {
	c := &cluster{name: spec, nodes: map[string]sojourn.NodeID{}}
	file, err := (*os.File)(nil), error(fs.ErrNotExist)
	if strings.Trim(spec, "0123456789x+,") != "" {
		file, err = openFile(spec)
	}
	switch {
	case err == nil:
		defer file.Close()
		if c.Cluster, err = trace.ReadCluster(file, spec); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case !shortForm.MatchString(spec):
		return nil, fmt.Errorf("cluster %q is neither of the form 20x4+1 nor a file", spec)
	default:
		if c.Cluster, err = trace.ParseCluster(spec); err != nil {
			var bad *trace.Error
			if errors.As(err, &bad) {
				err = fmt.Errorf("cluster %q: column %d: %s", spec, bad.Column, bad.Reason)
			}
			return nil, usageError{err}
		}
	}
	for i, n := range c.Nodes {
		c.nodes[n.Name] = sojourn.NodeID(i + 1)
	}
	return c, nil
}

// nodeName returns the name of a node, "" for none.
func (c *cluster) nodeName(id sojourn.NodeID) string {
	if id == 0 {
		return ""
	}
	return c.Nodes[id-1].Name
}

// classes returns the names of the classes that the cluster has slots of.
func (c *cluster) classes() []string {
	if c.Uniform {
		return []string{"uniform"}
	}
	return []string{"map", "reduce"}
}

// describe returns the size of the cluster, such as "10 nodes, 20 map and 10
// reduce slots".
func (c *cluster) describe() string {
	n := c.Capacity()
	slots := fmt.Sprintf("%s map and %s slots", thousands(n[0]), thousands(n[1])+" reduce")
	if c.Uniform {
		slots = count(n[0], "uniform slot")
	}
	return count(len(c.Nodes), "node") + ", " + slots
}

// A workload is a list of jobs in memory: it is read once, so that every policy
// sees the same jobs, also from stdin. Or it is read anew each time: see streamed.
type workload struct {
	name   string
	sha256 string // of the input as it was given, compressed or not
	jobs   []*sim.Job

	again func() iter.Seq2[*sim.Job, error] // takes the place of jobs
	known facts                             // if there is again
	close func() error                      // nil if there is nothing to close
}

// facts is what is to be known of the jobs of a workload besides the jobs.
type facts struct {
	meter
	tasks  int
	told   int         // jobs that bring an estimate of their own
	sizes  map[int]int // how many jobs have so many tasks
	sized  bool        // a job says how many bytes its first phase reads
	placed bool        // a task has a place for its input
}

func (f *facts) add(j *sim.Job) {
	f.meter.add(j)
	n := j.Tasks()
	f.tasks += n
	if f.sizes == nil {
		f.sizes = map[int]int{}
	}
	f.sizes[n]++
	if slices.ContainsFunc(j.Phases, func(p sojourn.Phase) bool { return p.Estimate != 0 || p.Estimates != nil }) {
		f.told++
	}
	f.sized = f.sized || j.Phases[0].Bytes != nil
	f.placed = f.placed || slices.ContainsFunc(j.Phases, func(p sojourn.Phase) bool { return p.Inputs.Len() > 0 })
}

// facts returns what is to be known of the jobs.
func (w *workload) facts() facts {
	if w.again != nil {
		return w.known
	}
	var f facts
	for _, j := range w.jobs {
		f.add(j)
	}
	return f
}

// load returns the load of each class: see [meter.load].
func (w *workload) load(c *cluster) [2]float64 {
	known := w.facts()
	return known.load(c)
}

// readWorkload reads a workload that errors call name. c is the cluster that its
// nodes belong to, or nil.
func readWorkload(r io.Reader, name string, c *cluster) (*workload, error) {
	hash := sha256.New()
	w := &workload{name: name}
	for j, err := range workloadJobs(io.TeeReader(r, hash), name, c) {
		if err != nil {
			return nil, err
		}
		w.jobs = append(w.jobs, j)
	}
	if len(w.jobs) == 0 {
		return nil, noJobs(name)
	}
	w.sha256 = hex.EncodeToString(hash.Sum(nil))
	return w, nil
}

// streamed reads a workload as readWorkload does, but keeps none of its jobs: they are
// read again whenever they are asked for. What is no regular file is kept in a temporary
// one for that.
func streamed(r io.Reader, name string, c *cluster) (*workload, error) {
	hash := sha256.New()
	size := counter(0)
	in := io.TeeReader(r, io.MultiWriter(hash, &size))
	w := &workload{name: name, close: func() error { return nil }}
	file, _ := r.(*os.File)
	if file == nil || !isRegular(file) {
		s, err := newSpool("")
		if err != nil {
			return nil, err
		}
		file, w.close = s.File, s.remove
		in = io.TeeReader(in, s)
	}
	for j, err := range workloadJobs(in, name, c) {
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		w.known.add(j)
	}
	if w.known.count == 0 {
		return nil, errors.Join(noJobs(name), w.close())
	}
	w.sha256 = hex.EncodeToString(hash.Sum(nil))
	w.again = func() iter.Seq2[*sim.Job, error] {
		return func(yield func(*sim.Job, error) bool) {
			hash := sha256.New()
			for j, err := range workloadJobs(io.TeeReader(io.NewSectionReader(file, 0, int64(size)), hash), name, c) {
				if !yield(j, err) || err != nil {
					return
				}
			}
			if hex.EncodeToString(hash.Sum(nil)) != w.sha256 {
				yield(nil, fmt.Errorf("%s: it changed while it was read", name))
			}
		}
	}
	return w, nil
}

func isRegular(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode().IsRegular()
}

// A counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// workloadJobs reads the jobs of a workload file one by one.
func workloadJobs(r io.Reader, name string, c *cluster) iter.Seq2[*sim.Job, error] {
	o := trace.ReadOptions{File: name}
	if c != nil {
		o.Nodes = func(node string) sojourn.NodeID { return c.nodes[node] }
	}
	return trace.Read(r, o)
}

func noJobs(name string) error {
	return &trace.Error{File: name, Line: 1, Column: 1, Reason: "no jobs"}
}

// all yields the jobs.
func (w *workload) all() iter.Seq2[*sim.Job, error] {
	if w.again != nil {
		return w.again()
	}
	return func(yield func(*sim.Job, error) bool) {
		for _, j := range w.jobs {
			if !yield(j, nil) {
				return
			}
		}
	}
}

// change changes every job.
func (w *workload) change(job func(*sim.Job) error) error {
	if before := w.again; before != nil {
		w.known = facts{}
		w.again = func() iter.Seq2[*sim.Job, error] {
			return func(yield func(*sim.Job, error) bool) {
				for j, err := range before() {
					if err == nil {
						err = job(j)
					}
					if !yield(j, err) || err != nil {
						return
					}
				}
			}
		}
		for j, err := range w.again() {
			if err != nil {
				return err
			}
			w.known.add(j)
		}
		return nil
	}
	for _, j := range w.jobs {
		if err := job(j); err != nil {
			return err
		}
	}
	return nil
}

// estimatesModes are the forms of the value of --estimates.
var estimatesModes = []string{"exact", "none", "lognormal:SIGMA"}

// estimatesFlag is the value of --estimates.
type estimatesFlag sim.Estimates

// String returns the value in the form that Set reads.
func (e *estimatesFlag) String() string {
	switch e.Mode {
	case sim.None:
		return "none"
	case sim.LogNormal:
		return "lognormal:" + strconv.FormatFloat(e.Sigma, 'g', -1, 64)
	}
	return "exact"
}

// Type returns the name of the value for the help text.
func (e *estimatesFlag) Type() string { return "MODE" }

// Set reads exact, none or lognormal:SIGMA.
func (e *estimatesFlag) Set(text string) error {
	mode, sigma, hasSigma := strings.Cut(text, ":")
	switch {
	case text == "exact":
		*e = estimatesFlag{}
		return nil
	case text == "none":
		*e = estimatesFlag{Mode: sim.None}
		return nil
	case mode == "lognormal" && hasSigma:
		// No more than 10: exp(10) is already an error by a factor of 22,000.
		if s, err := strconv.ParseFloat(sigma, 64); err == nil && s >= 0 && s <= 10 {
			*e = estimatesFlag{Mode: sim.LogNormal, Sigma: s}
			return nil
		}
	}
	return errors.New("want " + listed(estimatesModes) + " with SIGMA from 0 to 10, such as lognormal:0.5")
}
