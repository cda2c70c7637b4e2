package trace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/detmath"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// SWIMOptions are the constants that turn bytes into tasks and times. The zero
// value is the default mapping; the package comment has the formulas.
type SWIMOptions struct {
	// File is what errors call the input. Empty means "-".
	File string

	// BytesPerMap is the most that one map task reads, or writes in a job without
	// reduces: the size of a block. Zero means 128 MiB.
	BytesPerMap int64

	// BytesPerReduce is the most that one reduce task reads or writes. Zero means
	// 1 GiB.
	BytesPerReduce int64

	// Overhead is the time that each task takes in addition to moving bytes. Zero
	// means 3 s; NoOverhead means none.
	Overhead   time.Duration
	NoOverhead bool

	// Rate is how many bytes per second a slot moves. Zero means 10 MiB/s.
	Rate int64

	// ByteScale multiplies all sizes. It means the shortest decimal that denotes
	// it: 0.1 is exactly one tenth. Zero means 1.
	ByteScale float64

	// Noise is the standard deviation of the logarithm of a factor that is drawn
	// for each task and multiplies its time. Its median is 1. Zero means no noise.
	Noise float64

	// Seed determines the noise.
	Seed uint64

	// Stats, unless nil, counts what was read.
	Stats *Stats

	limits limits
}

// ReadSWIM returns the jobs of a SWIM trace (tab-separated values of the
// Statistical Workload Injector for MapReduce), with IDs 1, 2, ... in their
// order. It reads r as the sequence is consumed, which can be done once, and
// keeps one line in memory. The input may be compressed by gzip.
//
// The first error ends the sequence: an [*Error] if the input is bad, what r
// returned, wrapped, or another error if the options are out of range.
func ReadSWIM(r io.Reader, o SWIMOptions) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		m, err := newMapping(o)
		if err != nil {
			yield(nil, err)
			return
		}
		id, last := sojourn.JobID(1), sojourn.Time(0)
		newLines(open(r, o.File, m.limits)).each(plainly(yield), func(line []byte) (bool, *fault) {
			job, fault := m.job(bytes.TrimSuffix(line, []byte("\r")), id, last)
			if fault != nil {
				return false, fault
			}
			m.Stats.add(job)
			id, last = id+1, job.At
			return yield(job, nil), nil
		})
	}
}

// A mapping turns lines of a SWIM trace into jobs.
type mapping struct {
	SWIMOptions // complete

	num, den *big.Int // ByteScale is num/den
	plain    bool     // ByteScale is 1
	rng      *rand.Rand
}

// newMapping completes and checks the options.
func newMapping(o SWIMOptions) (*mapping, error) {
	o.BytesPerMap = cmp.Or(o.BytesPerMap, 128<<20)
	o.BytesPerReduce = cmp.Or(o.BytesPerReduce, 1<<30)
	o.Rate = cmp.Or(o.Rate, 10<<20)
	o.ByteScale = cmp.Or(o.ByteScale, 1)
	if !o.NoOverhead {
		o.Overhead = cmp.Or(o.Overhead, 3*time.Second)
	}
	o.limits = o.limits.withDefaults()
	if o.Stats == nil {
		o.Stats = new(Stats)
	}

	switch {
	case o.BytesPerMap < 0, o.BytesPerReduce < 0, o.Rate < 0, o.Overhead < 0:
		return nil, errors.New("trace: SWIM options: BytesPerMap, BytesPerReduce, Rate or Overhead is negative")
	case o.NoOverhead && o.Overhead != 0:
		return nil, errors.New("trace: SWIM options: both Overhead and NoOverhead")
	case !(o.ByteScale > 0 && o.ByteScale <= math.MaxFloat64):
		return nil, fmt.Errorf("trace: SWIM options: ByteScale %v is not a number above 0", o.ByteScale)
	case !(o.Noise >= 0 && o.Noise <= math.MaxFloat64):
		return nil, fmt.Errorf("trace: SWIM options: Noise %v is not a number of at least 0", o.Noise)
	}
	scale, _ := new(big.Rat).SetString(strconv.FormatFloat(o.ByteScale, 'g', -1, 64))
	return &mapping{o, scale.Num(), scale.Denom(), o.ByteScale == 1, rand.New(rand.NewPCG(o.Seed, noiseStream))}, nil
}

