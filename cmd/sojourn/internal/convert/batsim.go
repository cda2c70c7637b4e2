package convert

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// A profile of Batsim says what a job computes.
type profile struct {
	Type     string
	Delay    json.Number
	CPU      json.RawMessage // operations: a number for each machine, or for all, or a list
	Strategy string          `json:"generation_strategy"`
	Seq      []string
	Repeat   *float64
	NB       *float64 // what repeat was called before
}

// maxBatsim is the most bytes of a workload of Batsim: its profiles may come behind its jobs.
const maxBatsim = 1 << 30

// profiles reads a workload of Batsim, and makes its profiles tell how long jobs run.
func (r *tableReader) profiles(text io.Reader) (*bufio.Reader, error) {
	data, err := io.ReadAll(io.LimitReader(text, maxBatsim+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBatsim {
		return nil, &placed{1, 1, fmt.Errorf("a workload of more than %d bytes", maxBatsim)}
	}
	var workload struct{ Profiles map[string]profile }
	if err := json.Unmarshal(data, &workload); err != nil {
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		off := int64(0)
		if errors.As(err, &syntax) {
			off = max(syntax.Offset-1, 0)
		} else if errors.As(err, &kind) {
			off = max(kind.Offset-1, 0)
		}
		before := data[:off]
		return nil, &placed{bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n'), fmt.Errorf("want a workload of Batsim, an object with jobs and profiles: %w", err)}
	}
	t := *r.table
	t.derive = func(record []byte, set func(path, value string)) error {
		var job struct {
			Profile  json.RawMessage
			Res      json.Number
			Walltime json.Number
		}
		if err := json.Unmarshal(record, &job); err != nil {
			return fmt.Errorf("want a job of Batsim: %w", err)
		}
		name := strings.Trim(string(job.Profile), `"`)
		if _, ok := workload.Profiles[name]; !ok {
			return fmt.Errorf("there is no profile %q", short(name))
		}
		res, err := job.Res.Float64()
		if err != nil || res < 1 {
			res = 1 // the job has no size, and is dropped
		}
		steps := 0
		seconds, text, err := r.runs(workload.Profiles, name, res, &steps)
		if err != nil {
			return err
		}
		if limit, err := job.Walltime.Float64(); err == nil && limit >= 0 && seconds > limit {
			text = job.Walltime.String() // Batsim stops the job then
		}
		set("run_time", text)
		return nil
	}
	r.table = &t
	return bufio.NewReader(bytes.NewReader(data)), nil
}

// runs returns how long a job with a profile runs, in seconds: as a number and as text, which is empty if nobody
// knows.
func (r *tableReader) runs(all map[string]profile, name string, res float64, steps *int) (float64, string, error) {
	if *steps++; *steps > 10_000 {
		return 0, "", errors.New("profiles that are made of each other without end, or of more than 10,000")
	}
	p, ok := all[name]
	if !ok {
		return 0, "", fmt.Errorf("there is no profile %q", short(name))
	}
	operations := 0.0
	switch p.Type {
	case "delay", "DelayProfile":
		seconds, err := p.Delay.Float64()
		if err != nil {
			return 0, "", fmt.Errorf("profile %q has no delay", short(name))
		}
		return seconds, p.Delay.String(), nil
	case "composed", "SequentialCompositionProfile":
		times, total := 1.0, 0.0
		for _, n := range []*float64{p.Repeat, p.NB} {
			if n != nil {
				times = *n
			}
		}
		for _, part := range p.Seq {
			seconds, text, err := r.runs(all, part, res, steps)
			if err != nil || text == "" {
				return 0, "", err
			}
			total += seconds
		}
		total *= times
		return total, strconv.FormatFloat(total, 'f', -1, 64), nil
	case "parallel", "msg_par", "ParallelTaskProfile":
		var list []float64
		if err := json.Unmarshal(p.CPU, &list); err != nil {
			return 0, "", fmt.Errorf("profile %q: want a list of numbers as cpu", short(name))
		}
		for _, n := range list {
			operations = max(operations, n) // the machines go on together
		}
	case "parallel_homogeneous", "msg_par_hg", "ParallelTaskHomogeneousProfile", "parallel_homogeneous_total", "msg_par_hg_tot":
		if err := json.Unmarshal(p.CPU, &operations); err != nil {
			return 0, "", fmt.Errorf("profile %q: want a number as cpu", short(name))
		}
		if strings.HasSuffix(p.Type, "_tot") || strings.HasSuffix(p.Type, "_total") || p.Strategy == "DefinedAmountsSpreadUniformly" {
			operations /= res
		}
	default:
		return 0, "", nil
	}
	if r.speed == 0 {
		return 0, "", fmt.Errorf("profile %q computes %v operations: --topology PLATFORM.xml tells how fast hosts are", short(name), operations)
	}
	seconds := operations / r.speed
	return seconds, strconv.FormatFloat(seconds, 'f', -1, 64), nil
}

// maxHosts is the most hosts of a platform.
const maxHosts = 1 << 20

// readPlatform reads the hosts of a platform of SimGrid, without that of Batsim itself, and the speed of the
// slowest. Each has one slot: Batsim gives hosts to jobs as a whole.
func readPlatform(r io.Reader, file string) (nodes []sim.Node, speed float64, err error) {
	text, err := unzipped(r)
	if err != nil {
		return nil, 0, in(file, &placed{1, 1, err})
	}
	dec := xml.NewDecoder(text)
	fault := func(format string, args ...any) error {
		line, column := dec.InputPos()
		return &trace.Error{File: file, Line: line, Column: column, Reason: fmt.Sprintf(format, args...)}
	}
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, 0, fault("want a platform of SimGrid in XML: %v", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		at := map[string]string{}
		for _, a := range start.Attr {
			at[a.Name.Local] = a.Value
		}
		var names []string
		switch start.Name.Local {
		case "host":
			names = []string{at["id"]}
		case "cluster":
			for _, span := range strings.Split(at["radical"], ",") {
				low, high, ranged := strings.Cut(strings.TrimSpace(span), "-")
				if !ranged {
					high = low
				}
				a, errA := strconv.Atoi(low)
				b, errB := strconv.Atoi(high)
				if errA != nil || errB != nil || a < 0 || b < a || b-a >= maxHosts {
					return nil, 0, fault("cluster %q: radical %q is not numbers such as 0-15,20", short(at["id"]), short(at["radical"]))
				}
				for i := a; i <= b; i++ {
					names = append(names, at["prefix"]+strconv.Itoa(i)+at["suffix"])
				}
			}
		case "prop":
			if at["id"] == "role" && at["value"] == "master" && len(nodes) > 0 {
				nodes = nodes[:len(nodes)-1]
			}
			continue
		default:
			continue
		}
		if len(names) == 1 && (names[0] == "master_host" || names[0] == "master_host0") {
			nodes = append(nodes, sim.Node{}) // until its role is told, or the next host comes
			continue
		}
		own, err := flops(at["speed"])
		if err != nil {
			return nil, 0, fault("%s %q: %v", start.Name.Local, short(at["id"]), err)
		}
		for _, name := range names {
			nodes = append(nodes, sim.Node{Name: name, Slots: []int{1}, Speed: own})
		}
		if len(nodes) > maxHosts {
			return nil, 0, fault("more than %d hosts", maxHosts)
		}
	}
	hosts := nodes[:0]
	for _, n := range nodes {
		if n.Name != "" {
			if speed == 0 || n.Speed < speed {
				speed = n.Speed
			}
			n.Speed = 0 // times are those of the slowest
			hosts = append(hosts, n)
		}
	}
	if len(hosts) == 0 {
		return nil, 0, fault("there is no host")
	}
	return hosts, speed, nil
}

// flops reads a speed such as 1.5Gf, of which several may be listed: the first is that of full power.
func flops(text string) (float64, error) {
	first, _, _ := strings.Cut(text, ",")
	number := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(first), "lops"), "f")
	factor := 1.0
	if i := strings.IndexAny(number, "kMGTPE"); i >= 0 && i == len(number)-1 {
		factor = map[byte]float64{'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12, 'P': 1e15, 'E': 1e18}[number[i]]
		number = number[:i]
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0 && v < 1e30) {
		return 0, fmt.Errorf("speed %q is not of the form 1.5Gf", short(text))
	}
	return v * factor, nil
}
