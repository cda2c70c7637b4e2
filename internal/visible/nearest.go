package visible

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

// Meant returns what an error about an unknown word says of the word that was meant: "; did you mean fair?", or "".
func Meant(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return "; did you mean " + Text(near) + "?"
	}
	return ""
}
