package convert

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// converted returns the messages and the workload of a log.
func converted(f Conversion, name, text string) (notes, workload string, err error) {
	f.To, f.Window = "workload", 100
	if f.Pool == "" {
		f.Pool = "queue"
	}
	f.SWIM.BytesPerMap, f.SWIM.BytesPerReduce, f.SWIM.Rate, f.SWIM.ByteScale = 1, 1, 1, 1
	if err := f.Check(); err != nil {
		return "", "", err
	}
	var out, messages strings.Builder
	err = f.Write(&out, &messages, []Input{{strings.NewReader(text), name}}, nil)
	return messages.String(), out.String(), err
}

// formatOf returns the format of a made-up log, such as testdata/sacct.txt or testdata/alibaba-gpu-pai.csv.
func formatOf(path string) string {
	base, _, _ := strings.Cut(filepath.Base(path), ".")
	return strings.TrimSuffix(base, "-pai")
}

// Each kind of log has a made-up file, with rows that never ran, run, or have no size. FILE.want has the messages and
// the jobs.
func TestLogs(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, path := range paths {
		if strings.HasSuffix(path, ".want") || strings.HasSuffix(path, ".xml") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := Conversion{From: formatOf(path)}
		seen[f.From] = true
		if f.From == "batsim" {
			f.Topology = "testdata/batsim.xml"
		}
		notes, workload, err := converted(f, path, string(text))
		if err != nil {
			t.Error(err)
			continue
		}
		got := notes + workload
		golden := path + ".want"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%swant\n%s", path, got, want)
		}
	}
	for _, name := range TableFormats {
		if !seen[name] {
			t.Errorf("%s has no log in testdata", name)
		}
	}
}

// What other options make of the same logs.
func TestLogOptions(t *testing.T) {
	for _, tc := range []struct {
		file, why string
		f         Conversion
		want      string // a job
		not       string
	}{
		{"sacct.txt", "an array is a job", Conversion{JoinArrays: true}, `"name":"bob/eval","at":120,"pool":"cpu","phases":[{"tasks":2,"time":[321,3600]}]}`, ""},
		{"sacct.txt", "limits are estimates", Conversion{Requested: true}, `{"tasks":4,"time":90067,"estimate":172800}`, `"name":"eve/sim","at":0,"pool":"cpu","phases":[{"tasks":2,"time":30,"estimate`},
		{"sacct.txt", "accounts are pools", Conversion{Pool: "group"}, `"name":"ann/train \"v2\"","at":60,"pool":"ml"`, `"pool":"gpu"`},
		{"sacct.txt", "users are pools", Conversion{Pool: "user"}, `"pool":"ann"`, `"pool":"gpu"`},
		{"sacct.txt", "no pools", Conversion{Pool: "none"}, `"name":"ann/train \"v2\"","at":60,"phases"`, `"pool"`},
		{"sacct.txt", "GPUs of a list", Conversion{Columns: Columns{{fieldTasks, "AllocTRES", "gres/gpu"}}}, `"at":0,"pool":"gpu","phases":[{"tasks":2,"time":90067}]`, "eval"},
		{"sacct.txt", "local time", Conversion{Zone: "Asia/Tokyo", KeepTimes: true}, `"at":1772323140,`, ""},
		{"sacct.txt", "times since 1970", Conversion{KeepTimes: true}, `"at":1772355540,`, ""},
		{"sacct.txt", "slots of two processors", Conversion{SlotSize: "2"}, `{"tasks":2,"time":90067}`, ""},
		{"sacct.json", "an array is a job", Conversion{JoinArrays: true}, `"name":"bob/eval","at":120,"pool":"cpu","phases":[{"tasks":2,"time":[321,3600]}]}`, ""},
		{"sacct.json", "what is in no array stays by itself", Conversion{JoinArrays: true}, `"name":"ann/train \"v2\"","at":60,"pool":"gpu","phases":[{"tasks":4,"time":90067}]}`, ""},
		{"sacct.json", "limits are estimates", Conversion{Requested: true}, `{"tasks":4,"time":90067,"estimate":172800}`, `"tasks":3,"time":600,"estimate`},
		{"sacct.json", "limits of older versions are estimates", Conversion{Requested: true}, `{"tasks":2,"time":30,"estimate":3600}`, ""},
		{"sacct.json", "accounts are pools", Conversion{Pool: "group"}, `"name":"ann/train \"v2\"","at":60,"pool":"ml"`, `"pool":"gpu"`},
		{"sacct.json", "GPUs of a list", Conversion{Columns: Columns{{fieldTasks, "tres.allocated.gres/gpu.count", ""}}}, `"at":0,"pool":"gpu","phases":[{"tasks":2,"time":90067}]`, "eval"},
		{"alibaba-gpu.csv", "tenths of a GPU", Conversion{SlotSize: "0.1"}, `"phases":[{"tasks":5,"time":12475899}]`, ""},
		{"alibaba-gpu.csv", "processors", Conversion{Columns: Columns{{fieldTasks, "cpu_milli", "milli"}}}, `"phases":[{"tasks":12,"time":10}]`, ""},
		{"alibaba-gpu-pai.csv", "halves of a GPU", Conversion{SlotSize: "0.5"}, `"phases":[{"tasks":4,"time":10}]`, ""},
		{"spark.log", "users are pools", Conversion{Pool: "user"}, `"pool":"ann"`, "daily"},
		{"pbs.log", "limits are estimates", Conversion{Requested: true}, `{"tasks":2,"time":100,"estimate":3600}`, ""},
		{"batsim.json", "walltimes are estimates", Conversion{Requested: true, Topology: "testdata/batsim.xml"}, `{"tasks":1,"time":12,"estimate":12}`, ""},
	} {
		text, err := os.ReadFile("testdata/" + tc.file)
		if err != nil {
			t.Fatal(err)
		}
		tc.f.From = formatOf(tc.file)
		_, workload, err := converted(tc.f, tc.file, string(text))
		if err != nil {
			t.Errorf("%s: %s: %v", tc.file, tc.why, err)
		}
		if !strings.Contains(workload, tc.want) || tc.not != "" && strings.Contains(workload, tc.not) {
			t.Errorf("%s: %s: got\n%swant %s\nnot %q", tc.file, tc.why, workload, tc.want, tc.not)
		}
	}
}
