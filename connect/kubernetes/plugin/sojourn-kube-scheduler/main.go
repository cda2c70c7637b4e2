// Command sojourn-kube-scheduler is kube-scheduler with the plugin Sojourn, which lets Jobs start in the order of a sojourn policy. Its flags
// and its configuration are those of kube-scheduler: see package plugin, and deploy/plugin.yaml.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/sojourn-sched/sojourn/connect/kubernetes/plugin"
)

func main() {
	os.Exit(cli.Run(app.NewSchedulerCommand(app.WithPlugin(plugin.Name, plugin.New))))
}
