package convert

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// The formats that convert reads.
var (
	Formats       = slices.Concat([]string{"csv"}, DescribedFormats, []string{"spark", "swf", "swim", "rumen", "sls", "jhist", "alibaba", "wfcommons", FromHistory, "workload"})
	HadoopFormats = []string{"rumen", "sls", "jhist"}
	LoggedFormats = []string{"rumen", "sls", "jhist", "swf"}

	// TableFormats are those of the reader of tables, which holds all jobs in memory and takes several files.
	TableFormats = append([]string{"csv", "spark"}, DescribedFormats...)

	// DescribedFormats are logs of which it knows the columns.
	DescribedFormats = []string{"sacct", "slurm", "pbs", "airflow", "github", "gitlab", "kubernetes", "alibaba-gpu", "philly", "batsim"}
)

// An Input is a file to convert.
type Input struct {
	Reader io.Reader
	Name   string // that errors have
}

// FromHistory is the format of histories and journals, which may be folders.
const FromHistory = "history"

// The formats that convert writes.
var Targets = []string{"workload", "swf"}

// PoolKeys are the values of --pool.
var PoolKeys = []string{"queue", "user", "group", "none"}

// A Conversion says how to read a trace of another format, and how to turn it into
// a workload.
type Conversion struct {
	From string // the format
	To   string // one of Targets
	SWIM trace.SWIMOptions

	// Of traces that hold tasks:
	Pool       string
	Successful bool
	Window     int
	Topology   string
	Slots      string
	ClusterOut string
	Requested  bool

	// Of tables:
	Columns    Columns
	Separator  string
	Zone       string
	SlotSize   string
	JoinArrays bool

	Strict    bool
	KeepTimes bool

	// Entries are the checked calls of a history.
	Entries iter.Seq2[history.Entry, error]
	notes   string // what is assumed of them; known at the end of the jobs

	Load    input.ScaledLoad
	Cluster string // that the load is for
}

// Check refuses values that fit no trace, and options without others that they
// need.
func (f *Conversion) Check() error {
	switch {
	case f.Window < 1:
		return usage.Errorf("--window %d is not a number of jobs of at least 1", f.Window)
	case f.Pool == "group" && f.From != "swf" && !slices.Contains(TableFormats, f.From):
		return usage.Errorf("--pool group says nothing about %s", f.From)
	}
	if _, err := f.poolKey(); err != nil {
		return err
	}
	if _, err := ParseSeparator(f.Separator); err != nil {
		return usage.Wrap(err)
	}
	if _, err := newTableReader(f); err != nil {
		return usage.Wrap(err)
	}
	if !slices.Contains(Targets, f.To) {
		return usage.Errorf("--to %q is not %s", f.To, format.Listed(Targets))
	}
	if f.Load.Load > 0 && f.Cluster == "" {
		return usage.Errorf("--load needs a cluster: give -c, such as -c 30x2+1")
	}
	if err := f.Load.Check(); err != nil {
		return err
	}
	return checkSWIM(&f.SWIM)
}

func (f *Conversion) poolKey() (trace.PoolKey, error) {
	i := slices.Index(PoolKeys, f.Pool)
	if i < 0 {
		return 0, usage.Errorf("--pool %q is not %s", f.Pool, format.Listed(PoolKeys))
	}
	return [...]trace.PoolKey{trace.PoolQueue, trace.PoolUser, trace.PoolGroup, trace.PoolNone}[i], nil
}

// hosts returns the hosts of the topology, if there is one.
func (f *Conversion) hosts() (*hosts, error) {
	h := &hosts{ids: map[string]sojourn.NodeID{}}
	if f.Topology == "" {
		return h, nil
	}
	read := func(r io.Reader, name string) (err error) {
		h.cluster.Uniform = true
		h.cluster.Nodes, h.speed, err = readPlatform(r, name)
		return err
	}
	if f.From != "batsim" {
		one, err := trace.ParseCluster("1x" + f.Slots)
		if err != nil || len(one.Nodes) != 1 {
			return h, usage.Errorf("--slots %q is not of the form 2+2 (map and reduce slots), 2+2+1 (and of class 2) or 4 (uniform slots)", f.Slots)
		}
		read = func(r io.Reader, name string) (err error) {
			h.cluster, err = trace.ReadTopology(r, trace.TopologyOptions{File: name, Slots: one.Nodes[0].Slots, Uniform: one.Uniform})
			return err
		}
	}
	file, err := files.Open(f.Topology)
	if err != nil {
		return h, err
	}
	defer file.Close()
	err = read(file, f.Topology)
	h.number()
	return h, err
}

