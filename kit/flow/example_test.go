package flow_test

import (
	"fmt"
	"strings"

	"github.com/sojourn-sched/sojourn/kit/flow"
)

// A query scheduler has a queue for each user of each tenant. Tenants share by weight, and the users of a
// tenant share what it gets. Queries cost what they have scanned.
func Example_queries() {
	type query struct {
		tenant, user string
		scan         uint64
	}
	f := flow.New(flow.Options{})
	queues := map[flow.Flow][]query{}
	weights := map[string]uint64{"gold": 2, "free": 1}

	enqueue := func(q query) {
		tenant, ok := f.Find(flow.Root, q.tenant)
		if !ok {
			tenant, _ = f.Join(flow.Root, q.tenant, weights[q.tenant]) // the weight is in range
		}
		user, ok := f.Find(tenant, q.user)
		if !ok {
			user, _ = f.Join(tenant, q.user, 1)
		}
		queues[user] = append(queues[user], q)
		f.SetActive(user, true)
	}
	next := func() (query, flow.Flow, bool) {
		n, ok := f.Least()
		if !ok {
			return query{}, 0, false
		}
		q := queues[n][0]
		queues[n] = queues[n][1:]
		f.SetActive(n, len(queues[n]) > 0)
		f.Charge(n, 100) // a query scans 100 on average
		return q, n, true
	}

	for range 8 {
		enqueue(query{"free", "eve", 100}) // floods
	}
	for range 3 {
		enqueue(query{"free", "bob", 100})
		enqueue(query{"gold", "ann", 100})
		enqueue(query{"gold", "dan", 200})
	}
	var order []string
	for q, n, ok := next(); ok; q, n, ok = next() {
		order = append(order, q.user)
		f.Correct(n, 100, q.scan) // when it has ended
	}
	fmt.Println(strings.Join(order, " "))
	// Output: eve ann dan bob ann eve dan bob ann dan eve bob eve eve eve eve eve
}

// An inference gateway asks which tenant's request goes to a model next. A request costs its tokens: those of
// the prompt are known at the start, and those of the answer at the end.
func Example_gateway() {
	type request struct{ prompt, answer uint64 }
	f := flow.New(flow.Options{Credit: 500})
	queues := map[flow.Flow][]request{}
	answers := uint64(200) // the mean of late

	tenant := func(name string, weight uint64, r request, n int) flow.Flow {
		t, err := f.Join(flow.Root, name, weight)
		if err != nil {
			panic(err)
		}
		for range n {
			queues[t] = append(queues[t], r)
		}
		f.SetActive(t, true)
		return t
	}
	batch := tenant("batch", 1, request{prompt: 2000, answer: 800}, 1000)
	chat := tenant("chat", 1, request{prompt: 100, answer: 100}, 1000)
	paid := tenant("paid", 2, request{prompt: 100, answer: 300}, 1000)

	type call struct {
		of       flow.Flow
		expected uint64
		request
	}
	var running []call
	tokens := map[flow.Flow]uint64{}
	for range 500 {
		n, ok := f.Least()
		if !ok {
			break
		}
		r := queues[n][0]
		queues[n] = queues[n][1:]
		f.SetActive(n, len(queues[n]) > 0)
		c := call{n, r.prompt + answers, r}
		f.Charge(n, c.expected)
		if running = append(running, c); len(running) < 8 {
			continue // the model takes 8 requests at a time
		}
		c, running = running[0], running[1:]
		f.Correct(c.of, c.expected, c.prompt+c.answer)
		tokens[c.of] += c.prompt + c.answer
	}
	sum := float64(tokens[batch] + tokens[chat] + tokens[paid])
	for _, t := range []flow.Flow{batch, chat, paid} {
		fmt.Printf("got %.1f %% of the tokens, of a share of %.0f %%\n", 100*float64(tokens[t])/sum, 100*f.Explain(t).Share)
	}
	// Output:
	// got 25.0 % of the tokens, of a share of 25 %
	// got 24.9 % of the tokens, of a share of 25 %
	// got 50.2 % of the tokens, of a share of 50 %
}