// noiseStream keeps the noise apart from other draws with the same seed.
const noiseStream = 1

// The fields of a line.
const (
	swimID = iota
	swimSubmit
	swimGap
	swimInput
	swimShuffle
	swimOutput
	swimPath                // optional, as are two more, which are not used
	swimMost = swimPath + 3 // fields
)

// job parses a line, whose job must not arrive before last.
func (m *mapping) job(line []byte, id sojourn.JobID, last sojourn.Time) (*sim.Job, *fault) {
	if f := checkUTF8(line); f != nil {
		return nil, f
	}
	var fields [swimMost][]byte
	var offs [swimMost]int
	n := 0
	for off := 0; off <= len(line); n++ {
		if n == swimMost {
			return nil, faultf(off, "%d fields, want at most %d", n+1+bytes.Count(line[off:], []byte("\t")), swimMost)
		}
		size := bytes.IndexByte(line[off:], '\t')
		if size < 0 {
			size = len(line) - off
		}
		fields[n], offs[n] = line[off:off+size], off
		off += size + 1
	}
	if n < swimPath {
		return nil, faultf(len(line), "%d fields, want at least %d, with tabs between", n, swimPath)
	}

	if len(fields[swimID]) == 0 {
		return nil, faultf(0, "empty job name")
	}
	name := fields[swimID]
	if len(fields[swimPath]) > 0 {
		name = fields[swimPath]
	}
	j := newJob()
	j.ID, j.Name = id, string(name)
	for _, i := range []int{swimGap, swimSubmit} {
		d, reason := parsePlainSeconds(fields[i])
		if reason != "" {
			return nil, faultf(offs[i], "%s", reason)
		}
		j.At = sojourn.Time(d)
	}
	if late := lateness(j.At, last); late != "" {
		return nil, &fault{offs[swimSubmit], late}
	}
	var sizes [swimPath]int64
	for i := swimInput; i <= swimOutput; i++ {
		n, ok := parseUint(fields[i])
		if !ok || n > math.MaxInt64 {
			return nil, faultf(offs[i], "want a number of bytes from 0 to %d, found %q", int64(math.MaxInt64), brief(fields[i]))
		}
		sizes[i] = int64(n)
	}
	if reason := m.phases(j, sizes[swimInput], sizes[swimShuffle], sizes[swimOutput]); reason != "" {
		return nil, &fault{offs[swimInput], reason}
	}
	switch {
	case sizes[swimInput]|sizes[swimShuffle]|sizes[swimOutput] == 0:
		m.Stats.counts[jobsNoBytes]++
	case sizes[swimShuffle] == 0:
		m.Stats.counts[jobsMapOnly]++
	}
	return j, nil
}

// parsePlainSeconds parses a time in seconds, written in digits with an optional
// fraction.
func parsePlainSeconds(text []byte) (time.Duration, string) {
	if d, ok := shortSeconds(text); ok {
		return d, ""
	}
	if !isDecimal(text) {
		return 0, fmt.Sprintf("want a time in seconds, found %q", brief(text))
	}
	d, reason := parseSeconds(text)
	if reason != "" {
		reason = shown(text) + " " + reason
	}
	return d, reason
}

