package bench

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// A Trace is a file and how it is read.
type Trace struct {
	Name    string   `json:"name"`
	File    string   `json:"file"`    // below the folder
	Cluster string   `json:"cluster"` // as -c takes it
	Convert []string `json:"convert"` // options of convert, none if the file is a workload

	// Requested says that users said how long their jobs may run, and convert has --requested-time for the file.
	Requested bool `json:"requested,omitempty"`

	SHA256 string `json:"sha256"` // of the file
	Jobs   int    `json:"jobs"`   // of the workload

	failed [2]error // why there is no workload to run: of any cells, and of those with what users requested
}

// refused returns why no policy can run the trace with such estimates, nil if it can.
func (t *Trace) refused(estimates string) error {
	if estimates == Requested && t.failed[0] == nil {
		return t.failed[1]
	}
	return t.failed[0]
}

// made returns the sum of what the workload of a trace is made of: the file, the options of convert, the files that these name, and the
// program that converts.
func (b *Bench) made(t *Trace, options ...string) string {
	words := append(slices.Clone(t.Convert), options...)
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q", t.SHA256, words, named(strings.Join(b.options(t), "=")), b.Version)
	return hex.EncodeToString(h.Sum(nil))
}

// options returns the options of convert, with the files where they are.
func (b *Bench) options(t *Trace) []string {
	words := slices.Clone(t.Convert)
	for i, word := range words {
		for _, option := range [...]string{"-c", "--cluster", "--topology"} {
			if value, ok := strings.CutPrefix(word, option+"="); ok {
				words[i] = option + "=" + b.beside(value)
			} else if word == option && i+1 < len(words) {
				words[i+1] = b.beside(words[i+1])
			}
		}
	}
	return words
}

// beside returns the file in the folder that a list of traces names, or the name itself if there is none.
func (b *Bench) beside(name string) string {
	path := filepath.Join(b.Folder, name)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || filepath.IsAbs(name) || input.IsShort(name) {
		return name
	}
	return path
}

// Build adds to a version what tells a program from others that say the same of themselves, as all do that are built from code that was
// changed: the sum of the file that runs.
func Build(version string) (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return program(version, path)
}

func program(version, path string) (string, error) {
	s, err := sum(path)
	if err != nil {
		return "", fmt.Errorf("which program runs: %w", err)
	}
	return version + " " + s[:16], nil
}

// named returns the sums of the files that a text of names, options and values names.
func named(text string) (sums []string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(":=,", r) }) {
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			if s, err := sum(word); err == nil {
				sums = append(sums, s)
			}
		}
	}
	return sums
}

// List names the file that says which traces a folder has.
const List = "traces.json"

// Find returns the traces of a folder, those with the given names if there are any: what traces.json lists; without such a file, all logs in
// the Standard Workload Format that say how many processors there were; notes name the others.
func Find(folder string, only []string, notes io.Writer) (list []Trace, err error) {
	switch data, err := os.ReadFile(filepath.Join(folder, List)); {
	case err == nil:
		if list, err = listed(data, filepath.Join(folder, List)); err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, usage.Errorf("%s lists no trace", format.Visible(filepath.Join(folder, List)))
		}
	case !os.IsNotExist(err):
		return nil, err
	default:
		if list, err = found(folder, notes); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, usage.Errorf("folder %s has no file %s, and no log in the Standard Workload Format (*.swf, *.swf.gz) that can run", format.Visible(folder), List)
	}
	if len(only) > 0 {
		for _, name := range only {
			if !slices.ContainsFunc(list, func(t Trace) bool { return t.Name == name }) {
				return nil, usage.Errorf("--traces %s: there is no such trace; there are %s", format.Visible(name), names(list))
			}
		}
		list = slices.DeleteFunc(list, func(t Trace) bool { return !slices.Contains(only, t.Name) })
	}
	for i := range list {
		list[i].SHA256, list[i].failed[0] = sum(filepath.Join(folder, list[i].File))
	}
	return list, nil
}

func names(list []Trace) string {
	var all []string
	for i := range list {
		all = append(all, format.Visible(list[i].Name))
	}
	return strings.Join(all, ", ")
}

