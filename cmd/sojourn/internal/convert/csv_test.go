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
