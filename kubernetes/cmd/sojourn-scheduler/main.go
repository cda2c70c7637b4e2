// Command sojourn-scheduler is a scheduler of Kubernetes in the order of a sojourn policy.
//
//	sojourn-scheduler -policy hfsp
//
// Package kubernetes says which pods it schedules, and how Jobs tell their sizes and deadlines.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/kubernetes"
	corev1 "k8s.io/api/core/v1"
	clients "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "sojourn-scheduler:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("sojourn-scheduler", flag.ContinueOnError)
	policy := flags.String("policy", "default", "the policy and its options, such as hfsp or fair:order=deficit")
	name := flags.String("name", "sojourn", "what pods name in spec.schedulerName")
	slots := flags.String("slots", string(kubernetes.DefaultSlot), "the extended resources that are slots, with commas: class 0, class 1, ...")
	shapes := flags.Bool("shapes", false, "pods share nodes by what they request, in the order of fair over dominant shares; -policy and -slots say nothing then")
	patience := flags.Duration("patience", time.Minute, "with -shapes: how long pods of one shape wait until a node is reserved for them; below 0: for ever")
	nodes := flags.String("nodes", "", "a selector of nodes by labels; empty: all that advertise slots")
	namespace := flags.String("namespace", "", "the namespace of Jobs and pods; empty: all")
	kubeconfig := flags.String("kubeconfig", "", "how to reach the API server; empty: as a pod of the cluster, or as KUBECONFIG says")
	gatePin := flags.Bool("gate-pin", false, "remove the gate of pods and pin them to nodes, and leave it to another scheduler to place them")
	workers := flags.Int("workers", 16, "requests under way at a time")
	events := flags.Int("events", 10, "the most events a second that say why pods wait; below 0: none")
	qps := flags.Float64("qps", -1, "the most requests a second; below 0: no limit but the API server's")
	listen := flags.String("listen", ":8080", "address of /metrics, /healthz and /readyz; empty: none")
	lease := flags.String("lease", "", "namespace/name of the Lease that replicas compete for; empty: there is one replica")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	p, err := catalog.Builtin().Make(*policy)
	if err != nil {
		return fmt.Errorf("-policy: %w", err)
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = *kubeconfig
	rest, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return err
	}
	rest.QPS, rest.Burst = float32(*qps), max(1, int(*qps))
	rest.ContentType, rest.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	rest.UserAgent = "sojourn-scheduler"
	client, err := clients.NewForConfig(rest)
	if err != nil {
		return err
	}
	config := kubernetes.Config{Client: client, Policy: p, Name: *name, Namespace: *namespace, Nodes: *nodes, Workers: *workers, Events: *events, GatePin: *gatePin}
	if *shapes {
		config.Policy, config.Shapes = nil, &kubernetes.Shapes{Patience: *patience}
	} else {
		for _, s := range strings.Split(*slots, ",") {
			config.Slots = append(config.Slots, corev1.ResourceName(s))
		}
	}
	if *lease != "" {
		space, name, ok := strings.Cut(*lease, "/")
		host, err := os.Hostname()
		if !ok || err != nil {
			return errors.Join(fmt.Errorf("-lease is %q: want namespace/name", *lease), err)
		}
		config.Lease = &kubernetes.Lease{Namespace: space, Name: name, Identity: fmt.Sprintf("%s-%d-%d", host, os.Getpid(), time.Now().UnixNano())}
	}
	s, err := kubernetes.New(config)
	if err != nil {
		return err
	}
	if *listen != "" {
		l, err := net.Listen("tcp", *listen)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
		defer server.Close()
		go server.Serve(l)
	}
	if err := s.Run(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}