var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// listed reads a list of traces.
func listed(data []byte, file string) (list []Trace, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		line := 1 + bytes.Count(data[:min(int(d.InputOffset()), len(data))], []byte("\n"))
		return nil, &trace.Error{File: file, Line: line, Column: 1, Reason: err.Error()}
	}
	seen := map[string]bool{}
	for i, t := range list {
		reason := ""
		switch {
		case !name.MatchString(t.Name):
			reason = fmt.Sprintf("name %q: want letters, digits, dots, dashes and underscores", t.Name)
		case seen[t.Name]:
			reason = fmt.Sprintf("two traces have the name %q", t.Name)
		case !filepath.IsLocal(t.File):
			reason = fmt.Sprintf("file %q: want a file below the folder", t.File)
		case t.Cluster == "":
			reason = "no cluster: want one such as 128x1"
		case slices.ContainsFunc(t.Convert, func(o string) bool { return strings.HasPrefix(o, "--cluster-out") }):
			reason = "convert: --cluster-out writes a file, which no trace needs"
		}
		if reason != "" {
			return nil, &trace.Error{File: file, Line: 1, Column: 1, Reason: fmt.Sprintf("trace %d: %s", i+1, reason)}
		}
		seen[t.Name] = true
	}
	return list, nil
}

// found looks for logs in the Standard Workload Format.
func found(folder string, notes io.Writer) (list []Trace, err error) {
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		base, swf := strings.CutSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".swf")
		if err != nil || e.IsDir() || !swf {
			return err
		}
		file, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		processors, requested, err := head(path)
		wide := 0
		if err == nil && processors == 0 {
			wide, err = widest(path)
		}
		switch {
		case err != nil:
			fmt.Fprintf(notes, "%s is left out: %v\n", format.Visible(path), err)
		case processors == 0 && wide == 0:
			fmt.Fprintf(notes, "%s is left out: neither its header nor a job says how many processors there are; list it in %s, with a cluster\n", format.Visible(path), List)
		case !name.MatchString(base) || slices.ContainsFunc(list, func(t Trace) bool { return t.Name == base }):
			fmt.Fprintf(notes, "%s is left out: list it in %s, with a name of its own\n", format.Visible(path), List)
		default:
			if processors == 0 {
				processors = wide
				fmt.Fprintf(notes, "%s runs on %d slots, those of its widest job: its header does not say MaxProcs; list it in %s for another cluster\n", format.Visible(path), wide, List)
			}
			list = append(list, Trace{Name: base, File: file, Cluster: strconv.Itoa(processors) + "x1", Convert: []string{"--from", "swf"}, Requested: requested})
		}
		return nil
	})
	return list, err
}

// widest returns how many processors the widest job of a log had, of those that convert keeps and that ran; 0 if there is none. A log that
// cannot be read to its end is left to convert, which says where.
func widest(path string) (processors int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for j, err := range trace.ReadSWF(file, trace.ReadOptions{}) {
		if err != nil {
			break
		}
		if j.Times[0].Each > 0 {
			processors = max(processors, j.Phases[0].Tasks)
		}
	}
	return processors, nil
}

// head returns how many processors a log says there were, 0 if it says nothing, and whether its first records have the time that users
// requested.
func head(path string) (processors int, requested bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, false, err
	}
	defer file.Close()
	var text io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if text, err = gzip.NewReader(file); err != nil {
			return 0, false, err
		}
	}
	said, records := 0, 0
	lines := bufio.NewScanner(text)
	for records < 100 && lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if comment, ok := strings.CutPrefix(line, ";"); ok {
			if value, ok := strings.CutPrefix(strings.TrimSpace(comment), "MaxProcs:"); ok && processors == 0 {
				processors, _ = strconv.Atoi(strings.TrimSpace(value)) // what is no number says nothing
			}
			continue
		}
		records++
		if f := strings.Fields(line); len(f) > 8 {
			if v, err := strconv.ParseFloat(f[8], 64); err == nil && v > 0 {
				said++
			}
		}
	}
	return max(processors, 0), 2*said > records, lines.Err()
}

func sum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
