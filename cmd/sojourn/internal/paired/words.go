package paired

import (
	"fmt"
	"math"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// A Scale says what the effects are that words tell.
type Scale bool

const (
	Ratios Scale = false // differences of logarithms
	Points Scale = true  // differences of shares
)

// Sure is said of a policy that is best by more than chance.
const Sure = "that is more than chance"

// Alike is by how much more of a number a policy is still as good as the best, in percent or in points of a share, if chance
// cannot tell the two apart.
const Alike = 5

// Tie is said of policies that may be as good as the best one, and effects say how much more each has. Those that have far more are
// no tie: the workload is too short, or rests on too few jobs, to tell.
func (s Scale) Tie(names []string, effects []float64) string {
	var near, far []string
	most := 0.0
	for i, name := range names {
		if more := s.Amount(effects[i]); more <= Alike {
			near = append(near, name)
		} else {
			far, most = append(far, name), max(most, more)
		}
	}
	var parts []string
	if len(near) > 0 {
		parts = append(parts, format.Joined(near, "and")+" cannot be told from it on this workload: that is a tie")
	}
	if len(far) > 0 {
		verb := " has "
		if len(far) > 1 {
			verb = " have up to "
		}
		parts = append(parts, fmt.Sprintf("it may be chance that %s%s%s %s more", format.Joined(far, "and"), verb, AmountText(most, decimals(most)), s.Unit()))
	}
	return strings.Join(parts, ", and ")
}

// Amount returns by how much an effect changes a number: in percent, or in points of a
// share.
func (s Scale) Amount(effect float64) float64 {
	if s == Points {
		return 100 * effect
	}
	return 100 * (detmath.Exp(effect) - 1)
}

// Unit is that of an amount.
func (s Scale) Unit() string {
	if s == Points {
		return "points"
	}
	return "%"
}

// decimals returns how many decimals amounts are given with: one if any is below 10, or hardly
// below all.
func decimals(amounts ...float64) int {
	for _, amount := range amounts {
		if amount = math.Abs(amount); amount < 9.95 || amount >= 98.5 && amount < 100 {
			return 1
		}
	}
	return 0
}

// Change says how a number is changed by an effect, such as "44 % lower (31 to 55 %)".
func (s Scale) Change(i stats.Interval) string {
	low, mid, high := s.Amount(i.Low()), s.Amount(i.Mean), s.Amount(i.High())
	if math.IsNaN(i.Half) || i.Half == 0 {
		return s.towards(mid, decimals(mid))
	}
	d := decimals(low, mid, high)
	least, most := math.Abs(low), math.Abs(high)
	switch {
	case high < 0:
		least, most = most, least
	case low <= 0:
		return s.towards(mid, d) + fmt.Sprintf(" (from %s to %s)", s.towards(low, d), s.towards(high, d))
	}
	return s.towards(mid, d) + fmt.Sprintf(" (%s to %s %s)", AmountText(least, d), AmountText(most, d), s.Unit())
}

// towards says by how much a number is lower or higher.
func (s Scale) towards(amount float64, decimals int) string {
	switch text := AmountText(math.Abs(amount), decimals); {
	case math.Abs(amount) < 0.05:
		return "the same"
	case amount < 0:
		return text + " " + s.Unit() + " lower"
	default:
		return text + " " + s.Unit() + " higher"
	}
}

// AmountText formats an amount above 0.
func AmountText(amount float64, decimals int) string {
	if decimals > 0 || amount > 1e9 {
		return format.Number(amount, decimals)
	}
	return format.Thousands(int(math.Round(amount)))
}
