// Command sojourn-jobs gives Jobs of Kubernetes turns in the order of a sojourn policy, where stock kube-scheduler
// places the pods.
//
//	sojourn-jobs -policy hfsp -slots 100
//
// Package suspend says which Jobs get turns, and what is promised.
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
	"github.com/sojourn-sched/sojourn/kubernetes/suspend"
	clients "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "sojourn-jobs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("sojourn-jobs", flag.ContinueOnError)
	policy := flags.String("policy", "default", "the policy and its options, such as hfsp or fair:order=deficit")
	slots := flags.Int("slots", 0, "how many pods of all these Jobs may run at a time")
	jobs := flags.String("jobs", suspend.Managed+"=true", "a selector of Jobs by labels")
	namespace := flags.String("namespace", "", "the namespace of Jobs; empty: all")
	kubeconfig := flags.String("kubeconfig", "", "how to reach the API server; empty: as a pod of the cluster, or as KUBECONFIG says")
	workers := flags.Int("workers", 8, "requests under way at a time")
	qps := flags.Float64("qps", -1, "the most requests a second; below 0: no limit but the API server's")
	listen := flags.String("listen", ":8080", "address of /metrics, /healthz and /readyz; empty: none")
	lease := flags.String("lease", "", "namespace/name of the Lease that replicas compete for; empty: there is one replica")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *slots < 1 {
		return fmt.Errorf("-slots is %d: want how many pods may run at a time", *slots)
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
	rest.UserAgent = "sojourn-jobs"
	client, err := clients.NewForConfig(rest)
	if err != nil {
		return err
	}
	config := suspend.Config{Client: client, Policy: p, Slots: *slots, Namespace: *namespace, Jobs: *jobs, Workers: *workers}
	if *lease != "" {
		space, name, ok := strings.Cut(*lease, "/")
		host, err := os.Hostname()
		if !ok || err != nil {
			return errors.Join(fmt.Errorf("-lease is %q: want namespace/name", *lease), err)
		}
		config.Lease = &kubernetes.Lease{Namespace: space, Name: name, Identity: fmt.Sprintf("%s-%d-%d", host, os.Getpid(), time.Now().UnixNano())}
	}
	c, err := suspend.New(config)
	if err != nil {
		return err
	}
	if *listen != "" {
		l, err := net.Listen("tcp", *listen)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: c.Handler(), ReadHeaderTimeout: 10 * time.Second}
		defer server.Close()
		go server.Serve(l)
	}
	if err := c.Run(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}
