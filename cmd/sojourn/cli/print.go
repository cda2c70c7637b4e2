package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/recorded"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// A formFlags says in which form results are printed.
type formFlags struct {
	json bool
	csv  csvForm
}

func (f *formFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.json, "json", false, "print JSON instead of tables")
	flags.Var(typed(&f.csv, "FORM"), "csv", "print CSV instead of tables, a row for each policy; with `batsim`, write batsim.csv into the folder of -o, with the columns of Batsim's jobs")
	flags.Lookup("csv").NoOptDefVal = csvTable
}

// csvCells says, in the help of commands that write CSV, what cells have.
const csvCells = `In CSV, names stand as they are. A spreadsheet may take a cell that begins
with = + - or @ for a formula: import such columns as text.

`

// The forms of --csv.
const (
	csvTable  = "table"
	csvBatsim = "batsim"
)

// A csvForm is the value of --csv, "" unless given.
type csvForm string

func (f *csvForm) String() string { return string(*f) }

// Set reads a form.
func (f *csvForm) Set(text string) error {
	if text != csvTable && text != csvBatsim {
		return fmt.Errorf("want %s or %s", csvTable, csvBatsim)
	}
	*f = csvForm(text)
	return nil
}

// joinCSV joins "--csv batsim" to "--csv=batsim": the value of a flag that needs none must
// not stand apart from it.
func joinCSV(args []string) []string {
	for i := range args {
		if args[i] == "--" {
			break
		}
		if args[i] == "--csv" && i+1 < len(args) && (args[i+1] == csvTable || args[i+1] == csvBatsim) {
			return slices.Concat(args[:i], []string{"--csv=" + args[i+1]}, args[i+2:])
		}
	}
	return args
}

// check refuses forms that exclude each other. dir is the folder of -o.
func (f *formFlags) check(dir string) error {
	switch {
	case f.json && f.csv == csvTable:
		return usage.Errorf("--json and --csv exclude each other")
	case f.csv == csvBatsim && dir == "":
		return usage.Errorf("--csv batsim writes a file for each policy: give -o DIR")
	}
	return nil
}

// printResult writes a result in the form that the flags ask for.
func printResult[T any](cmd *cobra.Command, f *formFlags, whole any, rows []T, table func(io.Writer) error) error {
	switch out := cmd.OutOrStdout(); {
	case f.json:
		return format.WriteJSON(out, whole)
	case f.csv == csvTable:
		return format.WriteCSV(format.Exact(out), rows)
	default:
		return table(out)
	}
}

// printForm writes a result as JSON or as a table.
func printForm(cmd *cobra.Command, asJSON bool, whole any, table func(io.Writer) error) error {
	return printResult[any](cmd, &formFlags{json: asJSON}, whole, nil, table)
}

// registerPage registers -o of commands that print one answer.
func registerPage(flags *pflag.FlagSet, file *string) {
	flags.StringVarP(file, "output", "o", "", "also write a page with pictures for a browser to `FILE`, such as report.html")
}

// printPage prints an answer, and writes its page if a file is named.
func printPage(cmd *cobra.Command, args []string, file string, made func(command string) *page.Report, print func() error) error {
	if file != "" {
		r := made(recorded.CommandLine(cmd.Name(), args, givenFlags(cmd)))
		if err := files.Replace(file, r.Write); err != nil {
			return err
		}
	}
	return print()
}

// The values of --color.
var colours = []string{"auto", "always", "never"}

// A colourFlag is the value of --color.
type colourFlag string

func (c *colourFlag) String() string { return string(*c) }

// Set reads a value.
func (c *colourFlag) Set(text string) error {
	if !slices.Contains(colours, text) {
		return fmt.Errorf("want %s", format.Listed(colours))
	}
	*c = colourFlag(text)
	return nil
}

// on reports whether what goes to a writer is coloured: with auto, if it is a terminal and
// NO_COLOR is not set (no-color.org).
func (c *colourFlag) on(to io.Writer) bool {
	file, ok := to.(*os.File)
	return c.wants(ok && term.IsTerminal(int(file.Fd())))
}

// wants reports whether what goes to a terminal, or elsewhere, is coloured.
func (c *colourFlag) wants(terminal bool) bool {
	if *c != "auto" {
		return *c == "always"
	}
	return terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// colourIn returns the value of --color among arguments whatever the command, so that the
// writer is there before the command runs; the command checks it.
func colourIn(args []string) colourFlag {
	c := colourFlag("auto")
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if value, ok := strings.CutPrefix(arg, "--color="); ok {
			c = colourFlag(value)
		} else if arg == "--color" && i+1 < len(args) {
			c = colourFlag(args[i+1])
		}
	}
	return c
}
