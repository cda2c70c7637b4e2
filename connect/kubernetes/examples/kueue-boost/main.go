// Command kueue-boost lets Kueue admit Workloads in the order of a policy. It keeps the annotation kueue.x-k8s.io/priority-boost, which
// Kueue adds to the priority of a Workload (its feature PriorityBoost, alpha in Kueue 0.17):
//
//	go run ./examples/kueue-boost -policy default -kubeconfig ~/.kube/config -namespace batch
//
// It is an example to copy. The README of this folder says when it gains, and when not.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "kueue-boost: %q\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("kueue-boost", flag.ContinueOnError)
	name := flags.String("policy", "default", "the policy and its options, such as hfsp or fair:half-life=1h")
	kubeconfig := flags.String("kubeconfig", "", "how to reach the API server; empty: as a pod of the cluster, or as KUBECONFIG says")
	namespace := flags.String("namespace", "", "the namespace of the Workloads; empty: all. Nobody else may set boosts there")
	every := flags.Duration("every", time.Second, "the time between two rankings")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *every <= 0 {
		return fmt.Errorf("-every %v: want more than 0", *every)
	}
	policy, err := catalog.Builtin().Make(*name)
	if err != nil {
		return fmt.Errorf("-policy: %w", err)
	}
	o, err := newOrder(policy, time.Now)
	if err != nil {
		return fmt.Errorf("-policy: %w", err)
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = *kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return err
	}
	config.QPS = -1 // no limit but the API server's
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	return keep(ctx, client, *namespace, *every, o)
}

// keep keeps the boosts of Workloads until ctx ends.
func keep(ctx context.Context, client dynamic.Interface, namespace string, every time.Duration, o *order) error {
	resource := schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "workloads"}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	informer := factory.ForResource(resource).Informer()
	var mu sync.Mutex // guards o
	with := func(f func(*unstructured.Unstructured)) func(any) {
		return func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			mu.Lock()
			defer mu.Unlock()
			if w, ok := object.(*unstructured.Unstructured); ok {
				f(w)
			}
		}
	}
	seen := with(o.seen)
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: seen, UpdateFunc: func(_, now any) { seen(now) }, DeleteFunc: with(o.gone)})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		return ctx.Err()
	}
	for {
		mu.Lock()
		changed := o.rank()
		mu.Unlock()
		for _, w := range changed {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, boost, w.boost)
			_, err := client.Resource(resource).Namespace(w.namespace).Patch(ctx, w.name, types.MergePatchType, patch, metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				fmt.Fprintf(os.Stderr, "kueue-boost: %q\n", err)
				mu.Lock()
				w.written = false
				mu.Unlock()
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}
