package trace

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// checkPlace fails unless err is an *Error at a place inside data. If data is compressed,
// only the text has places.
func checkPlace(t *testing.T, data []byte, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%q: error %v (%T), want an *Error", data, err, err)
	}
	if e.Reason == "" || len(e.Reason) > 300 {
		t.Fatalf("%q: a reason of %d bytes: %v", data, len(e.Reason), err)
	}
	lines := strings.Split(string(data), "\n")
	switch {
	case e.Line < 1 || e.Column < 1:
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		return
	case e.Line <= len(lines) && e.Column <= len(lines[e.Line-1])+1:
		return
	}
	t.Fatalf("%q: %v is not inside the input", data, err)
}

// fuzzLimits keep an input from taking more than a moment.
func fuzzLimits() limits {
	return limits{line: 1 << 14, bytes: 1 << 20, tasks: 1 << 10, depth: 16, text: 1 << 10}
}

func FuzzWorkload(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"name":"wc","at":12.5,"pool":"etl","weight":30,"deadline":300,"parallelism":40,"release":1,"sequence":"s","phases":[` +
			`{"class":"map","tasks":3,"time":[10.2,9.1,11],"estimate":10,"bytes":[134217728,134217728,9000],` +
			`"nodes":[["n1","n7"],["n2"],["n3"]],"delay":[1,0.9,1.1]},{"class":"reduce","tasks":2,"time":15,"after":3}]}`,
		goodLine + "\n" + `{"id":18446744073709551615,"at":1e0,"phases":[{"time":[1.5e-9],"estimate":[0]},{"tasks":1,"time":0,"after":"none"}]}`,
		goodLine + goodLine,
		`{"at":9223372036.854775807,"id":1,"weight":1.5258789e-05,"phases":[{"bytes":1,"delay":0,"tasks":1,"time":1}]}`,
		`{"id":0}`, `{"id":1,"id":1}`, `{"\u0069d":1,"at":0,"phases":[]}`, "[", "\xef\xbb\xbf{}", "\x1f\x8b\x08", "{\"name\":\"\\ud800\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Add(zip(f, goodLine))
	f.Fuzz(func(t *testing.T, data []byte) {
		jobs, err := collect(t, Read(bytes.NewReader(data), ReadOptions{limits: fuzzLimits()}))
		if err != nil {
			checkPlace(t, data, err)
		}
		text := write(t, jobs) // the jobs before the error
		again, err := collect(t, Read(strings.NewReader(text), ReadOptions{}))
		if err != nil || !reflect.DeepEqual(again, jobs) {
			t.Fatalf("%q\nreads as %swrites as %sreads as %serror %v", data, dump(jobs), text, dump(again), err)
		}
	})
}

// FuzzCluster reads its input in both forms.
func FuzzCluster(f *testing.F) {
	for _, seed := range []string{
		"20x4+1,10x2+1", "50x2", "1x0+2,2x0+0", "0x1", "1x1,1x1+1", "99999999999x1", "1x16777216", "é",
		`{"nodes":[{"name":"n1","rack":"r1","speed":1,"slots":{"map":2,"reduce":1}}]}`,
		"{\"nodes\":[\n{\"name\":\"a\",\"slots\":2},\n{\"name\":\"b\",\"slots\":0,\"speed\":0.5}]}\n",
		`{"nodes":[{"name":"a","slots":{}},{"name":"a","slots":{"map":1}}]}`, `{"nodes":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		check := func(c sim.Cluster, err error) {
			if err != nil {
				checkPlace(t, data, err)
				return
			}
			if len(c.Nodes) > 1000 {
				return // this would be right, but slow
			}
			var buf bytes.Buffer
			if err := WriteCluster(&buf, c); err != nil {
				t.Fatalf("%q reads as %+v: %v", data, c, err)
			}
			again, err := ReadCluster(&buf, "")
			if err != nil || !reflect.DeepEqual(again, c) {
				t.Fatalf("%q reads as %+v\nand then %+v, error %v", data, c, again, err)
			}
		}
		check(ReadCluster(bytes.NewReader(data), ""))
		check(ParseCluster(string(data)))
	})
}

