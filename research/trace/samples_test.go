package trace

import (
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// openSample opens a file of testdata. These files were written by hand, one for each
// format, and contain everything that its reader knows.
func openSample(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// The places between the outermost one and a host make its rack. An empty list
// holds no host.
var sampleTopology = []sim.Node{
	{Name: "h1.example", Rack: "dc1/rack1"}, {Name: "h2.example", Rack: "dc1/rack1"}, {Name: "h3", Rack: "dc1/rack2"},
	{Name: "h4", Rack: "rack9"}, {Name: "h5", Rack: "rack9"}, {Name: "h6"},
}

// sampleNode numbers the hosts of sampleTopology.
func sampleNode(host string) sojourn.NodeID {
	for i, n := range sampleTopology {
		if n.Name == host {
			return sojourn.NodeID(i + 1)
		}
	}
	return 0
}

// A sampleFile is a sample with numbers that were computed from it by hand. pools are the
// pools of its jobs, by PoolQueue, PoolUser and so on.
type sampleFile struct {
	name        string
	read        func(r io.Reader, pool PoolKey, successful bool, stats *Stats) iter.Seq2[*sim.Job, error]
	jobs, stats string
	pools       [][]string
	keys        [][]string // that the reader knows
	successful  int        // jobs, where the reader can leave out others
}

var sampleFiles = []sampleFile{
	{
		// In the second job, the last map ends at 9 s. Map 0 took 6 to 9 s, in the
		// attempt that ended first, and map 3 took 1 s, which makes the mean 2 s. The
		// reduces take from 9 to 12 s, from 10 to 12.5 s, and none. The failed attempts
		// of the first job took 0.5 and 0.7 s.
		name: "rumen.json",
		read: func(r io.Reader, pool PoolKey, successful bool, stats *Stats) iter.Seq2[*sim.Job, error] {
			return ReadRumen(r, ReadOptions{Nodes: sampleNode, Pool: pool, OnlySuccessful: successful, Stats: stats})
		},
		jobs: `{"id":1,"name":"job_1_0002","at":0,"phases":[{"class":"map","tasks":2,"time":[0.6,0.6]}]}
{"id":2,"name":"sort.all \"twice\"","at":3,"pool":"etl","phases":[` +
			`{"class":"map","tasks":4,"time":[3,2,2,1],"bytes":[100,50,0,8],"nodes":[["n1","n3"],[],[],["n4","n6"]]},` +
			`{"class":"reduce","tasks":3,"time":[3,2.5,0],"bytes":[77,0,5]}]}
`,
		stats: `jobs: 2
tasks: 9
jobs dropped, time of submission unknown: 1
jobs dropped, no task with a known time: 1
jobs kept, failed or killed: 1
tasks dropped, no attempt in their phase has a known time: 2
tasks left out, announced but not recorded: 1
tasks left out, neither map nor reduce: 2
tasks without a known time, given the mean of their phase: 2
tasks without a known time, given the mean of unsuccessful attempts in their phase: 2
tasks without a known size of their input, 0 bytes: 2
reduces that ended before the last map, no time: 1
attempts left out, unsuccessful or one success too many: 5
attempts that ended before they started, time unknown: 1
places of input left out, node unknown: 1
`,
		pools:      [][]string{{"", "etl"}, {"bob", "ann.b"}},
		keys:       [][]string{rumenJobKeys, rumenTaskKeys, rumenAttemptKeys, rumenLocationKeys},
		successful: 1,
	},
	{
		// The maps of s1 took 2.5 and 1 s, mean 1.75. The last map ended at 4 s, the
		// reduce at 5.5 s. Of s2 only the durations are known, and no instants.
		name: "sls.json",
		read: func(r io.Reader, pool PoolKey, successful bool, stats *Stats) iter.Seq2[*sim.Job, error] {
			return ReadSLS(r, ReadOptions{Pool: pool, OnlySuccessful: successful, Stats: stats})
		},
		jobs: `{"id":1,"name":"s1","at":0,"pool":"q1","phases":[{"class":"map","tasks":3,"time":[2.5,1,1.75]},{"class":"reduce","tasks":1,"time":[1.5]}]}
{"id":2,"name":"s2","at":1,"pool":"q1","phases":[{"class":"map","tasks":2,"time":[4,0.25]},{"class":"reduce","tasks":1,"time":[0.7]}]}
{"id":3,"name":"job_7","at":2,"pool":"q2","phases":[{"class":"map","tasks":1,"time":[0.25]}]}
`,
		stats: `jobs: 3
tasks: 8
tasks without a known time, given the mean of their phase: 1
`,
		pools:      [][]string{{"q1", "q1", "q2"}, {"ann", "bob", "cal"}},
		keys:       [][]string{slsJobKeys[:6], slsTaskKeys},
		successful: 3,
	},
	{
		// In wc, map 0 took 6 to 8 s and map 1 took 5 to 9 s, from the start of the task.
		// The reduce had its input at 10 s and ended at 11.5 s. The hosts h1, h2, h3 are
		// numbered in the order in which they appear.
		name: "two.jhist",
		read: func(r io.Reader, pool PoolKey, successful bool, stats *Stats) iter.Seq2[*sim.Job, error] {
			return ReadJHist(r, ReadOptions{Pool: pool, OnlySuccessful: successful, Stats: stats})
		},
		jobs: `{"id":1,"name":"job_9_0002","at":0,"pool":"adhoc","phases":[{"class":"map","tasks":1,"time":[0.8],"nodes":[["n3"]]}]}
{"id":2,"name":"err","at":1,"phases":[{"class":"map","tasks":1,"time":[1],"nodes":[["n2","n3"]]}]}
{"id":3,"name":"w:c","at":3,"pool":"etl","phases":[` +
			`{"class":"map","tasks":2,"time":[2,4],"bytes":[70,30],"nodes":[["n1","n2"],[]]},{"class":"reduce","tasks":1,"time":[1.5],"bytes":12}]}
`,
		stats: `jobs: 3
tasks: 5
jobs dropped, no task with a known time: 1
jobs kept, failed or killed: 2
tasks left out, announced but not recorded: 1
tasks left out, neither map nor reduce: 1
tasks without a known time, given the mean of unsuccessful attempts in their phase: 1
attempts left out, unsuccessful or one success too many: 2
events left out, of tasks that were not started: 1
`,
		pools:      [][]string{{"adhoc", "", "etl"}, {"bob", "cal", "ann"}},
		keys:       [][]string{eventKeys, historyKeys, countersKeys, groupKeys, counterKeys},
		successful: 1,
	},
	{
		name: "small.swf",
		read: func(r io.Reader, pool PoolKey, _ bool, stats *Stats) iter.Seq2[*sim.Job, error] {
			return ReadSWF(r, ReadOptions{Pool: pool, Requested: true, Stats: stats})
		},
		jobs: `{"id":1,"name":"user4","at":0,"pool":"queue2","phases":[{"tasks":1,"time":0.5}]}
{"id":2,"name":"job9","at":20,"phases":[{"tasks":2,"time":60,"estimate":30}]}
{"id":3,"name":"user3/app11","at":100,"pool":"queue1","phases":[{"tasks":4,"time":90,"estimate":120}]}
`,
		stats: `jobs: 3
tasks: 7
jobs dropped, time of submission unknown: 1
jobs dropped, run time unknown: 1
jobs dropped, processors unknown or none: 2
records dropped, part of a job that has a record of its own: 3
jobs that followed another job, submitted here whatever becomes of that: 1
jobs with more fields than the format has, the first 18 read: 1
jobs without a requested time, no estimate: 1
`,
		pools: [][]string{{"queue2", "", "queue1"}, {"user4", "", "user3"}, {"group2", "", "group2"}, {"", "", ""}},
	},
	{
		// The sums are those of TestSWIMMapping. A job that moves no bytes is not counted
		// as one without a shuffle.
		name: "small.tsv",
		read: func(r io.Reader, _ PoolKey, _ bool, stats *Stats) iter.Seq2[*sim.Job, error] {
			return ReadSWIM(r, SWIMOptions{Stats: stats})
		},
		jobs: `{"id":1,"name":"/in/a","at":0,"phases":[{"class":"map","tasks":2,"time":15.8},{"class":"reduce","tasks":1,"time":33}]}
{"id":2,"name":"job1","at":1.5,"phases":[{"class":"map","tasks":5,"time":16}]}
{"id":3,"name":"/in/a","at":1.5,"phases":[{"class":"map","tasks":1,"time":3}]}
{"id":4,"name":"job3","at":10,"phases":[{"class":"map","tasks":1,"time":3},{"class":"reduce","tasks":3,"time":122.466666667}]}
`,
		stats: `jobs: 4
tasks: 13
jobs without a shuffle, no reduces: 1
jobs that move no bytes, one map of the overhead alone: 1
`,
	},
	{
		name: "alibaba.csv",
		read: func(r io.Reader, _ PoolKey, _ bool, stats *Stats) iter.Seq2[*sim.Job, error] {
			return ReadAlibaba(r, ReadOptions{Stats: stats})
		},
		// Task 7, which J5 waits for, is not there. J4 comes after 2 and 3. j_3 has not ended, and
		// the tasks of j_4 wait for each other.
		jobs: `{"id":1,"name":"j_2","at":0,"phases":[{"tasks":4,"time":5,"needs":[]},{"tasks":2,"time":2,"needs":[0]},{"tasks":1,"time":[9],"needs":[]},{"tasks":5,"time":6,"needs":[1,2]},{"tasks":1,"time":[1],"needs":[]},{"tasks":1,"time":[0],"needs":[3]}]}
{"id":2,"name":"j_1","at":10,"phases":[{"tasks":3,"time":30,"needs":[]}]}
`,
		stats: `jobs: 2
tasks: 17
jobs dropped, run time unknown: 1
jobs dropped, tasks that wait for each other in a circle: 1
waits left out, for tasks that are not recorded: 1
`,
	},
	{
		name: "wfcommons.json",
		read: func(r io.Reader, _ PoolKey, _ bool, stats *Stats) iter.Seq2[*sim.Job, error] {
			return ReadWfCommons(r, ReadOptions{Stats: stats})
		},
		keys: [][]string{wfKeys, wfFlowKeys, wfTaskKeys},
		// The two tasks called work wait for the same task, and the same task waits for them.
		jobs: `{"id":1,"name":"split and join","at":0,"phases":[{"tasks":1,"time":[1.5],"needs":[]},{"tasks":2,"time":[4,3],"needs":[0]},{"tasks":1,"time":[2],"needs":[1]}]}
{"id":2,"name":"old","at":0,"phases":[{"tasks":1,"time":[2],"needs":[]},{"tasks":1,"time":[1],"needs":[0]}]}
`,
		stats: `jobs: 2
tasks: 6
jobs dropped, run time unknown: 1
waits left out, for tasks that are not recorded: 1
`,
	},
}

func TestSampleFiles(t *testing.T) {
	var told Stats // by any of them
	add := func(s *Stats) {
		for i, n := range s.counts {
			told.counts[i] += n
		}
	}
	for _, s := range sampleFiles {
		var stats Stats
		jobs, err := collect(t, s.read(openSample(t, s.name), PoolQueue, false, &stats))
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		if got := write(t, jobs); got != s.jobs {
			t.Errorf("%s: got\n%swant\n%s", s.name, got, s.jobs)
		}
		if got := stats.String(); got != s.stats {
			t.Errorf("%s: stats:\n%swant\n%s", s.name, got, s.stats)
		}
		add(&stats)
		for pool, want := range s.pools {
			jobs, err := collect(t, s.read(openSample(t, s.name), PoolKey(pool), false, nil))
			var got []string
			for _, j := range jobs {
				got = append(got, j.Pool)
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: pools %d are %q, error %v, want %q", s.name, pool, got, err, want)
			}
		}
		if s.successful > 0 {
			stats = Stats{}
			jobs, err := collect(t, s.read(openSample(t, s.name), PoolNone, true, &stats))
			if err != nil || len(jobs) != s.successful {
				t.Errorf("%s: %d successful jobs, error %v, want %d", s.name, len(jobs), err, s.successful)
			}
			add(&stats)
		}
		text, err := io.ReadAll(openSample(t, s.name))
		if err != nil {
			t.Fatal(err)
		}
		for _, keys := range s.keys {
			for _, key := range keys {
				if !strings.Contains(string(text), fmt.Sprintf("%q", key)) {
					t.Errorf("%s: the reader knows the key %q, which is not in here", s.name, key)
				}
			}
		}
	}
	for i, n := range told.counts {
		if n == 0 {
			t.Errorf("no sample has %q", remarkTexts[i])
		}
	}
}

func TestSampleTopology(t *testing.T) {
	for _, o := range []TopologyOptions{{}, {Slots: []int{3}, Uniform: true}} {
		slots := o.Slots
		if !o.Uniform {
			slots = []int{2, 2}
		}
		want := sim.Cluster{Uniform: o.Uniform}
		for _, n := range sampleTopology {
			n.Slots = slots
			want.Nodes = append(want.Nodes, n)
		}
		got, err := ReadTopology(openSample(t, "rumen-topology.json"), o)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: got %+v, error %v, want %+v", o, got, err, want)
		}
	}
}
