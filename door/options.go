package door

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sojourn-sched/sojourn/internal/option"
)

// Options say what a door knows of requests, and how many may wait. The functions are for [Door.Wrap]; nil ones say nothing. They
// are called by several goroutines; one that panics does so as the handler would.
type Options struct {
	Tenant   func(*http.Request) string        // whose share the request counts against: who was authenticated; pages show it, so no secret
	Session  func(*http.Request) string        // which program or conversation of the tenant; "" is none
	Estimate func(*http.Request) time.Duration // how long it will be in the handler; 0: not known
	Within   func(*http.Request) time.Duration // how long after its arrival it should have left; 0: no matter
	Exempt   func(*http.Request) bool          // it goes past the door, as health checks and websockets do

	// Paths says that "/" in the name of a tenant separates a group of tenants from those in it: at most 4 names. By
	// default it is a character like others.
	Paths bool

	// MaxWaiting is how many requests wait at most, of all tenants; and as many again that come when places were promised to them. Zero
	// means 10,000.
	MaxWaiting int

	// MaxTenantWaiting is how many requests of one tenant wait at most. Zero means no limit but MaxWaiting.
	MaxTenantWaiting int

	// MaxTenants is how many tenants the door tells apart at a time. All further ones count as one. Zero means 10,000.
	MaxTenants int

	// MaxWait is how long a request waits at most. Zero means for as long as its context.
	MaxWait time.Duration

	// Buffer is up to how many bytes of a body whose length is known are read before a request of HTTP/1 waits, where a middleware unpacks it as well
	// (TestBodyThatIsUnpacked). The server learns that a client
	// has gone only after the body was read, and a slow sender has no place in the handler meanwhile, but keeps one in the line that was promised to it
	// (TestPlaceOfASlowSender). Zero means 64 KiB, a negative value that nothing
	// is read. It does not concern HTTP/2 (TestServer). No body of a request that is refused at once is read (TestRefusedUnread), and those of
	// MaxWaiting requests at a time; further ones are read when they are admitted (TestBodyThatIsReadLate).
	Buffer int

	// Refuse, unless nil, answers a request that is refused. The header Retry-After is set. It is not called if the client has gone.
	Refuse func(http.ResponseWriter, *http.Request, *Refusal)
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o Options) Validate() error {
	return option.First("door",
		option.AtLeast("MaxWaiting", o.MaxWaiting, 0),
		option.AtLeast("MaxTenantWaiting", o.MaxTenantWaiting, 0),
		option.AtLeast("MaxTenants", o.MaxTenants, 0),
		option.AtLeast("MaxWait", o.MaxWait, 0))
}

// A Refusal is the error of a request that is not admitted.
type Refusal struct {
	// Status is that of the answer: 429 if the tenant has too much here or is too early, 503 if all together have, 500 if the request
	// does not fit.
	Status int

	// After is when to come again; 0: never. With [ErrFull] and [ErrPushed] it is whole seconds, and a place is kept, unless
	// the Cause is [live.ErrFull]: the pool of [New] has a bound of its own then, in which the door keeps no places.
	After time.Duration

	Why   error // one of the errors of this package, for the client
	Cause error // what the policy has said, not for the client; nil in most cases
}

// Error says why, and when to come again. It has the Cause, and is not for clients.
func (r *Refusal) Error() string {
	text := r.Why.Error()
	if r.After > 0 {
		text += fmt.Sprintf("; again after %v", r.After)
	}
	if r.Cause != nil {
		text += ": " + r.Cause.Error()
	}
	return text
}

// Unwrap returns Why and Cause.
func (r *Refusal) Unwrap() []error {
	if r.Cause == nil {
		return []error{r.Why}
	}
	return []error{r.Why, r.Cause}
}

// Why a request is refused.
var (
	ErrFull     = errors.New("door: too many requests wait")
	ErrPushed   = errors.New("door: too many requests wait, and most of them are yours")
	ErrTenant   = errors.New("door: too many of your requests wait")
	ErrTooLong  = errors.New("door: the request has waited for too long")
	ErrDeadline = errors.New("door: the request would end too late")
	ErrClosed   = errors.New("door: the server is about to stop")
	ErrRequest  = errors.New("door: the request does not fit the server")
)
