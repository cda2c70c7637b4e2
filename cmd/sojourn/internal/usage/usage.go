package usage

import "fmt"

// A Error is wrong usage of the command that is found after its arguments were
// read: the exit status is then 2.
type Error struct{ error }

func (e Error) Unwrap() error { return e.error }

// Wrap makes an error one of usage.
func Wrap(err error) error { return Error{err} }

// Errorf is fmt.Errorf for errors of usage.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

// Nearest returns the one of some words which a misspelt one may mean: at most a third of its letters are missing, there in vain, other
// ones, or in the place of their neighbours; "" if none is near.
func Nearest(word string, known []string) string {
	best, least := "", len(word)/3+1
	for _, k := range known {
		if max(len(word)-len(k), len(k)-len(word)) >= least {
			continue
		}
		if d := distance(word, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance returns how many letters must be added, taken away, changed, or swapped with their neighbours.
func distance(a, b string) int {
	var before, last []int
	for i := 0; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		for j := range row {
			switch {
			case i == 0 || j == 0:
				row[j] = i + j
			case a[i-1] == b[j-1]:
				row[j] = last[j-1]
			default:
				row[j] = 1 + min(last[j-1], last[j], row[j-1])
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					row[j] = min(row[j], 1+before[j-2])
				}
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
