package gpstest

import (
	"slices"
	"testing"
)

// On two slots a (12, weight 1) is there from 0, b (12, weight 2) from 3: until 3 a has
// had 6. The slots are three from 6 on, when a has had 2 more and b 4: at rates 1 and 2
// both have 4 and 8 left and end at 10. Then c (5), alone, takes until 11 and 2/3 with
// three slots, and with a limit of one until 15.
func TestWorkedSchedule(t *testing.T) {
	for limit, want := range map[int]string{0: "35/3", 1: "15", 3: "35/3"} {
		c := Cluster{Slots: 2}
		a := c.Arrive(12, 0)
		c.Advance(3)
		b := c.Arrive(12, 2)
		if !Before(a, b, false) { // 6 are left for 1, 12 for 2: a tie
			t.Error("of two that end together the one that came first is not before the other")
		}
		c.Advance(6)
		c.Slots = 3
		c.Advance(10)
		third := c.Arrive(5, 0)
		third.Limit = limit
		if !Before(a, third, false) || Before(a, third, true) {
			t.Error("what is complete does not come first, or is not forgotten")
		}
		c.Drain()
		got := []string{a.Ended.RatString(), b.Ended.RatString(), third.Ended.RatString()}
		if want := []string{"10", "10", want}; !slices.Equal(got, want) {
			t.Errorf("limit %d: completions %v, want %v", limit, got, want)
		}
		if got := c.Ahead(third).Sign(); got >= 0 {
			t.Errorf("limit %d: a job that is complete is %d ahead", limit, got)
		}
	}
}

// Of four slots, a of weight 1 could use half of two; its limit of one is below its
// share of two and leaves three to b.
func TestLimits(t *testing.T) {
	c := Cluster{Slots: 4}
	a, b := c.Arrive(10, 0), c.Arrive(30, 0)
	a.Limit = 1
	c.Advance(5)
	if a.Left.RatString() != "5" || b.Left.RatString() != "15" {
		t.Errorf("5 and 15 are left, got %v and %v", a.Left, b.Left)
	}
}