// jobs reads a trace. stats are complete at its end.
func (f *Conversion) jobs(in []Input, h *hosts, stats *trace.Stats) (iter.Seq2[*sim.Job, error], error) {
	if slices.Contains(TableFormats, f.From) {
		return f.readTables(in, h.speed, stats), nil
	}
	text := in[0].Reader
	if text != nil {
		plain := bufio.NewReaderSize(text, 1<<16)
		if err := recognized(plain); err != nil {
			return nil, &trace.Error{File: in[0].Name, Line: 1, Column: 1, Reason: err.Error()}
		}
		text = plain
	}
	jobs, err := f.traced(text, in[0].Name, h, stats)
	if f.From == "workload" || f.KeepTimes {
		return jobs, err
	}
	return fromZero(jobs), err
}

// fromZero returns jobs so that the first arrives at 0.
func fromZero(jobs iter.Seq2[*sim.Job, error]) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		zero, begun := sojourn.Time(0), false
		for j, err := range jobs {
			if err == nil {
				if !begun {
					zero, begun = j.At, true
				}
				if j.At -= zero; j.Deadline != 0 {
					j.Deadline -= zero
				}
				if j.Release != 0 {
					j.Release -= zero
				}
			}
			if !yield(j, err) || err != nil {
				return
			}
		}
	}
}

// traced reads a trace that is not a table.
func (f *Conversion) traced(r io.Reader, file string, h *hosts, stats *trace.Stats) (iter.Seq2[*sim.Job, error], error) {
	pool, err := f.poolKey()
	o := trace.ReadOptions{
		File: file, Nodes: h.id, Pool: pool, OnlySuccessful: f.Successful, Requested: f.Requested, Window: f.Window, Stats: stats,
	}
	switch f.From {
	case "swim":
		swim := f.SWIM
		swim.File, swim.Stats = file, stats
		return trace.ReadSWIM(r, swim), err
	case "rumen":
		return trace.ReadRumen(r, o), err
	case "sls":
		return trace.ReadSLS(r, o), err
	case "jhist":
		return trace.ReadJHist(r, o), err
	case FromHistory:
		return f.recorded(h, stats), nil
	case "workload":
		return counted(trace.Read(r, o), stats), nil
	case "alibaba":
		return trace.ReadAlibaba(r, o), err
	case "wfcommons":
		return trace.ReadWfCommons(r, o), err
	}
	return trace.ReadSWF(r, o), err
}

// counted returns jobs, and counts them.
func counted(jobs iter.Seq2[*sim.Job, error], stats *trace.Stats) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		for j, err := range jobs {
			if err == nil {
				stats.Jobs++
				stats.Tasks += int64(j.Tasks())
			}
			if !yield(j, err) || err != nil {
				return
			}
		}
	}
}

// recorded returns the jobs of a history, whose hosts become those of h.
func (f *Conversion) recorded(h *hosts, stats *trace.Stats) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		r, err := Record(f.Entries)
		if err != nil {
			yield(nil, err)
			return
		}
		f.notes = r.Notes()
		h.cluster = r.Cluster
		h.number()
		counted(r.List(), stats)(yield)
	}
}

// hosts numbers the hosts of a trace: those of a topology first, if there is one,
// and then others as they appear, as nodes without slots: inputs there are read
// remotely.
type hosts struct {
	mu      sync.Mutex // names are written while others are read: see ahead
	cluster sim.Cluster
	speed   float64 // of a host of a platform
	ids     map[string]sojourn.NodeID
}

// number numbers the hosts of the cluster.
func (h *hosts) number() {
	for i, n := range h.cluster.Nodes {
		h.ids[n.Name] = sojourn.NodeID(i + 1)
	}
}

func (h *hosts) id(name string) sojourn.NodeID {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := h.ids[name]
	if id == 0 {
		h.cluster.Nodes = append(h.cluster.Nodes, sim.Node{Name: name})
		id = sojourn.NodeID(len(h.cluster.Nodes))
		h.ids[name] = id
	}
	return id
}

func (h *hosts) name(id sojourn.NodeID) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cluster.Nodes[id-1].Name
}

// write writes the cluster to a file.
func (h *hosts) write(name string) error {
	return files.Replace(name, func(w io.Writer) error { return trace.WriteCluster(w, h.cluster) })
}

// ParseSeparator reads what separates cells: one character, or its name tab. Nothing is what the first row
// has most of, and 0 here.
func ParseSeparator(text string) (rune, error) {
	switch text {
	case "":
		return 0, nil
	case "tab":
		return '\t', nil
	}
	r, size := utf8.DecodeRuneInString(text)
	if size != len(text) || r == utf8.RuneError || strings.ContainsRune("\"\r\n", r) {
		return 0, fmt.Errorf("--separator %q is not one character, such as ; or tab", text)
	}
	return r, nil
}
