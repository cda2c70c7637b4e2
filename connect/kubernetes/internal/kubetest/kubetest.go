// Package kubetest runs a real control plane of Kubernetes for tests and benchmarks: etcd and
// kube-apiserver, and kube-scheduler and kube-controller-manager where a test asks for them, as
// child processes on loopback.
//
// The servers are found in the folder that KUBEBUILDER_ASSETS names, as envtest has it.
// connect/kubernetes/test.sh builds them once and sets it. There is no kubelet: nodes are objects
// that a test makes (AddNode), and Kubelet plays the part of all kubelets.
package kubetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// A Server is a program of the control plane.
type Server string

// The servers, by the names of their programs.
const (
	Etcd        Server = "etcd"
	APIServer   Server = "kube-apiserver"
	Scheduler   Server = "kube-scheduler"
	Controllers Server = "kube-controller-manager"
)

// token is the bearer token of the one user, an administrator.
const token = "kubetest"

// A Cluster is a running control plane. Its methods are for one goroutine.
type Cluster struct {
	URL string // of kube-apiserver; the same after a restart

	bin, dir string
	ports    *block
	etcd     string // URL
	order    []Server
	procs    map[Server]*process
}

// New starts etcd and kube-apiserver with their files in dir, which must exist. Data are not
// synced to the disk. It takes some seconds. The caller must call Close.
func New(ctx context.Context, dir string) (*Cluster, error) {
	bin := os.Getenv("KUBEBUILDER_ASSETS")
	if bin == "" {
		return nil, errors.New("no servers: KUBEBUILDER_ASSETS is not set; connect/kubernetes/test.sh builds them and sets it")
	}
	for _, s := range []Server{Etcd, APIServer} {
		if _, err := os.Stat(filepath.Join(bin, string(s))); err != nil {
			return nil, fmt.Errorf("no servers: %w; connect/kubernetes/test.sh builds them", err)
		}
	}
	c := &Cluster{bin: bin, dir: dir, procs: map[Server]*process{}}
	if err := c.boot(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Start is New for a test, with these controllers: it fails the test if the servers do not start, and closes them when
// the test ends. If the test failed, it logs the end of what each server printed.
func Start(t testing.TB, controllers ...string) *Cluster {
	t.Helper()
	c, err := New(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs())
		}
		c.Close()
	})
	if len(controllers) > 0 {
		if err := c.StartControllers(t.Context(), controllers...); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *Cluster) boot(ctx context.Context) error {
	var err error
	if c.ports, err = newBlock(); err != nil {
		return err
	}
	var port [3]int
	for i, s := range []Server{Etcd, "etcd peer", APIServer} {
		if port[i], err = c.Port(s); err != nil {
			return err
		}
	}
	c.etcd = fmt.Sprintf("http://127.0.0.1:%d", port[0])
	c.URL = fmt.Sprintf("https://127.0.0.1:%d", port[2])
	key, users, err := c.credentials()
	if err != nil {
		return err
	}
	peer := fmt.Sprintf("http://127.0.0.1:%d", port[1])
	if err := c.run(ctx, Etcd, c.etcd+"/health",
		"--data-dir="+filepath.Join(c.dir, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+c.etcd, "--advertise-client-urls="+c.etcd,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer); err != nil {
		return err
	}
	// No controller makes the default ServiceAccount or removes the taint that new nodes get, so
	// that these two plugins would refuse pods and keep nodes not ready for ever.
	return c.run(ctx, APIServer, c.URL+"/readyz",
		"--etcd-servers="+c.etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port[2]),
		"--cert-dir="+filepath.Join(c.dir, "certs"), "--token-auth-file="+users, "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+key, "--service-account-signing-key-file="+key,
		"--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
}

// credentials writes the key of service accounts and the file of users, and returns their names.
func (c *Cluster) credentials() (key, users string, err error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		return "", "", err
	}
	key, users = filepath.Join(c.dir, "sa.key"), filepath.Join(c.dir, "users.csv")
	if err := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return "", "", err
	}
	return key, users, os.WriteFile(users, []byte(token+",admin,admin,system:masters\n"), 0o600)
}

// Port returns the port of loopback that belongs to a server: the same one every time, and no
// other cluster's on this machine.
func (c *Cluster) Port(s Server) (int, error) { return c.ports.port(s) }

// Config returns how to reach the API server as its administrator, without limits on the
// client's side: client-go allows 5 requests a second unless told otherwise.
func (c *Cluster) Config() *rest.Config {
	const protobuf = "application/vnd.kubernetes.protobuf"
	return &rest.Config{
		Host: c.URL, BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		ContentConfig:   rest.ContentConfig{ContentType: protobuf, AcceptContentTypes: protobuf + ",application/json"},
	}
}

