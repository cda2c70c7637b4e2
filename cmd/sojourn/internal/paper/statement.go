package paper

import (
	"cmp"
	"embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// statementFiles has a file for each paper. A block names a place, quotes the paper ("> "), and lists
// the statements of the quotation: their kind, their name, and what is said.
//
//go:embed statements/*.txt
var statementFiles embed.FS

// The kinds of statements. A number is compared with ours. A bound is a number that ours has to be
// above or below. A sign says what is more, what is less, or what is the same, without a number. What is
// open is not judged.
const (
	number = "number"
	bound  = "bound"
	sign   = "sign"
	open   = "open"
)

// A statement is one that a paper makes of its experiments. The rows that judge it name it.
type statement struct {
	name, kind string
	text       string // what is said, in short; of an open one, why it is not judged
	quote      string // the words of the paper
	place      string // where they stand
}

// statementsOf returns the statements of a paper, in their order there.
func statementsOf(paper string) (list []statement) {
	text, err := statementFiles.ReadFile("statements/" + paper + ".txt")
	if err != nil {
		return nil
	}
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		lines := strings.Split(block, "\n")
		for _, line := range lines[2:] {
			head, text, _ := strings.Cut(line, ": ")
			kind, name, _ := strings.Cut(head, " ")
			list = append(list, statement{name, kind, text, strings.TrimPrefix(lines[1], "> "), lines[0]})
		}
	}
	return list
}

// A judgement is what came of a statement in the set-up of the paper as we read it: what came of the row
// that is furthest from it.
type judgement struct {
	statement
	row        *paperOutcome // nil of an open one
	in         *Result       // where the row is
	held, rows int           // how many rows of the set-up are as the paper says, and how many there are
	elsewhere  []string      // the set-ups of ours in which all rows are so, if they are not in the paper's
}

// worse orders the verdicts of rows of one statement. Too few seeds never hide a row that is refuted.
var worse = []string{reproduced, shapeOnly, tooFewSeeds, notReproduced}

// judgements returns what came of each statement that rows of the results judge, and of the open ones.
func judgements(results []*Result) (list []judgement) {
	for _, s := range statementsOf(results[0].Paper()) {
		j := judgement{statement: s}
		var others []string
		failed := map[string]bool{}
		for _, p := range results {
			for i := range p.rows {
				r := &p.rows[i]
				switch {
				case r.says != s.name:
					continue
				case r.setUp != "":
					if !slices.Contains(others, r.setUp) {
						others = append(others, r.setUp)
					}
					failed[r.setUp] = failed[r.setUp] || r.is != reproduced
					continue
				case j.row == nil || cmp.Or(slices.Index(worse, r.is)-slices.Index(worse, j.row.is), cmp.Compare(r.off(), j.row.off())) > 0:
					j.row, j.in = r, p
				}
				j.rows++
				if r.is == reproduced {
					j.held++
				}
			}
		}
		if j.row == nil && (s.kind != open || !whole(results)) {
			continue // of an experiment that is not among the results
		}
		if j.row != nil && j.row.is != reproduced {
			j.elsewhere = slices.DeleteFunc(others, func(name string) bool { return failed[name] })
		}
		list = append(list, j)
	}
	return list
}

// off returns how far our number is from what the paper says of it, for the order among rows of one verdict: relative to the number or the limit, and
// negative on the side of the limit that the paper names.
func (o *paperOutcome) off() float64 {
	if o.value > 0 {
		return math.Abs(o.ours.Mean/o.value - 1)
	}
	by := (o.ours.Mean - o.paperRow.bound()) / max(math.Abs(o.paperRow.bound()), 1e-9)
	if o.claim == above {
		return -by
	}
	return by
}

// A tally counts statements by their kind and verdict.
type tally map[[2]string]int

func tallyOf(list []judgement) tally {
	t := tally{}
	for _, j := range list {
		is := ""
		if j.row != nil {
			is = j.row.is
		}
		t[[2]string{j.kind, is}]++
	}
	return t
}

