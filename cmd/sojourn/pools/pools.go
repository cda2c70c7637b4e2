package pools

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/research/trace"
)

const (
	maxFile  = 16 << 20 // bytes of text
	maxDepth = 16       // pools above a pool, by parent
)

// Read reads a pools file of at most 16 MiB that errors call file. policy returns the
// constructor of a policy that a pool names, other than fair and fifo. Errors in the file
// are [*trace.Error]s, with line and column.
func Read(r io.Reader, file string, policy func(spec string) (func() sojourn.Policy, error)) (fair.Options, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return fair.Options{}, err
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF")) // a byte order mark
	d := &decoder{data: data, json: json.NewDecoder(bytes.NewReader(data)), policy: policy}
	d.json.UseNumber()
	opts, err := d.file()
	var bad *fault
	if errors.As(err, &bad) {
		before := data[:min(bad.off, len(data))]
		line := bytes.Count(before, []byte("\n")) + 1
		return fair.Options{}, &trace.Error{File: file, Line: line, Column: len(before) - bytes.LastIndexByte(before, '\n'), Reason: bad.reason}
	}
	return opts, err
}

// An entry is a pool of the file.
type entry struct {
	off       int
	name      string
	nameOff   int
	parent    string
	parentOff int // 0: no parent
	pool      fair.Pool
}

func (d *decoder) file() (opts fair.Options, err error) {
	if len(d.data) > maxFile {
		return opts, faultf(maxFile, "the file is longer than %d bytes", maxFile)
	}
	for i := 0; i < len(d.data); {
		r, n := utf8.DecodeRune(d.data[i:])
		if r == utf8.RuneError && n == 1 {
			return opts, faultf(i, "invalid UTF-8")
		}
		i += n
	}
	if err := syntax(d.data); err != nil {
		return opts, err
	}
	var entries []entry
	costOff := 0
	_, err = d.object("the file", func(key string, off int) error {
		switch key {
		case "order":
			return d.choice(key, &opts.Order)
		case "ties":
			return d.choice(key, &opts.Ties)
		case "strict":
			opts.Strict, err = d.truth("strict")
			return err
		case "preemption":
			return d.preemption(&opts.Preemption)
		case "cost":
			costOff = off
			opts.Cost, err = d.cost()
			return err
		case "pools":
			entries, err = d.pools()
			return err
		}
		return unknown(key, off)
	})
	if err != nil {
		return opts, err
	}
	if err := opts.Validate(); opts.Cost != nil && err != nil {
		return opts, faultf(costOff, "%s", inFile.Replace(strings.TrimPrefix(err.Error(), "fair: ")))
	}
	paths, err := pathsOf(entries)
	if err != nil {
		return opts, err
	}
	opts.Pools = map[string]fair.Pool{}
	for i, path := range paths {
		opts.Pools[path] = entries[i].pool
	}
	return opts, check(opts, entries, paths)
}

// choice reads one of the names that a choice has.
func (d *decoder) choice(key string, to encoding.TextUnmarshaler) error {
	text, off, err := d.text(key)
	if err != nil {
		return err
	}
	if err := to.UnmarshalText([]byte(text)); err != nil {
		return faultf(off, "%v", err)
	}
	return nil
}

func (d *decoder) preemption(p *fair.Preemption) error {
	_, err := d.object("preemption", func(key string, off int) (err error) {
		switch key {
		case "min-timeout":
			p.MinTimeout, err = d.seconds(key)
		case "fair-timeout":
			p.FairTimeout, err = d.seconds(key)
		case "interval":
			p.Interval, err = d.seconds(key)
			if err == nil && p.Interval < time.Millisecond {
				err = faultf(off, "the interval is below 0.001 s")
			}
		case "limit":
			p.Limit, err = d.count(key, 1, math.MaxInt32)
		case "report-only":
			p.ReportOnly, err = d.truth(key)
		default:
			err = unknown(key, off)
		}
		return err
	})
	return err
}

