package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/spf13/cobra"
)

func newJournal() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "Look into the journal of a scheduler: inspect, verify, export",
		Long: `journal reads the folder in which package journal keeps what a scheduler must not
forget. It changes nothing, and the scheduler may run meanwhile.

A byte that is wrong is bad input: it prints the file and the byte, and the exit
status is 3.`,
		Example: `  sojourn journal inspect /var/lib/scheduler
  sojourn journal verify /var/lib/scheduler
  sojourn journal export /var/lib/scheduler > history.txt`,
		Args: onlyFlags,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var asJSON bool
	inspect := &cobra.Command{
		Use:   "inspect FOLDER",
		Short: "Print what is in each segment",
		Args:  oneFile,
		RunE: action(func(cmd *cobra.Command, args []string) error {
			return withJournal(args[0], func(s journal.Store) error { return inspectJournal(cmd.OutOrStdout(), s, asJSON) })
		}),
	}
	inspect.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of a table")
	verify := &cobra.Command{
		Use:   "verify FOLDER",
		Short: "Check every record",
		Args:  oneFile,
		RunE: action(func(cmd *cobra.Command, args []string) error {
			return withJournal(args[0], func(s journal.Store) error { return verifyJournal(cmd.OutOrStdout(), s, args[0]) })
		}),
	}
	export := &cobra.Command{
		Use:   "export FOLDER",
		Short: "Write the journal as a history",
		Long: `export writes the journal as a history: docs/history.md has the format. If segments
were removed, the history begins with the facts at that instant, as events.`,
		Args: oneFile,
		RunE: action(func(cmd *cobra.Command, args []string) error {
			return withJournal(args[0], func(s journal.Store) error { return exportJournal(format.Exact(cmd.OutOrStdout()), s) })
		}),
	}
	cmd.AddCommand(inspect, verify, export)
	return cmd
}

func withJournal(dir string, f func(journal.Store) error) error {
	s, err := trial.OpenJournal(dir)
	if err != nil {
		return err
	}
	err = trial.BadJournal(f(s))
	return errors.Join(err, s.Close())
}

func inspectJournal(w io.Writer, s journal.Store, asJSON bool) error {
	var list []journal.Segment
	var bad error
	for i, err := range journal.Inspect(s) {
		if list = append(list, i); bad == nil {
			bad = err
		}
	}
	if asJSON {
		return errors.Join(format.WriteJSON(w, list), bad)
	}
	return errors.Join(writeSegments(w, list), bad)
}

func writeSegments(w io.Writer, list []journal.Segment) error {
	t := format.Table{Corner: "segment"}
	for _, title := range []string{"bytes", "snapshot", "facts", "events", "decisions", "last job", "until s", "torn bytes"} {
		t.Add("", title, nil)
	}
	number := func(n int64) string { return format.Thousands(int(n)) }
	for _, s := range list {
		t.Row(fmt.Sprint(s.Number), number(s.Bytes), number(s.Snapshot), format.Thousands(s.Facts), format.Thousands(s.Events), format.Thousands(s.Decisions),
			fmt.Sprint(s.MaxJob), format.Time(s.Last), number(s.Torn))
	}
	_, err := io.WriteString(w, t.String())
	return err
}

func verifyJournal(w io.Writer, s journal.Store, dir string) error {
	segments, records, torn := 0, 0, int64(0)
	for i, err := range journal.Inspect(s) {
		if err != nil {
			return err
		}
		segments++
		records += i.Facts + i.Events + i.Decisions
		torn += i.Torn
	}
	end := ""
	if torn > 0 {
		end = fmt.Sprintf("; %s at the end are of a write that never ended", format.Count(int(torn), "byte"))
	}
	_, err := fmt.Fprintf(w, "%s: %s, %s, all right%s\n", format.Visible(dir), format.Count(segments, "segment"), format.Count(records, "record"), end)
	return err
}

func exportJournal(out io.Writer, s journal.Store) error {
	w := history.NewWriter(out)
	for e, err := range journal.History(s) {
		if err != nil {
			return err
		}
		switch e.Kind {
		case history.Header:
			w.Header(e.Name, e.Value)
		case history.Observe:
			w.Event(e.Event, e.Err)
		case history.Assign:
			w.Assign(e.Slot, e.Assignment, e.OK)
		}
	}
	return w.Flush()
}
