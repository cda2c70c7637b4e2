package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/paper"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/sojourn-sched/sojourn/research/trace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// The exit status, apart from 0.
const (
	exitFailure  = 1
	exitUsage    = 2
	exitBadInput = 3
)

// A Policy is a policy that can be asked for by name.
type Policy = catalog.Entry

// NewPolicy returns a policy that the command line makes with a constructor of the
// usual form. The exported fields of its options, a struct, become options in
// kebab-case: NoGate becomes mine:no-gate=true. They may be strings, booleans,
// numbers, durations, maps from strings to these, pointers to these, and types
// that implement [encoding.TextUnmarshaler]. Help texts say of an option what the
// tag doc:"..." of its field says. name consists of lower case letters, digits and
// hyphens; summary is one line for the help text.
func NewPolicy[O any, P sojourn.Policy](name, summary string, make func(O) (P, error)) Policy {
	return catalog.NewEntry(name, summary, make)
}

// Main runs the command that the arguments of the process name, with the built-in
// policies and those given, and exits. A given policy takes the place of a
// built-in one of the same name.
func Main(policies ...Policy) {
	if columns, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && columns > 0 && os.Getenv("COLUMNS") == "" {
		os.Setenv("COLUMNS", strconv.Itoa(columns)) // see format.Width
	}
	ctx := context.WithValue(context.Background(), stopper{}, os.Exit)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, policies...))
}

// Run is [Main] with arguments and streams as parameters. It returns the exit status.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer, policies ...Policy) int {
	return run(context.Background(), args, stdin, stdout, stderr, policies...)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, policies ...Policy) int {
	args = joinCSV(args)
	out := &watched{to: stdout}
	var painted io.Writer = out
	painter := &format.Painter{To: out}
	if colour := colourIn(args); colour.on(stdout) {
		painted = painter
	}
	root := newRoot(catalog.Builtin().With(policies...))
	root.SetArgs(args)
	root.SetIn(stdin)
	shown := &format.Shown{To: painted}
	root.SetOut(shown)
	root.SetErr(&format.Shown{To: stderr})
	onlyOnce(root, args)
	cmd, err := root.ExecuteContextC(ctx)
	shown.Close()
	painter.Close()
	if out.err != nil && !errors.As(err, new(*runError)) { // of a help text or a version, which are not actions
		err = &runError{out.err}
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "sojourn: %s\n", format.VisibleLines(oneLine(message(err)+nearFile(err, args), args)))
	var (
		bad *trace.Error
		run *runError
	)
	switch {
	case errors.As(err, &bad):
		return exitBadInput
	case errors.As(err, &run) && !errors.As(err, new(usage.Error)):
		return exitFailure
	}
	fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
	return exitUsage
}

// message returns what err says. Events that were refused begin with the name of package sojourn, as all messages here do: it
// is left out there, and in no name.
func message(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	text := err.Error()
	var refused *sojourn.EventError
	for next := err; errors.As(next, &refused); next = refused.Err {
		said := refused.Error()
		if i := strings.LastIndex(text, said); i >= 0 {
			text = text[:i] + strings.TrimPrefix(said, "sojourn: ") + text[i+len(said):]
		}
	}
	return text
}

// nearFile says which file was meant if one does not exist that was named.
func nearFile(err error, args []string) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	for _, arg := range args {
		if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
			arg = value
		}
		if _, missing := os.Stat(arg); arg == "" || !errors.Is(missing, fs.ErrNotExist) || !strings.Contains(err.Error(), arg) {
			continue
		}
		folder, err := os.Open(filepath.Dir(arg))
		if err != nil {
			continue
		}
		names, _ := folder.Readdirnames(1000) // what can be read of them
		folder.Close()
		slices.Sort(names)
		if near := visible.Nearest(filepath.Base(arg), names); near != "" {
			return "; did you mean " + visible.Text(filepath.Join(filepath.Dir(arg), near)) + "?"
		}
	}
	return ""
}

// oneLine returns the text of an error with what was typed, such as the name of a file, in one line.
func oneLine(text string, args []string) string {
	for _, arg := range args {
		if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
			arg = value
		}
		if strings.Contains(arg, "\n") {
			text = strings.ReplaceAll(text, arg, format.Visible(arg))
		}
	}
	return text
}

// A watched is stdout. It remembers its first failure.
type watched struct {
	to  io.Writer
	err error
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil {
		err = fmt.Errorf("stdout: %w", files.Cause(err))
		w.err = cmp.Or(w.err, err)
	}
	return n, err
}

// plainDefault lets help texts show the default of a list as it is typed.
func plainDefault(f *pflag.Flag) {
	if _, list := f.Value.(pflag.SliceValue); list && f.DefValue != "[]" {
		f.DefValue = strconv.Quote(strings.Trim(f.DefValue, `[]"`))
	}
}

