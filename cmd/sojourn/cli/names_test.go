package cli

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/spf13/cobra"
)

// evil is a name of characters that terminals obey, as JSON has it, and evilFile one for files and arguments.
const (
	evil     = "a\\u001b[31m\\u0007\\r\\n\\u007f\\u0085\\u009b2J\\u202egpj\\u2066\\u200f\\u2028\\ufeff"
	evilFile = "b\x1b[2J\a\r\x7f\u0085\u009b\u202e\u2066\u200f\u2028\ufeff\xff\x9b\nforged"
)

// Whatever command prints names of jobs, pools, nodes, files, policies or options, on stdout or stderr, prints no character that a
// terminal obeys but its own ends of lines and tabs. A command that is not tried here fails the test.
func TestNamesOnTerminals(t *testing.T) {
	t.Chdir(t.TempDir())
	jobs := `{"id":1,"at":0,"name":"` + evil + `","pool":"` + evil + `","phases":[{"tasks":3,"time":10}]}` + "\n" +
		`{"id":2,"at":1,"name":"` + evil + `2","pool":"` + evil + `2","phases":[{"tasks":2,"time":5},{"tasks":1,"time":2}]}` + "\n"
	for name, text := range map[string]string{
		evilFile:           jobs,
		evilFile + ".json": `{"pools":[{"name":"` + evil + `","weight":2},{"name":"` + evil + `2"}]}`,
		evilFile + "bad":   `{"id":1,"at":0,"name":"` + evil + `","` + evil + `":1,"phases":[{"tasks":1,"time":"` + evil + `"}]}`,
		evilFile + "hist":  "# " + evilFile + "\n" + evilFile + " " + evilFile + "\n",
		evilFile + ".swf":  "; MaxProcs: 4\n1 0 0 100 4 -1 -1 4 200 -1 1 1 1 1 1 -1 -1 -1\n",
		evilFile + "pools": `{"pools":[{"name":"` + evil + `"},{"name":"` + evil + `"}]}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out := evilFile + "out"
	w := []string{"-w", evilFile, "-c", "2x1"}
	with := func(command string, args ...string) []string { return append(append([]string{command}, w...), args...) }
	bad := []string{evilFile + "bad", evilFile + "hist", evilFile + "pools", evilFile + "none", evilFile}
	tries := map[string][][]string{
		"run":             {with("run", "-p", "fair:pools="+evilFile+".json", "-o", out), with("run", "-p", "fifo", "-o", out), with("run", "-p", evilFile), with("run", "-p", "fair:"+evilFile+"=1"), with("run", "-p", "fair:order="+evilFile), with("run", "-p", "fair:pools="+evilFile+"pools")},
		"compare":         {with("compare", "-p", "fifo,fair", "-o", out+"2"), with("compare", "-p", "fair:pools="+evilFile+".json"), {"compare", "-w", evilFile, "-c", evilFile}, {"compare", "-w", evilFile + "bad", "-c", "1x1"}, {"compare", "--gen", evilFile}, {"compare", "--" + evilFile}},
		"bench":           {{"bench", ".", "-o", out + "3"}, {"bench", evilFile, "-o", out + "3"}, {"bench", ".", "-o", out + "3", "--loads", evilFile}, {"bench", ".", "-o", out + "3", "--traces", evilFile}},
		"advise":          {with("advise", "-p", "fifo,fair", "--loads", "1", "--seeds", "2"), with("advise", "-p", "fifo,fair")},
		"sweep":           {with("sweep", "-p", "fifo,fair", "--vary", "load=1"), with("sweep", "-p", "fifo", "--vary", evilFile), with("sweep", "-p", "fifo", "--vary", "load="+evilFile)},
		"plan":            {with("plan", "-p", "huwf"), with("plan", "-p", evilFile)},
		"fluid":           {{"fluid", "-w", evilFile, "--slots", "2"}, {"fluid", "-w", evilFile, "--slots", "2", "--json"}, {"fluid", "-w", evilFile, "--slots", "2", "-p", evilFile}},
		"explain":         {{"explain", out, "1"}, {"explain", out, "2", "--json"}, {"explain", out, evilFile}, {"explain", out, "1", "-p", evilFile}},
		"forecast":        {{"forecast", out, "--at", "1s"}, {"forecast", out, "--at", "1s", "--json"}, {"forecast", out, "--at", "1s", "--with", "fair"}, {"forecast", out, "--job", evilFile}, {"forecast", out, "--with", evilFile}},
		"replay":          {{"replay", out + "/history.txt"}, {"replay", out + "/history.txt", "--explain", "1"}, {"replay", out + "/history.txt", "-p", "fair"}, {"replay", out + "/history.txt", "--json"}},
		"validate":        {{"validate", evilFile}, {"validate", evilFile + ".json"}},
		"convert":         {{"convert", "--from", evilFile, evilFile}, {"convert", "--from", "csv", "--columns", evilFile, evilFile}, {"convert", "--from", "history", evilFile + "hist"}},
		"gen":             {{"gen", evilFile}, {"gen", "poisson:" + evilFile + "=1"}, {"gen", "poisson", "--option", evilFile}, {"gen", "poisson", "--option", "jobs=" + evilFile}},
		"policies":        {{"policies", evilFile}},
		"paper":           {{"paper", evilFile}, {"paper", "pfsp", "--" + evilFile}},
		"report":          {{"report", out}, {"report", evilFile}, {"report", out, "-o", evilFile + "/x"}},
		"version":         {{"version"}, {"version", evilFile}},
		"help":            {{"help", evilFile}},
		"journal inspect": {{"journal", "inspect", evilFile + "none"}, {"journal", "inspect", evilFile}},
		"journal verify":  {{"journal", "verify", evilFile + "none"}},
		"journal export":  {{"journal", "export", evilFile + "none"}},
		"completion bash": {{"completion", "bash", evilFile}}, "completion zsh": {{"completion", "zsh", evilFile}},
		"completion fish": {{"completion", "fish", evilFile}}, "completion powershell": {{"completion", "powershell", evilFile}},
		"completion": {{"completion", evilFile}}, "journal": {{"journal", evilFile}},
	}
	printed := 0
	try := func(args []string) {
		var stdout, stderr bytes.Buffer
		Run(args, strings.NewReader(""), &stdout, &stderr)
		for _, text := range []string{stdout.String(), stderr.String()} {
			if strings.Contains(text, `\u202e`) {
				printed++
			}
			if strings.Contains(text, "\nforged") {
				t.Errorf("%q prints a line that a name has: %.300q", args, text)
			}
			if i := strings.IndexFunc(text, obeyed); i >= 0 || !utf8.ValidString(text) {
				t.Errorf("%q prints %.300q", args, text[max(i, 0):])
			}
		}
	}
	try(tries["run"][1])
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "sojourn"), " ")
		if c.Runnable() && path != "" {
			if tries[path] == nil {
				t.Errorf("command %q is not tried", path)
			}
			for _, args := range tries[path] {
				try(args)
			}
			for _, name := range bad {
				try(append(strings.Fields(path), name))
				try(append(strings.Fields(path), "-w", name, "-c", "1x1"))
			}
			try(append(strings.Fields(path), "--"+evilFile))
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	try([]string{evilFile})
	root := newRoot(catalog.Builtin())
	root.InitDefaultCompletionCmd()
	walk(root)
	if printed < 50 {
		t.Errorf("a name was printed %d times", printed)
	}
}

// obeyed reports whether a terminal does something else with a character than to show it.
func obeyed(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || slices.Contains([]rune{0x2028, 0x2029, 0xfeff}, r) || unicode.Is(unicode.Bidi_Control, r)
}