// count returns how many statements of some kinds have some verdicts.
func (t tally) count(kinds []string, verdicts ...string) int {
	n := 0
	for _, k := range kinds {
		for _, v := range verdicts {
			n += t[[2]string{k, v}]
		}
	}
	return n
}

var judged = []string{number, bound, sign}

// tallyHead is above cells.
const tallyHead = "statements | came out | of the numbers | of the bounds | of the signs | shape only | not reproduced | too few seeds | not judged"

// cells returns the columns of tallyHead.
func (t tally) cells() string {
	of := func(kinds ...string) string {
		return fmt.Sprintf("%d of %d", t.count(kinds, reproduced), t.count(kinds, worse...))
	}
	return fmt.Sprintf("%d | %d | %s | %s | %s | %d | %d | %d | %d", t.count(judged, worse...), t.count(judged, reproduced), of(number), of(bound), of(sign),
		t.count(judged, shapeOnly), t.count(judged, notReproduced), t.count(judged, tooFewSeeds), t.count([]string{open}, ""))
}

// sentence says how many of the paper's statements came out.
func (t tally) sentence() string {
	n := t.count(judged, worse...)
	if n == 0 {
		return "The text of the paper says nothing to compare with."
	}
	text := fmt.Sprintf("Of %s of the paper, %d came out", format.Count(n, "statement"), t.count(judged, reproduced))
	for i, kind := range judged {
		text += fmt.Sprintf("%s %d of %s", [...]string{":", ",", " and"}[i], t.count([]string{kind}, reproduced), format.Count(t.count([]string{kind}, worse...), kind))
	}
	text += fmt.Sprintf("; %d came out in shape only, and %d did not", t.count(judged, shapeOnly), t.count(judged, notReproduced))
	if few := t.count(judged, tooFewSeeds); few > 0 {
		text += fmt.Sprintf("; for %d there are too few seeds", few)
	}
	return text + "."
}

// line returns the line of a statement in the table of a page. quoted says that the line above quotes the same.
func (j *judgement) line(quoted bool) string {
	said := plainText(j.text)
	if !quoted {
		said = fmt.Sprintf("“%s” (%s)<br>%s", plainText(j.quote), j.place, said)
	}
	if j.row == nil {
		return fmt.Sprintf("| %s | not judged | | | - |\n", said)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", said, j.kind, strings.TrimSpace(plainText(j.row.paper())+" "+j.row.margin()), j.ours(), j.outcome())
}

// ours returns our number that decides, and where it stands.
func (j *judgement) ours() string {
	text := fmt.Sprintf("[%s](#%s)", j.row.text(), j.in.Name)
	if j.rows > 1 {
		text += fmt.Sprintf(", %s; %d of %d rows hold", plainText(j.row.workload), j.held, j.rows)
	}
	return text
}

// outcome returns the verdict, and where else the statement comes out.
func (j *judgement) outcome() string {
	text := marked(j.row.is)
	if len(j.elsewhere) > 0 {
		text += "; comes out with " + plainText(strings.Join(j.elsewhere, ", "))
	}
	return text
}

// failure returns what the contents say of a statement that did not come out, and why.
func (j *judgement) failure() string {
	text := fmt.Sprintf("- %s, %s: %s. The paper: %s, %s. Ours: %s.", j.kind, marked(j.row.is), plainText(j.text), strings.TrimSpace(plainText(j.row.paper())+" "+j.row.margin()), j.place, j.row.text())
	if j.rows > 1 {
		text += fmt.Sprintf(" %d of %d rows hold; the furthest: %s, %s.", j.held, j.rows, plainText(j.row.workload), j.row.marked())
	}
	if len(j.elsewhere) > 0 {
		text += " It comes out with " + plainText(strings.Join(j.elsewhere, ", ")) + "."
	}
	return text + " " + plainText(j.row.why) + "\n"
}

// marked returns a verdict with its sign.
func marked(is string) string {
	sign := map[string]string{reproduced: "✓", shapeOnly: "≈", notReproduced: "✗", tooFewSeeds: "?"}[is]
	return strings.TrimSpace(sign + " " + is)
}
