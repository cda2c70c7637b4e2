package input

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/pools"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// Validate checks a file that errors call name, and says what is in it. in is the cluster
// that a workload runs on, or nil.
func Validate(to io.Writer, file io.Reader, name string, in *Cluster) error {
	buf := bufio.NewReaderSize(file, 1<<16)
	start, _ := buf.Peek(1 << 16)
	switch firstKey(start) {
	case "pools", "order", "strict", "preemption":
		opts, err := pools.Read(buf, name, catalog.Builtin().Constructor)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(to, "%s: %s\n", format.Visible(name), format.Count(len(opts.Pools), "pool"))
		return err
	case "nodes":
		c := Cluster{Name: name}
		var err error
		if c.Cluster, err = trace.ReadCluster(buf, name); err != nil {
			return err
		}
		_, err = fmt.Fprintf(to, "%s: a cluster of %s\n", format.Visible(name), c.Describe())
		return err
	}
	var (
		jobs, tasks int
		first, last sojourn.Time
	)
	for j, err := range workloadJobs(buf, name, in) {
		if err != nil {
			return err
		}
		if jobs == 0 {
			first = j.At
		}
		last = j.At
		jobs++
		tasks += j.Tasks()
	}
	if jobs == 0 {
		return NoJobs(name)
	}
	_, err := fmt.Fprintf(to, "%s: a workload of %s and %s, arriving over %s\n",
		format.Visible(name), format.Count(jobs, "job"), format.Count(tasks, "task"), format.Span(last.Sub(first)))
	return err
}

// firstKey returns the first key of the object that a file begins with, by which one
// can tell what the file is meant to be; "" if it begins with something else.
func firstKey(start []byte) string {
	var r io.Reader = bytes.NewReader(start)
	if z, err := gzip.NewReader(r); err == nil {
		r = z
	} else {
		r = bytes.NewReader(start)
	}
	text := bufio.NewReader(io.LimitReader(r, 1<<16)) // no more, whatever gzip makes of it
	if mark, _ := text.Peek(3); string(mark) == "\uFEFF" {
		text.Discard(3)
	}
	d := json.NewDecoder(text)
	open, err := d.Token()
	if err != nil || open != json.Delim('{') {
		return ""
	}
	key, _ := d.Token()
	name, _ := key.(string)
	return name
}
