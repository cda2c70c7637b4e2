// Package command is what the commands of this module have in common: their flags, the client of the API server, the
// Lease, and the life of the process.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/internal/visible"
	clients "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// Main runs a command until it ends or the process is asked to. If it fails, Main says why and exits with status 1. What
// client-go logs has names and messages of others: it is shown as all else on stderr.
func Main(name string, run func(ctx context.Context, args []string) error) {
	logTo(shown{os.Stderr})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		report(name, err)
		os.Exit(1)
	}
}

// report says why a command has failed.
func report(name string, err error) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", name, visible.Lines(err.Error()))
}

// Flags are the flags that all commands have. Those of one command are added before Parse.
type Flags struct {
	*flag.FlagSet
	Namespace string
	Workers   int

	policy, kubeconfig, listen, lease string
	qps                               float64
	limits                            kubernetes.Limits
}

// NewFlags returns the flags of a command that has so many requests under way unless the user says otherwise.
func NewFlags(name string, workers int) *Flags {
	f := &Flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	f.SetOutput(shown{os.Stderr})
	f.StringVar(&f.policy, "policy", "default", "the policy and its options, such as hfsp or fair:order=running")
	f.StringVar(&f.Namespace, "namespace", "", "the namespace of Jobs and pods; empty: all")
	f.StringVar(&f.kubeconfig, "kubeconfig", "", "how to reach the API server; empty: as a pod of the cluster, or as KUBECONFIG says")
	f.IntVar(&f.Workers, "workers", workers, "requests under way at a time")
	f.Float64Var(&f.qps, "qps", -1, "the most requests a second; below 0: no limit but the API server's")
	f.StringVar(&f.listen, "listen", ":8080", "address of /metrics, /healthz and /readyz; empty: none")
	f.StringVar(&f.lease, "lease", "", "namespace/name of the Lease that replicas compete for; empty: there is one replica")
	f.BoolVar(&f.limits.AnyPool, "any-pool", false, "annotations may name any pool; otherwise the pool of a Job is its namespace")
	f.Float64Var(&f.limits.MaxWeight, "max-weight", 1, "the greatest weight that an annotation may ask for")
	f.DurationVar(&f.limits.MinSize, "min-size", 0, "a smaller size by annotation counts as this one")
	f.BoolVar(&f.limits.NoDeadlines, "no-deadlines", false, "refuse Jobs with a deadline by annotation")
	f.IntVar(&f.limits.MaxGang, "max-gang", 0, "how many pods a gang has at most; 0: any number; below 0: there are no gangs")
	return f
}

// logTo makes w what klog writes to, which client-go logs with.
func logTo(w io.Writer) {
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(w)))
	klog.SetLoggerWithOptions(logger, klog.ContextualLogger(true), klog.WriteKlogBuffer(func(line []byte) { w.Write(line) }))
}

// A shown writes texts as [visible.Lines] shows them.
type shown struct{ to io.Writer }

func (s shown) Write(text []byte) (int, error) {
	_, err := io.WriteString(s.to, visible.Lines(string(text)))
	return len(text), err
}

// Parse parses args, which are flags only.
func (f *Flags) Parse(args []string) error {
	if err := f.FlagSet.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return nil
}

// Policy returns the policy that the flags ask for.
func (f *Flags) Policy() (sojourn.Policy, error) {
	p, err := catalog.Builtin().Make(f.policy)
	if err != nil {
		return nil, fmt.Errorf("-policy: %w", err)
	}
	return p, nil
}

// Limits returns what annotations and labels may say.
func (f *Flags) Limits() kubernetes.Limits { return f.limits }

// Client returns a client of the API server.
func (f *Flags) Client() (clients.Interface, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	rest, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	rest.QPS, rest.Burst = float32(f.qps), max(1, int(f.qps))
	rest.ContentType, rest.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	rest.UserAgent = f.Name()
	return clients.NewForConfig(rest)
}

// Lease returns the Lease that replicas compete for, nil if there is one replica.
func (f *Flags) Lease() (*kubernetes.Lease, error) {
	if f.lease == "" {
		return nil, nil
	}
	space, name, ok := strings.Cut(f.lease, "/")
	if !ok {
		return nil, fmt.Errorf("-lease is %q: want namespace/name", f.lease)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	return &kubernetes.Lease{Namespace: space, Name: name, Identity: fmt.Sprintf("%s-%d-%d", host, os.Getpid(), time.Now().UnixNano())}, nil
}

// A Runner does the work of a command until its context ends. Its handler tells how it is.
type Runner interface {
	Handler() http.Handler
	Run(context.Context) error
}

// Run runs r, and serves its handler. The end of the context is no error.
func (f *Flags) Run(ctx context.Context, r Runner) error {
	if f.listen != "" {
		l, err := net.Listen("tcp", f.listen)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: r.Handler(), ReadHeaderTimeout: 10 * time.Second}
		defer server.Close()
		go server.Serve(l)
	}
	if err := r.Run(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}