// FuzzSWIM writes the jobs that it reads as a workload, and reads them back.
func FuzzSWIM(f *testing.F) {
	for _, seed := range []string{
		"job0\t49\t49\t740773\t2339561\t627471\njob4\t208\t11\t3623279\t0\t9838062\n",
		"job0\t1\t1\t0\t0\t0\tinput/path\t\t\r\n\n", "j\t1\t1\t1\t1", "j\t-1\t1\t1\t1\t1", "j\t2\t1\t1\t1\t1\nj\t1.5\t1\t1\t1\t1",
		"j\t1\t1\t9223372036854775807\t0\t9223372036854775807", "j\t0.0000000005\t0\t99999999999\t5\t5",
	} {
		f.Add([]byte(seed), 1.0, false)
		f.Add([]byte(seed), 0.1, true)
	}
	f.Add(zip(f, "job0\t49\t49\t740773\t2339561\t627471\n"), 3.0, false)
	f.Fuzz(func(t *testing.T, data []byte, scale float64, noise bool) {
		o := SWIMOptions{ByteScale: scale, limits: fuzzLimits()}
		if noise {
			o.Noise = 0.5
		}
		if _, err := newMapping(o); err != nil {
			return
		}
		jobs, err := collect(t, ReadSWIM(bytes.NewReader(data), o))
		if err != nil {
			checkPlace(t, data, err)
		}
		text := write(t, jobs) // the jobs before the error
		again, err := collect(t, Read(strings.NewReader(text), ReadOptions{}))
		if err != nil || !reflect.DeepEqual(again, jobs) {
			t.Fatalf("%q\nreads as %swrites as %sreads as %serror %v", data, dump(jobs), text, dump(again), err)
		}
	})
}

// fuzzTrace reads a trace twice, in one piece and byte by byte. It writes the jobs as a
// workload and reads them back.
func fuzzTrace(t *testing.T, data []byte, read reader) {
	t.Helper()
	var stats, other Stats
	jobs, err := collect(t, read(bytes.NewReader(data), fuzzLimits(), &stats))
	if err != nil {
		checkPlace(t, data, err)
	}
	again, failure := collect(t, read(iotest.OneByteReader(bytes.NewReader(data)), fuzzLimits(), &other))
	if !reflect.DeepEqual(again, jobs) || fmt.Sprint(failure) != fmt.Sprint(err) || stats != other {
		t.Fatalf("%q\nreads as %serror %v\n%sand then as %serror %v\n%s", data, dump(jobs), err, &stats, dump(again), failure, &other)
	}
	if stats.Jobs != int64(len(jobs)) {
		t.Fatalf("%q: %d jobs, counted %d", data, len(jobs), stats.Jobs)
	}
	text := write(t, jobs) // the jobs before the error
	again, err = collect(t, Read(strings.NewReader(text), ReadOptions{Nodes: func(name string) sojourn.NodeID {
		id, _ := strconv.Atoi(name[1:]) // n1, n2, ...
		return sojourn.NodeID(id)
	}}))
	if err != nil || !reflect.DeepEqual(again, jobs) {
		t.Fatalf("%q\nreads as %swrites as %sreads as %serror %v", data, dump(jobs), text, dump(again), err)
	}
}

func FuzzRumen(f *testing.F) {
	for _, seed := range []string{
		rumenSample, `{"jobID":"a"}{"jobID":"b","submitTime":1}`, `{"jobID":"a","x":[{"y":"\\"}],"mapTasks":null}`, "{", `{"a":"` + "\n", "[]", "{]",
		`{"jobID":"a","submitTime":9223372036854,"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":0,"finishTime":9223372036854}]},{}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Add(zip(f, rumenSample))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzTrace(t, data, readRumen) })
}

func FuzzSLS(f *testing.F) {
	for _, seed := range []string{
		slsSample, rumenSample, `{"job.id":"a","job.start.ms":0,"job.tasks":[{"container.type":"reduce","duration.ms":5}]}`,
		`{"job.id":"a","jobID":"b","job.count":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzzTrace(t, data, readSLS) })
}

func FuzzJHist(f *testing.F) {
	for _, seed := range []string{jhistSample, "Avro-Json", "Avro-Json\n{}\n{}", "\r\nAvro-Json\r\n{}\nAvro-Json\n"} {
		f.Add([]byte(seed))
	}
	f.Add(zip(f, jhistSample))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzTrace(t, data, readJHist) })
}

func FuzzSWF(f *testing.F) {
	for _, seed := range []string{
		"; Version: 2.2\n" + swfLine + swfLine, "1 2 3", ";", "\x1f\x8b",
		"1 9223372036.8 5 9223372036.8 1 -1 -1 -1 -1 -1 1 3 2 1 1 -1 -1 -1\n2 0 5 0.0000000005 2 -1 -1 -1 -1 -1 1 3 2 1 1 -1 -1 -1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzzTrace(t, data, readSWF) })
}

// FuzzTopology writes the nodes that it reads as a cluster, and reads them back.
func FuzzTopology(f *testing.F) {
	for _, seed := range []string{topologySample, `{"name":"a"}`, `{"name":"a","children":[{"name":"a","children":[]}]}`, "[", "{}{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadTopology(bytes.NewReader(data), TopologyOptions{})
		if err != nil {
			checkPlace(t, data, err)
			return
		}
		var buf bytes.Buffer
		if err := WriteCluster(&buf, c); err != nil {
			t.Fatalf("%q reads as %+v: %v", data, c, err)
		}
		again, err := ReadCluster(&buf, "")
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Fatalf("%q reads as %+v\nand then %+v, error %v", data, c, again, err)
		}
	})
}
