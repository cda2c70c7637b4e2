package plan

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// year returns jobs that arrive throughout a year. They keep the machines busy for nine
// tenths of it. unit is the length of time of which all task times are multiples.
func year(jobs, machines int, unit time.Duration) Instance {
	const units = 365 * 24 * 3600 * 1000
	in := Instance{Machines: []int{machines}}
	for j := range jobs {
		each := time.Duration(int64(units) * int64(machines) / int64(jobs) * 9 / 20)
		ph := Phase{Tasks: 2, Time: unit * (each/2 + time.Duration(j*7919%1000)*each/1000)}
		in.Jobs = append(in.Jobs, Job{Release: sojourn.Time(unit) * sojourn.Time(int64(units)/int64(jobs)*int64(j)), Weight: float64(1 + j%3), Phases: []Phase{ph}})
	}
	return in
}

// The instance has a hundred thousand jobs in a year, and nearly a thousand years of
// work. Its bound is a thousand times that of the same instance in a thousandth of the
// time.
func TestBoundOfAYear(t *testing.T) {
	jobs := 100_000
	if testing.Short() {
		jobs = 5000
	}
	o := Options{Iterations: 1}
	long := year(jobs, 1000, time.Millisecond)
	if long.Check() == nil {
		t.Fatal("the end of every schedule can be told: the test is about less work than there should be")
	}
	b, err := LowerBound(long, o)
	if err != nil {
		t.Fatal(err)
	}
	short, err := LowerBound(year(jobs, 1000, time.Microsecond), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range [][2]float64{{b.BestLowerBound, short.BestLowerBound}, {b.LowerBound, short.LowerBound}, {b.UpperBoundLP, short.UpperBoundLP}} {
		if r := x[0] / x[1] / 1000; !(r > 1-1e-6 && r < 1+1e-6) || x[0] <= 0 {
			t.Errorf("bounds %v over a year and %v over a thousandth of it", x[0], x[1])
		}
	}
}

// The bound is right at the limit, where one more nanosecond would be refused: four jobs
// as long as possible on four machines, and one job that arrives as late as possible.
func TestBoundAtTheLimit(t *testing.T) {
	half := time.Duration(horizon-2) / 2
	in := func(release sojourn.Time, p time.Duration) Instance {
		long := Job{Phases: []Phase{same(1, p)}}
		return Instance{Machines: []int{4}, Jobs: []Job{long, long, long, long, {Release: release, Phases: []Phase{same(1, 1)}}}}
	}
	limit := sojourn.Time(horizon-1) - 2*sojourn.Time(half) // work over machines is rounded up
	b, err := LowerBound(in(limit, half), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := 4 * half.Seconds(); b.BestLowerBound < math.Nextafter(want, 0) || b.UpperBoundLP < b.LowerBound || b.UpperBoundLP > 3*want {
		t.Errorf("bounds %v, %v and %v of jobs of %v s in all", b.LowerBound, b.BestLowerBound, b.UpperBoundLP, want)
	}
	for _, bad := range []Instance{in(limit+1, half), in(limit, half+1), in(math.MaxInt64, 1)} {
		if _, err := LowerBound(bad, Options{}); !errors.Is(err, ErrInstance) || !strings.Contains(err.Error(), "job ") {
			t.Errorf("LowerBound = %v, want an error that names the job", err)
		}
	}
}