// phases gives j its phases, by the mapping that the package comment describes.
// It returns what is out of range, or "".
func (m *mapping) phases(j *sim.Job, input, shuffle, output int64) string {
	mapOnly := shuffle == 0 // of the real size, whatever the scale
	maps := m.tasks(input, m.BytesPerMap)
	moved := uint64(input)
	if mapOnly {
		maps = max(maps, m.tasks(output, m.BytesPerMap))
		moved += uint64(output)
	}
	reduces := 0
	if !mapOnly {
		reduces = m.tasks(max(shuffle, output), m.BytesPerReduce)
	}
	if maps > m.limits.tasks-reduces {
		return fmt.Sprintf("more than %d tasks in a job", m.limits.tasks)
	}

	var work time.Duration
	add := func(class sojourn.Class, tasks int, moved uint64) bool {
		times, ok := m.times(tasks, moved)
		if !ok {
			return false
		}
		sum, ok := total(times.Each, times.List, tasks)
		if !ok || sum > math.MaxInt64-work {
			return false
		}
		work += sum
		j.Phases, j.Times = j.Phases[:len(j.Phases)+1], append(j.Times, times) // newJob has room for two
		p := &j.Phases[len(j.Phases)-1]
		p.Tasks, p.Class = tasks, class
		return true
	}
	ok := add(sojourn.MapClass, maps, moved)
	if ok && reduces > 0 {
		ok = add(sojourn.ReduceClass, reduces, uint64(shuffle)+uint64(output))
	}
	if !ok {
		return "the sum of the times of the job's tasks " + outOfRange
	}
	return ""
}

// tasks returns how many tasks share size bytes, to be scaled, if one takes at
// most per: at least 1, and more than the limit if there are more.
func (m *mapping) tasks(size, per int64) int {
	if m.plain {
		n := size / per
		if size%per > 0 {
			n++
		}
		return int(max(1, min(n, int64(m.limits.tasks)+1)))
	}
	n := new(big.Int).Mul(m.num, big.NewInt(size))
	d := new(big.Int).Mul(m.den, big.NewInt(per))
	n.Add(n, d).Sub(n, big.NewInt(1)).Div(n, d)
	if !n.IsInt64() || n.Int64() > int64(m.limits.tasks) {
		return m.limits.tasks + 1
	}
	return max(1, int(n.Int64()))
}

// each returns the time of each of the tasks that share size bytes, to be scaled. It is exact,
// rounded once to the nearest nanosecond, ties to even. It is false if the time does not fit.
func (m *mapping) each(tasks int, size uint64) (time.Duration, bool) {
	// overhead + scale * size / tasks / rate, over a common denominator
	if d := wide.Mul64(uint64(tasks), uint64(m.Rate)); m.plain && d.Hi == 0 {
		n := wide.Mul64(size, uint64(time.Second)).Add(d.MulU64(uint64(m.Overhead))) // below 2^94 + 2^127
		q, rest := n.QuoRem(d)
		if half := d.Lo - rest.Lo; rest.Lo > half || rest.Lo == half && q.Lo%2 == 1 {
			q = q.Add(wide.From64(1))
		}
		return time.Duration(q.Lo), q.Hi == 0 && q.Lo <= math.MaxInt64
	}
	d := new(big.Int).Mul(m.den, big.NewInt(int64(tasks)))
	d.Mul(d, big.NewInt(m.Rate))
	n := new(big.Int).Mul(m.num, new(big.Int).SetUint64(size))
	n.Mul(n, big.NewInt(int64(time.Second)))
	n.Add(n, new(big.Int).Mul(d, big.NewInt(int64(m.Overhead))))

	rest := new(big.Int)
	n.DivMod(n, d, rest)
	if half := rest.Lsh(rest, 1).Cmp(d); half > 0 || half == 0 && n.Bit(0) == 1 {
		n.Add(n, big.NewInt(1))
	}
	if !n.IsInt64() {
		return 0, false
	}
	return time.Duration(n.Int64()), true
}

// times returns the times of tasks that share size bytes, to be scaled. The noise multiplies that
// of each in floating point, and they are rounded once more. times reports false if a time does not
// fit.
func (m *mapping) times(tasks int, size uint64) (sim.Times, bool) {
	each, ok := m.each(tasks, size)
	if !ok {
		return sim.Times{}, false
	}
	if m.Noise == 0 {
		return sim.Times{Each: each}, true
	}
	list := make([]time.Duration, tasks)
	for i := range list {
		factor := detmath.Exp(m.Noise * detmath.Normal(m.rng))
		noisy := math.Floor(float64(float64(each)*factor) + 0.5)
		if !(noisy < 1<<63) {
			return sim.Times{}, false
		}
		list[i] = time.Duration(noisy)
	}
	return sim.Times{List: list}, true
}
