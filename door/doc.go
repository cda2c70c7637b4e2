// Package door admits requests to an expensive handler in a fair order. A model server, a database or a renderer works on so many
// requests at a time. Put a door in front of it, and it works on no more, for whom it has done least is next, and who is turned
// away learns when to come again:
//
//	d, err := door.NewFair(16, door.Options{Tenant: customerOf}) // who was authenticated
//	...
//	http.Handle("/v1/", d.Wrap(handler))
//
// Tier: kit.
//
// A request waits on the goroutine of its connection, which then calls the handler, with the ResponseWriter as it is: responses
// are streamed, trailers sent and connections hijacked as without a door. [Door.Enter] and [Pass.Leave] do the same for what is
// no handler of package net/http, and module door/grpc has interceptors for gRPC.
//
// # Who is next
//
// Under [NewFair] the tenant that has had least of the backend is next: [github.com/sojourn-sched/sojourn/fair], which
// counts the time in the handler. Among the requests of a tenant it is the session that has had least, and in a session the one
// that came first. A door over a pool of package live of one's own ([New]) has the order of its policy, and shares its slots
// with the jobs there.
//
// # Who is refused
//
// If MaxWaiting requests wait, one more does not mean that it is the one to go. The latest request of the tenant that
// has most here is refused, unless who comes has as many: a flood pushes out itself
// (TestFloodPushesOutItself). A tenant that has two requests less than another one here is never refused for the
// sake of all (TestLightestIsNotRefused).
//
// The header Retry-After of a refusal for the sake of all is a promise: at that second the line has a place for a
// request of this tenant, until a tenth of the time and 2 s later. Other tenants do not get the place meanwhile
// while others wait. A header that is only computed is none: whoever leaves takes the place that he has just freed, before
// those who were sent away come back (TestRetryAfterIsKept, TestNoShows, TestImpatientGainNothing). A tenant has at most its share
// of MaxWaiting, in places that are promised at a time.
//
// # Strangers
//
// The names of tenants come from clients. They are escaped, hashed if they are long or odd, and their number is
// bounded: those beyond MaxTenants count as one (TestNames, TestTooManyTenants). Whoever invents names has a share for each of
// them, so let Tenant return what was authenticated. What a policy says is in [Refusal].Cause, which no client sees (TestNoTextOfThePolicy).
//
// # What it does not do
//
// Each process is fair by itself. A request that runs is not stopped for another one, unless the policy asks for it. No request is
// sent where its prefix is cached. See docs/door.md for numbers, for how to choose InFlight, and for where it loses.
package door
