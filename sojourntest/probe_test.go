package sojourntest

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
	"pgregory.net/rapid"
)

// A debtor serves the job whose starts were refused least often, without the first one since a task of it finished. forgets says that its
// snapshots lack which jobs have been refused one, which shows when another one is.
type debtor struct {
	*queue.Jobs[debt, [2]uint64]
	forgets bool
}

type debt struct {
	had     uint64
	refused bool
}

func newDebtor(forgets bool) *debtor {
	p := &debtor{forgets: forgets}
	p.reset()
	return p
}

func (p *debtor) reset() {
	p.Jobs = queue.NewJobs(queue.JobOrder[debt, [2]uint64]{
		Key:  func(j *ledger.Job[debt]) [2]uint64 { return [2]uint64{j.Data.had, j.Seq()} },
		Less: func(a, b [2]uint64) bool { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) < 0 },
	})
}

func (p *debtor) Observe(ev sojourn.Event) error {
	if err := p.Ledger.Check(&ev); err != nil {
		return err
	}
	c := p.Apply(&ev)
	switch ev.Kind {
	case sojourn.TaskFinished:
		c.Job.Data.refused = false
	case sojourn.TaskRefused:
		if c.Job.Data.refused {
			c.Job.Data.had++
		}
		c.Job.Data.refused = true
	}
	p.File(&ev, c)
	return nil
}

func (p *debtor) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, snapshot.Header{Policy: "debtor", Version: 1}, func(w *snapshot.Writer) {
		p.Save(w, func(j *ledger.Job[debt]) {
			w.Uint(j.Data.had)
			w.Bool(j.Data.refused && !p.forgets)
		})
	})
}

func (p *debtor) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, snapshot.Header{Policy: "debtor", Version: 1}, p.reset, func(r *snapshot.Reader) {
		p.Restore(r, func(j *ledger.Job[debt]) { j.Data = debt{r.Uint(), r.Bool()} })
	})
}

// What a snapshot lacks of ends that are rare is found at the usual number of histories, and the text of the failure repeats it.
func TestForgottenRefusals(t *testing.T) {
	needsAllChecks(t)
	o := Options{IgnoresWeights: true}
	forgetful := func() sojourn.Policy { return newDebtor(true) }
	var found *breach
	for seed := uint64(1); seed < 100 && found == nil; seed++ {
		found = try(forgetful, &o, newChance(seed, 30))
	}
	if found == nil || found.law != lawSnapshots {
		t.Fatalf("sojourntest says of 100 histories\n%v\nwant the law of snapshots", found)
	}
	for seed := range uint64(20) {
		if b := try(func() sojourn.Policy { return newDebtor(false) }, &o, newChance(seed, 30)); b != nil {
			t.Fatalf("sojourntest says of a correct policy\n%v", b)
		}
	}
	said := found.report(forgetful, &o)
	text := firstHistory(said)
	if again := replayed(t, forgetful, o, text); !strings.HasPrefix(again, "law of snapshots: ") || strings.Count(text, "@") > 12 {
		t.Errorf("sojourntest says\n%s\nand of the text again\n%s", said, again)
	}
}

// A heir remembers the latest names. It knows no more of snapshots than what [checkMemory] needs.
type heir struct {
	mute
	names  *[]string
	random bool // the name that is dropped is one that a map happens to list first
	most   int  // names that can be restored
}

const namesOfHeir = 40

func (p heir) Observe(ev sojourn.Event) error {
	err := p.mute.Observe(ev)
	if ev.Kind != sojourn.JobArrived || err != nil {
		return err
	}
	if len(*p.names) == namesOfHeir {
		drop := 0
		if p.random {
			seen := map[int]bool{}
			for i := range *p.names {
				seen[i] = true
			}
			for drop = range seen { //sojourn:unordered that is the mistake
				break
			}
		}
		*p.names = slices.Delete(*p.names, drop, drop+1)
	}
	*p.names = append(*p.names, ev.Job.Name)
	return nil
}

func (p heir) AppendBinary(dst []byte) ([]byte, error) {
	return p.mute.AppendBinary(append(dst, strings.Join(*p.names, ",")+"\n"...))
}

func (p heir) UnmarshalBinary(data []byte) error {
	line, rest, _ := strings.Cut(string(data), "\n")
	names := strings.Split(line, ",")
	if len(names) > p.most {
		return sojourn.ErrForeignSnapshot
	}
	*p.names = names
	return p.mute.UnmarshalBinary([]byte(rest))
}

// What a policy keeps of many jobs, it keeps in snapshots, and does not depend on the order of a map.
func TestRestoredAfterManyJobs(t *testing.T) {
	for _, tc := range []struct {
		name   string
		random bool
		most   int
		want   string
	}{
		{"a correct one", false, namesOfHeir, ""},
		{"one that drops names in the order of a map", true, namesOfHeir, "a policy was restored after"},
		{"one that restores few names", false, 20, "UnmarshalBinary of what AppendBinary has returned"},
	} {
		newPolicy := func() sojourn.Policy { return heir{newMute(correct), new([]string), tc.random, tc.most} }
		got := recorded(t, func(tb rapid.TB) { checkMemory(tb, newPolicy, fullOptions(), 64, 1024) })
		if tc.want == "" && got != "" || tc.want != "" && (!strings.Contains(got, tc.want) || !strings.Contains(got, "law of snapshots")) {
			t.Errorf("%s: sojourntest says %q, want %q", tc.name, got, tc.want)
		}
	}
}
