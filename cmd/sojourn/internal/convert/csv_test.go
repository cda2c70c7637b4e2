package convert

import (
	"strings"
	"testing"
)

// A file of too many tasks is at fault where their number is, or in the row if there is no such column.
func TestTooManyTasks(t *testing.T) {
	for text, want := range map[string]string{
		"arrival,duration,tasks\n0,1,2\n1,1,2\n": "log.csv:3:5: tasks: more than 3 tasks in the file",
		"duration,arrival\n1,0\n1,1\n1,2\n1,3\n": "log.csv:5:1: more than 3 tasks in the file",
	} {
		in := &csvReader{file: "log.csv", known: map[string]*csvJob{}, most: 3}
		if _, err := in.read(strings.NewReader(text), Columns{}, ','); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// The column parallelism says how many tasks of a job may run at a time: the first row of the job counts.
func TestParallelismColumn(t *testing.T) {
	const most = 10
	read := func(text string) ([]*csvJob, error) {
		in := &csvReader{file: "log.csv", known: map[string]*csvJob{}, most: most}
		_, err := in.read(strings.NewReader(text), Columns{}, ',')
		return in.jobs, err
	}
	jobs, err := read("arrival,duration,job,parallelism\n0,1,a,3\n0,1,a,5\n1,1,b,\n2,1,c,0\n3,1,d,4294967295\n")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint32{3, 0, 0, 1<<32 - 1} {
		if got := jobs[i].Parallelism; got != want {
			t.Errorf("job %d: parallelism %d, want %d", i, got, want)
		}
	}
	for _, cell := range []string{"-1", "1.5", "4294967296", "x", "1e3"} {
		_, err := read("arrival,duration,parallelism\n0,1," + cell + "\n")
		if want := "log.csv:2:5: parallelism: want an integer from 0 to 4294967295, found \"" + cell + "\""; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