func (d *decoder) pools() (entries []entry, err error) {
	token, off, err := d.next()
	if err != nil {
		return nil, err
	}
	if token != json.Delim('[') {
		return nil, faultf(off, `pools: want a list of objects such as {"name": "etl", "weight": 3}, found %s`, found(token))
	}
	for d.json.More() {
		e, err := d.pool()
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	_, _, err = d.next() // the end of the list
	return entries, err
}

func (d *decoder) pool() (e entry, err error) {
	e.nameOff = -1
	e.off, err = d.object("a pool", func(key string, off int) (err error) {
		switch key {
		case "name":
			e.name, e.nameOff, err = d.text(key)
		case "parent":
			e.parent, e.parentOff, err = d.text(key)
		case "weight":
			var at int
			e.pool.Weight, at, err = d.number(key)
			if err == nil && !(e.pool.Weight >= 1.0/(1<<16) && e.pool.Weight < 1<<32) {
				err = faultf(at, "weight %v is not in [2^-16, 2^32)", e.pool.Weight)
			}
		case "min":
			e.pool.Min, err = d.slots(key, 0)
		case "max":
			e.pool.Max, err = d.slots(key, 1)
		case "max-jobs":
			e.pool.MaxJobs, err = d.count(key, 1, math.MaxInt32)
		case "policy":
			err = d.poolPolicy(&e.pool)
		default:
			err = unknown(key, off)
		}
		return err
	})
	switch {
	case err != nil:
		return e, err
	case e.nameOff < 0:
		return e, faultf(e.off, "a pool without a name")
	}
	if err := e.pool.Validate(); err != nil {
		return e, faultf(e.off, "pool %q: %s", e.name, inFile.Replace(err.Error()))
	}
	return e, nil
}

// inFile puts the keys and values of the file in the place of what fair.Pool.Validate names.
var inFile = strings.NewReplacer("Max of class 0 ", "max of map ", "Max of class 1 ", "max of reduce ",
	"MaxJobs is", "max-jobs is", "Max", "max", "Min", "min", "0 with a Policy", "none with a policy")

func (d *decoder) slots(what string, least int) (fair.Slots, error) {
	slots := fair.Slots{}
	_, err := d.object(what, func(key string, off int) error {
		class, err := classOf(key)
		if err != nil {
			return faultf(off, "%s: %v", what, err)
		}
		if _, ok := slots[class]; ok {
			return faultf(off, "%s: class %d is given twice", what, class)
		}
		slots[class], err = d.count(what, least, sojourn.MaxSlots)
		return err
	})
	return slots, err
}

func classOf(key string) (sojourn.Class, error) {
	class, ok := trace.ParseClass(key)
	if !ok {
		return 0, fmt.Errorf("want map, reduce or a number from 0 to 255, found %.40q", key)
	}
	return class, nil
}

func (d *decoder) poolPolicy(p *fair.Pool) error {
	spec, off, err := d.text("policy")
	if err != nil {
		return err
	}
	switch spec {
	case "fair":
	case "fifo":
		p.FIFO = true
	default:
		if p.Policy, err = d.policy(spec); err != nil {
			return faultf(off, "%v", err)
		}
	}
	return nil
}

// pathsOf returns the paths of the pools, which are distinct.
func pathsOf(entries []entry) ([]string, error) {
	byName := map[string]*entry{}
	for i := range entries {
		e := &entries[i]
		if byName[e.name] != nil {
			return nil, faultf(e.nameOff, "pool %q is described twice", e.name)
		}
		byName[e.name] = e
	}
	seen := map[string]bool{}
	var paths []string
	for i := range entries {
		e := &entries[i]
		path := e.name
		for at, steps := e, 0; at.parentOff > 0; steps++ {
			up := byName[at.parent]
			if up == nil {
				return nil, faultf(at.parentOff, "pool %q: unknown parent %q", at.name, at.parent)
			}
			if up == e {
				return nil, faultf(e.parentOff, "pool %q is below itself", e.name)
			}
			if steps == maxDepth {
				return nil, faultf(e.parentOff, "pool %q is more than %d pools deep, or below one that is below itself", e.name, maxDepth)
			}
			path = up.name + "/" + path
			at = up
		}
		if seen[path] {
			return nil, faultf(e.nameOff, "pool %q is described twice", path)
		}
		seen[path] = true
		paths = append(paths, path)
	}
	return paths, nil
}

// check returns what is wrong with the pools as a whole, at a pool with which that is wrong
// and without which it is not, those behind it left out: it is found by halving. paths
// are those of the entries.
func check(opts fair.Options, entries []entry, paths []string) error {
	err := opts.Validate()
	if err == nil {
		return nil
	}
	same := func(last int) bool {
		some := fair.Options{Order: opts.Order, Cost: opts.Cost, Pools: map[string]fair.Pool{}, Preemption: opts.Preemption}
		for i := range last + 1 {
			some.Pools[paths[i]] = entries[i].pool
		}
		e := some.Validate()
		return e != nil && e.Error() == err.Error()
	}
	off := 0
	if i := sort.Search(len(entries), same); i < len(entries) {
		off = entries[i].off
	}
	return faultf(off, "%s", strings.TrimPrefix(err.Error(), "fair: "))
}
