package trace_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/trace"
)

func ExampleRead() {
	const workload = `
{"id":1,"name":"wordcount","at":0,"phases":[{"class":"map","time":[10.2,9.1,11]},{"class":"reduce","tasks":2,"time":15}]}
{"id":2,"name":"backup","at":12.5,"phases":[{"tasks":400,"time":1.5e-3}]}
{"id":3,"at":12,"phases":[{"tasks":1,"time":1}]}
`
	for job, err := range trace.Read(strings.NewReader(workload), trace.ReadOptions{File: "jobs.jsonl"}) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(job.ID, job.Name, job.At, job.Tasks(), job.Times[0].Of(0))
	}
	// Output:
	// 1 wordcount 0s 5 10.2s
	// 2 backup 12.5s 400 1.5ms
	// jobs.jsonl:4:14: arrival at 12 is before that of the job before, 12.5
}

// A SWIM trace becomes a workload file.
func ExampleReadSWIM() {
	const swim = "job0\t49\t49\t740773\t2339561\t627471\n" + "job4\t208\t11\t3623279\t0\t9838062\n"
	jobs := trace.ReadSWIM(strings.NewReader(swim), trace.SWIMOptions{Overhead: 5 * time.Second})
	if err := trace.Write(os.Stdout, jobs); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"id":1,"name":"job0","at":49,"phases":[{"class":"map","tasks":1,"time":5.070645618},{"class":"reduce","tasks":1,"time":5.282958221}]}
	// {"id":2,"name":"job4","at":208,"phases":[{"class":"map","tasks":1,"time":6.283773518}]}
}

func ExampleParseCluster() {
	cluster, err := trace.ParseCluster("20x4+1,10x2+1")
	fmt.Println(len(cluster.Nodes), cluster.Capacity(), cluster.Nodes[29].Name, err)
	_, err = trace.ParseCluster("20x4+1,10x2")
	fmt.Println(err)
	// Output:
	// 30 [100 30] n30 <nil>
	// cluster:1:8: some nodes have uniform slots, others slots by class
}

// A map that failed once and then took 20 s, and a map of a job that failed, with the
// topology of their cluster.
func ExampleReadRumen() {
	const topology = `{"name":"<root>","children":[{"name":"rack1","children":[{"name":"n1\\.example","children":null}]}]}`
	cluster, err := trace.ReadTopology(strings.NewReader(topology), trace.TopologyOptions{Slots: []int{4, 2}})
	fmt.Println(cluster.Nodes, err)
	nodes := map[string]sojourn.NodeID{}
	for i, n := range cluster.Nodes {
		nodes[n.Name] = sojourn.NodeID(i + 1)
	}

	const jobs = `
{"jobID":"job_1","jobName":"grep","queue":"web","submitTime":1000000000000,"mapTasks":[{
  "preferredLocations":[{"layers":["rack1","n1\\.example"]},{"layers":["rack9","n9"]}],
  "attempts":[{"result":"FAILED","startTime":1000000001000,"finishTime":1000000004000},
              {"result":"SUCCESS","startTime":1000000005000,"finishTime":1000000025000}]}]}
{"jobID":"job_2","queue":"web","submitTime":1000000002500,"outcome":"FAILED","mapTasks":[{"attempts":[
  {"result":"FAILED","startTime":1000000003000,"finishTime":1000000008000}]}]}
`
	var stats trace.Stats
	read := trace.ReadRumen(strings.NewReader(jobs), trace.ReadOptions{
		Nodes: func(host string) sojourn.NodeID { return nodes[host] },
		Stats: &stats,
	})
	for job, err := range read {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(job.ID, job.Name, job.Pool, job.At, job.Times[0].Of(0), job.Phases[0].Inputs.Of(0))
	}
	fmt.Print(&stats)
	// Output:
	// [{n1.example rack1 0 [4 2]}] <nil>
	// 1 grep web 0s 20s [1]
	// 2 job_2 web 2.5s 5s []
	// jobs: 2
	// tasks: 2
	// jobs kept, failed or killed: 1
	// tasks without a known time, given the mean of unsuccessful attempts in their phase: 1
	// attempts left out, unsuccessful or one success too many: 2
	// places of input left out, node unknown: 1
}
