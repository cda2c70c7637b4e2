package jetstream

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// runServer is a server of a cluster, in a process of its own: name, folder, port, port of the cluster, routes.
func runServer(command string) {
	part := strings.Fields(command)
	o := &server.Options{ServerName: part[0], Host: "127.0.0.1", JetStream: true, StoreDir: part[1], NoSigs: true, NoLog: true, Port: must(strconv.Atoi(part[2])),
		Cluster: server.ClusterOpts{Name: "cluster", Host: "127.0.0.1", Port: must(strconv.Atoi(part[3])), NoAdvertise: true, PoolSize: -1}}
	for _, p := range part[4:] {
		o.Routes = append(o.Routes, must(url.Parse("nats://127.0.0.1:"+p)))
	}
	must(server.NewServer(o)).Start()
	select {}
}