// Client returns a client with Config.
func (c *Cluster) Client() kubernetes.Interface { return kubernetes.NewForConfigOrDie(c.Config()) }

// Kubeconfig writes a kubeconfig file of the administrator and returns its name.
func (c *Cluster) Kubeconfig() (string, error) {
	name := filepath.Join(c.dir, "kubeconfig")
	return name, os.WriteFile(name, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: %q}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
`, c.URL, token), 0o600)
}

// StartScheduler starts stock kube-scheduler with a limit of qps requests a second, 50 by its
// own default. It places pods with the scheduler name default-scheduler.
func (c *Cluster) StartScheduler(ctx context.Context, qps int) error {
	kubeconfig, err := c.Kubeconfig()
	if err != nil {
		return err
	}
	config := filepath.Join(c.dir, "scheduler.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: %d, burst: %d}
`, kubeconfig, qps, qps), 0o600); err != nil {
		return err
	}
	return c.client(ctx, Scheduler, "/readyz", kubeconfig, "--config="+config)
}

// StartControllers starts kube-controller-manager with these controllers: job-controller and
// garbage-collector-controller, say. Its limit is 1,000 requests a second, 20 by its own default: a Job of many
// pods takes some for each.
func (c *Cluster) StartControllers(ctx context.Context, names ...string) error {
	kubeconfig, err := c.Kubeconfig()
	if err != nil {
		return err
	}
	return c.client(ctx, Controllers, "/healthz", kubeconfig,
		"--kubeconfig="+kubeconfig, "--controllers="+strings.Join(names, ","), "--leader-elect=false",
		"--kube-api-qps=1000", "--kube-api-burst=1000")
}

// client starts a server that is a client of the API server.
func (c *Cluster) client(ctx context.Context, s Server, ready, kubeconfig string, args ...string) error {
	port, err := c.Port(s)
	if err != nil {
		return err
	}
	args = append(args, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--cert-dir="+filepath.Join(c.dir, string(s)),
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig, "--authentication-tolerate-lookup-failure=true")
	return c.run(ctx, s, fmt.Sprintf("https://127.0.0.1:%d%s", port, ready), args...)
}

// run starts a server of the control plane.
func (c *Cluster) run(ctx context.Context, s Server, ready string, args ...string) error {
	return c.StartCommand(ctx, s, filepath.Join(c.bin, string(s)), ready, args...)
}

// StartCommand starts another program as one more server, and waits until the address ready
// answers 200. It may take the place of a server that was stopped.
func (c *Cluster) StartCommand(ctx context.Context, s Server, path, ready string, args ...string) error {
	if old := c.procs[s]; old == nil {
		c.order = append(c.order, s)
	} else if old.cmd != nil {
		return fmt.Errorf("%s runs already", s)
	}
	p := &process{name: string(s), path: path, args: args, dir: c.dir, ready: ready}
	c.procs[s] = p
	return p.start(ctx)
}

// Stop ends a server, which must run, and waits until it is gone. Its data stay: Restart brings it back.
func (c *Cluster) Stop(s Server) { c.proc(s).stop() }

// Kill is Stop without a warning: the server cannot finish what it does.
func (c *Cluster) Kill(s Server) { c.proc(s).kill() }

// Restart starts a server again after Stop or Kill, at the same address, and waits until it is ready.
func (c *Cluster) Restart(ctx context.Context, s Server) error { return c.proc(s).start(ctx) }

// Pause makes a server hang: its connections stay open, and nobody answers.
func (c *Cluster) Pause(s Server) error { return c.proc(s).pause(true) }

// Resume lets a server go on after Pause.
func (c *Cluster) Resume(s Server) error { return c.proc(s).pause(false) }

// CPU returns the processor time that a server has used since its last start.
func (c *Cluster) CPU(s Server) (time.Duration, error) { return CPU(c.proc(s).pid()) }

// Memory returns the resident memory of a server and the most that it was, in bytes.
func (c *Cluster) Memory(s Server) (now, peak int64, err error) { return Memory(c.proc(s).pid()) }

// proc returns the process of a server, which must have been started.
func (c *Cluster) proc(s Server) *process {
	p := c.procs[s]
	if p == nil {
		panic(fmt.Sprintf("kubetest: %s was not started", s))
	}
	return p
}

// Logs returns the end of what each server printed.
func (c *Cluster) Logs() string {
	var b strings.Builder
	for _, s := range c.order {
		fmt.Fprintf(&b, "== %s\n%s\n", s, c.procs[s].tail())
	}
	return b.String()
}

// Close ends all servers, the last one first.
func (c *Cluster) Close() {
	for i := len(c.order) - 1; i >= 0; i-- {
		c.procs[c.order[i]].stop()
	}
	if c.ports != nil {
		c.ports.close()
	}
}