// onlyOnce makes the command that args name refuse a flag of one value that is given
// twice, since only the last one would count. One that names a file or folder may not be empty, as an unset variable of a
// shell is: what is to be written there would be lost.
func onlyOnce(root *cobra.Command, args []string) {
	cmd, rest, err := root.Find(args)
	if err != nil || slices.ContainsFunc(rest, func(arg string) bool { return arg == "-h" || arg == "--help" }) {
		return // a help text looks at the types of values
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, list := f.Value.(pflag.SliceValue); !list {
			what, _ := pflag.UnquoteUsage(f)
			f.Value = &onceValue{Value: f.Value, path: what == "FILE" || what == "DIR"}
		}
	})
}

// A onceValue is a value that can be set once.
type onceValue struct {
	pflag.Value
	set, twice bool
	path       bool // names a file or folder
}

func (v *onceValue) Set(text string) error {
	if v.twice = v.set; v.twice {
		return errors.New("it is given twice")
	}
	if v.set = true; v.path && text == "" {
		return errors.New("it is empty")
	}
	return v.Value.Set(text)
}

// flagError returns an error of a flag, without the names of Go's functions.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		bad     *pflag.InvalidValueError
	)
	if errors.As(err, &unknown) {
		if name, ok := alike(cmd.Flags(), unknown.GetSpecifiedName()); ok {
			return fmt.Errorf("%w; did you mean --%s?", err, name)
		}
	}
	if !errors.As(err, &bad) {
		return err
	}
	if once, ok := bad.GetFlag().Value.(*onceValue); ok && once.twice {
		return err
	}
	want := ""
	switch bad.GetFlag().Value.Type() {
	case "bool":
		want = "true or false"
	case "duration":
		want = "a duration such as 90s or 1h30m"
	case "float64":
		want = "a number"
	case "int":
		want = fmt.Sprintf("an integer from %d to %d", math.MinInt, math.MaxInt)
	case "int64":
		want = fmt.Sprintf("an integer from %d to %d", int64(math.MinInt64), int64(math.MaxInt64))
	case "uint64":
		want = fmt.Sprintf("an integer from 0 to %d", uint64(math.MaxUint64))
	default:
		return err // from Set of a type of this package; it says which values are valid
	}
	return fmt.Errorf("invalid argument %q for %q flag: want %s", bad.GetValue(), "--"+bad.GetFlag().Name, want)
}

// alike returns the flag that begins as a name does: with at least four characters of it,
// and more than any other flag. Else it returns the nearest one.
func alike(flags *pflag.FlagSet, name string) (best string, ok bool) {
	most := 3
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		names = append(names, f.Name)
		n := 0
		for n < min(len(name), len(f.Name)) && name[n] == f.Name[n] {
			n++
		}
		switch {
		case n > most:
			best, most, ok = f.Name, n, true
		case n == most:
			ok = false
		}
	})
	if !ok {
		best = visible.Nearest(name, names)
	}
	return best, best != ""
}

// A runError is an error of a command that had started. Other errors are errors of
// the command line.
type runError struct{ err error }

func (e *runError) Error() string { return e.err.Error() }
func (e *runError) Unwrap() error { return e.err }

// action makes the RunE of a command.
func action(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := run(cmd, args); err != nil {
			return &runError{err}
		}
		return nil
	}
}

func newRoot(policies catalog.Catalog) *cobra.Command {
	root := &cobra.Command{
		Use:   "sojourn",
		Short: "Compare scheduling policies for clusters that run jobs made of many tasks",
		Long: `sojourn runs scheduling policies on a simulated cluster, with a recorded or
made-up workload, and says how long jobs were in the system (their sojourn
time), how fair that was, and what became of each job and task.`,
		Example: `  sojourn compare --sample
  sojourn convert --from swim FB-2009_samples_24_times_1hr_0.tsv.gz > fb.jsonl
  sojourn compare -w fb.jsonl -c 30x2+1 -p fifo,fair,las,srpt,fsp,pfsp,hfsp
  sojourn advise -w fb.jsonl -c 30x2+1
  sojourn run -w fb.jsonl -c 30x2+1 -p fsp -o out`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	colour := colourFlag("auto")
	root.PersistentFlags().Var(typed(&colour, "WHEN"), "color", "colour what is printed: `WHEN` is auto (on a terminal, unless NO_COLOR is set), always or never")
	root.SetVersionTemplate("sojourn {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", format.Width())))
	root.SetHelpCommand(newHelp(policies))
	root.AddCommand(
		newCompare(policies), newAdvise(policies), newRun(policies), newSweep(policies), newBench(policies), newPaper(policies, paper.All()), newReplay(policies), newExplain(policies), newForecast(policies), newJournal(), newPolicies(policies), newConvert(), newGen(), newValidate(), newFluid(), newPlan(), newReport(),
		&cobra.Command{
			Use:   "version",
			Short: "Print the version",
			Args:  onlyFlags,
			Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), "sojourn", version()) },
		},
	)
	registerCompletions(root, policies)
	for _, c := range root.Commands() {
		c.Flags().VisitAll(plainDefault)
	}
	return root
}

// version returns the version of the module, "(devel)" for a build from source.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
