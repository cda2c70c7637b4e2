// Command controllers runs the controllers and the scheduler of Kueue for Jobs, as Kueue's own integration tests do, but
// without its webhooks, which would need a service in the cluster:
//
//	go build -o kueue ./controllers
//	kueue -kubeconfig FILE -listen 127.0.0.1:8080
//
// So Jobs must be created suspended, with the label of their queue. It answers on /readyz. The resource definitions of Kueue, which
// are in config/components/crd/bases of its module, must be there before.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/cache/queue"
	cache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/controller/jobs/job"
	"sigs.k8s.io/kueue/pkg/scheduler"
	expectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
)

func main() {
	flags := flag.NewFlagSet("kueue", flag.ExitOnError) // others register theirs
	kubeconfig := flags.String("kubeconfig", "", "how to reach the API server")
	listen := flags.String("listen", "127.0.0.1:8080", "where /readyz answers")
	fair := flags.Bool("fair", false, "share fairly between the queues of a cohort")
	gates := flags.String("feature-gates", "", "features to switch on, as PriorityBoost=true")
	_ = flags.Parse(os.Args[1:])
	if err := utilfeature.DefaultMutableFeatureGate.Set(*gates); err != nil {
		fmt.Fprintln(os.Stderr, "kueue: -feature-gates:", err)
		os.Exit(2)
	}
	if err := run(ctrl.SetupSignalHandler(), *kubeconfig, *listen, *fair); err != nil {
		fmt.Fprintln(os.Stderr, "kueue:", err)
		os.Exit(1)
	}
}

// run runs until ctx is done.
func run(ctx context.Context, kubeconfig, listen string, fair bool) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	cfg.QPS, cfg.Burst = 1000, 1000
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), kueue.AddToScheme(scheme), config.AddToScheme(scheme)); err != nil {
		return err
	}
	ctrl.SetLogger(zap.New(zap.Level(zapcore.WarnLevel)))
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, HealthProbeBindAddress: listen, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	settings := &config.Configuration{}
	if fair {
		settings.FairSharing = &config.FairSharing{}
	}
	scheme.Default(settings)

	admitted := cache.New(mgr.GetClient(), cache.WithFairSharing(fair))
	preempted := expectations.New()
	requeuer := queue.NewRequeuer()
	queues := queue.NewManager(mgr.GetClient(), admitted, requeuer, queue.WithPreemptionExpectations(preempted))
	if err := mgr.Add(requeuer); err != nil {
		return err
	}
	if err := errors.Join(indexer.Setup(ctx, mgr.GetFieldIndexer()), job.SetupIndexes(ctx, mgr.GetFieldIndexer())); err != nil {
		return err
	}
	jobs, err := job.NewReconciler(ctx, mgr.GetClient(), mgr.GetFieldIndexer(), mgr.GetEventRecorderFor(constants.JobControllerName),
		jobframework.WithCache(admitted), jobframework.WithQueues(queues))
	if err != nil {
		return err
	}
	if err := jobs.SetupWithManager(mgr); err != nil {
		return err
	}
	jobframework.EnableIntegration(job.FrameworkName)
	if name, err := core.SetupControllers(mgr, queues, admitted, settings, nil, preempted, nil); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	go queues.CleanUpOnContext(ctx)
	go admitted.CleanUpOnContext(ctx)
	s := scheduler.New(queues, admitted, mgr.GetClient(), mgr.GetEventRecorderFor(constants.AdmissionName), scheduler.WithPreemptionExpectations(preempted), scheduler.WithFairSharing(settings.FairSharing))
	if err := mgr.Add(s); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
