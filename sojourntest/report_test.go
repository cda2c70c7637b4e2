package sojourntest

import (
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// A report leads to the cause: it names the law, says what broke it, and shows the shortest history. What the history
// shows is nothing but what the law is about.
func TestLeastReport(t *testing.T) {
	needsAllChecks(t)
	const most = 10 // calls of a history
	tests := []struct {
		name    string
		bug     bug
		rich    bool
		law     string
		says    string // in the line after the law
		history string // after its title and header, with what follows; if empty, there are few calls, and then the rewritten ones
	}{
		{"a job is changed", changesJobs, false, lawJobs, "job 1 was changed from", "@0s JobArrived 1 | 1\n"},
		{"a field that the kind does not use is checked", readsUnusedFields, false, lawFields,
			"Service of line 3 is nonsense, and a Tick does not use it: ", "@0s Tick\n"},
		{"NaN", explainsNaN, true, lawExplanations, `but "index" is NaN`, ""},
		{"infinity", explainsInfinity, true, lawExplanations, `but "rates" is -Inf`, ""},
		{"every slot added turns the order around", capacityLags, false, lawFlicker, "replayed, line ", ""},
		{"the lightest job comes first", lightFirst, false, lawWeights, ", which is served if its weight stays as it was", ""},
	}
	for _, tc := range tests {
		newPolicy, o := policyWith(tc.bug, tc.rich)
		said := failure(t, newPolicy, o)
		law, rest, _ := strings.Cut(said, "\n")
		what, rest, _ := strings.Cut(rest, "\n\nBroken by this history:\n\n")
		text, rest, _ := strings.Cut(rest, "\nTo repeat it, ")
		_, history, _ := strings.Cut(text, "\n@")
		history = "@" + history
		if tc.history == "" { // which of several small ones is found differs from seed to seed
			made, rewritten, _ := strings.Cut(history, "\n\nThis must then go the same way:\n\nsojourn history 1\nrewritten: by the law of "+nameOf(tc.law)+"\n")
			if n, m := strings.Count(made, "@"), strings.Count(rewritten, "@"); n > most || m > 0 && (m <= n || m > n+3) {
				t.Errorf("%s: %d calls, rewritten %d, want at most %d, and up to three more:\n%s", tc.name, n, m, most, said)
			}
			history = ""
		}
		if law != "law of "+tc.law || !strings.Contains(what, tc.says) || history != tc.history {
			t.Errorf("%s: sojourntest says\n%s\nwant the law of %s, %q, and\n%s", tc.name, said, tc.law, tc.says, tc.history)
		}
		if strings.Count(said, law) != 1 || strings.Count(said, what) != 1 || !strings.Contains(rest, "-rapid.seed=") {
			t.Errorf("%s: sojourntest says\n%s\nwant everything once, and the seed", tc.name, said)
		}
	}
}

// policyWith returns a fifo or a full with a bug, and the options for it.
func policyWith(b bug, rich bool) (func() sojourn.Policy, Options) {
	if rich {
		return func() sojourn.Policy { return newFull(b) }, fullOptions()
	}
	return func() sojourn.Policy { return newFIFO(b) }, Options{}
}

// Replay repeats a failure from its text, with the same law; a policy without the bug passes.
func TestReplay(t *testing.T) {
	needsAllChecks(t)
	for _, tc := range []struct {
		bug  bug
		rich bool
	}{
		{acceptsStale, false}, {changesJobs, false}, {readsUnusedFields, false}, {lowestID, false}, {sinceEpoch, false},
		{capacityLags, false}, {ticksCount, false}, {evenSlots, false}, {neverPanics, false}, {lightFirst, false}, {crashes, false},
		{keepsEnded, false}, {starves, false}, {explainsNaN, true}, {wakeMissing, true}, {rejectsBare, true}, {snapshotLacks, true}, {restoreHalf, true},
	} {
		newPolicy, o := policyWith(tc.bug, tc.rich)
		said := failure(t, newPolicy, o)
		law, _, _ := strings.Cut(said, "\n")
		text := firstHistory(said)
		if again := replayed(t, newPolicy, o, indented(text)); !strings.HasPrefix(again, law) {
			t.Errorf("sojourntest says\n%s\nand of the text again\n%s", said, again)
		}
		newPolicy, _ = policyWith(correct, tc.rich)
		if again := replayed(t, newPolicy, o, text); again != "" {
			t.Errorf("sojourntest says of a correct policy\n%s", again)
		}
	}
}

// firstHistory returns the history that a failure prints first.
func firstHistory(said string) string {
	_, rest, _ := strings.Cut(said, " history:\n\n")
	text, _, _ := strings.Cut(rest, "\n\n")
	return text + "\n"
}

// indented returns text as package testing prints it, and an editor turns it.
func indented(text string) string { return strings.ReplaceAll("\n"+text, "\n", "\n\t    ") }

func replayed(t *testing.T, newPolicy func() sojourn.Policy, o Options, text string) string {
	return recorded(t, func(tb rapid.TB) { replayText(tb, newPolicy, &o, text) })
}

// What fails under options that change can be repeated: the text says where they changed, and Replay changes them there.
func TestReplayOfChangedOptions(t *testing.T) {
	needsAllChecks(t)
	newPolicy, o := policyWith(correct, true)
	change := func(bugs ...bug) Options {
		o := o
		for _, b := range bugs {
			o.Changed = append(o.Changed, func() sojourn.Policy { return newFull(b) })
		}
		return o
	}
	said := failure(t, newPolicy, change(correct, attemptStuck))
	text := firstHistory(said)
	if !strings.Contains(text, "\nrepeat: calls; all questions; changed options\n") ||
		!strings.Contains(text, " # saved, and restored under Options.Changed[0]\n") || !strings.Contains(text, " # saved, and restored under Options.Changed[1]\n") {
		t.Errorf("sojourntest says\n%s\nwant a header and comments about the options that changed", said)
	}
	for _, tc := range []struct {
		o    Options
		want string
	}{
		{change(correct, attemptStuck), "law of assignments: "},
		{change(correct, correct), ""},
		{change(), "Options.Changed, which is empty"},
	} {
		if got := replayed(t, newPolicy, tc.o, text); (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("Replay says %q, want %q", got, tc.want)
		}
	}
	// What does not rest on changes does not mention them.
	if said := failure(t, func() sojourn.Policy { return newFull(attemptStuck) }, change(attemptStuck)); said == "" || strings.Contains(said, "changed options") {
		t.Errorf("sojourntest says\n%s\nwant no changed options", said)
	}
}

// Text that is no failure is refused. A history without the header is judged by all laws.
func TestReplayReads(t *testing.T) {
	newPolicy, o := policyWith(lowestID, false)
	for _, tc := range []struct{ text, want string }{
		{"", "not a history"},
		{"sojourn history 1\nrepeat: twice\n", `"twice", which means nothing`},
		{"sojourn history 1\nrepeat: calls; seed x\n", `"seed x", which means nothing`},
		{"sojourn history 1\n@0s Nothing\n", "2:"},
		{"sojourn history 1\nrepeat: calls\n@0s JobArrived 2 | 1\n@0s JobArrived 1 | 1\n@0s SlotAdded 0\n@0s Assign 0 -> none\n", ""},
		{"sojourn history 1\n@0s JobArrived 2 | 1\n@0s JobArrived 1 | 1\n@0s SlotAdded 0\n@0s Assign 0 -> none\n", "law of names: "},
	} {
		if got := replayed(t, newPolicy, o, tc.text); (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("Replay of %q says %q, want %q", tc.text, got, tc.want)
		}
	}
}
