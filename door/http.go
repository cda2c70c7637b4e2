package door

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// statusGone is the status of a request whose client has gone, for logs: nobody reads it.
const statusGone = 499

// Wrap returns a handler that lets requests into next. The ResponseWriter is passed on as it is. The context of the request comes
// from the one it had, and ends besides when the policy wants the place back. A request that is in the handler of this door passes, where it
// comes to the door again (TestTwiceThroughOneDoor); one whose context comes from a request that has left does not (TestContextOfOneThatLeft). Wrap panics if next is nil.
func (d *Door) Wrap(next http.Handler) http.Handler {
	if next == nil {
		panic("door: Wrap of no handler")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.inside(r.Context()) || call(d.o.Exempt, r) {
			next.ServeHTTP(w, r)
			return
		}
		q := Request{Tenant: call(d.o.Tenant, r), Session: call(d.o.Session, r), Estimate: call(d.o.Estimate, r), Within: call(d.o.Within, r)}
		body, early := r.Body, d.short(r) && d.reading.Load() < int64(d.o.MaxWaiting)
		var c comer
		if early {
			defer d.away(&c)
			err := d.early(&c, poolName(q.Tenant, d.o.Paths))
			if err != nil {
				d.refuse(w, r, q.Tenant, err)
				return
			}
			if body, err = d.read(r); err != nil {
				unread(w, err)
				return
			}
		}
		p, err := d.enter(r.Context(), &c, q)
		if err != nil {
			d.refuse(w, r, q.Tenant, err)
			return
		}
		defer p.Leave()
		if !early && d.short(r) { // too many were being read
			if body, err = d.read(r); err != nil {
				unread(w, err)
				return
			}
		}
		own := r.WithContext(p.Context()) // a copy
		own.Body = body
		defer func() { r.MultipartForm, r.Pattern = own.MultipartForm, own.Pattern }() // the server removes its files, and others log
		next.ServeHTTP(w, own)
	})
}

// short reports whether the body of a request is to be read before the handler is called, so that the server watches the connection.
func (d *Door) short(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.Body != nil && r.ContentLength > 0 && r.ContentLength <= int64(d.o.Buffer)
}

// read reads the body of a request, and returns one that has it all. A middleware may have put a longer one in its place: the rest is then for
// the handler to read. So is an error of a middleware, as of a body that is longer than it allows or is no gzip: the client is there. An error
// of the connection ends the request: the server does not watch a connection whose body has failed, so that the context would never end.
func (d *Door) read(r *http.Request) (io.ReadCloser, error) {
	d.reading.Add(1)
	defer d.reading.Add(-1)
	data, err := io.ReadAll(io.LimitReader(r.Body, int64(min(d.o.Buffer, math.MaxInt-1))+1))
	all := io.Reader(bytes.NewReader(data))
	switch {
	case err == nil && len(data) > d.o.Buffer:
		all = io.MultiReader(all, r.Body)
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, new(net.Error)):
		all, err = io.MultiReader(all, failure{err}), nil
	}
	return struct {
		io.Reader
		io.Closer
	}{all, r.Body}, err // the server may close its body early, and who reads ours does not see that
}

// unread answers a request whose body could not be read: the client is too slow or has gone. A body that ends too early may also be one that a
// middleware unpacks, of a client that is there.
func unread(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close")
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		http.Error(w, "the body came too late", http.StatusRequestTimeout)
	case errors.Is(err, io.ErrUnexpectedEOF):
		http.Error(w, "the body ends too early", http.StatusBadRequest)
	default:
		w.WriteHeader(statusGone)
	}
}

// A failure is a reader that fails.
type failure struct{ err error }

func (f failure) Read([]byte) (int, error) { return 0, f.err }

func call[T any](f func(*http.Request) T, r *http.Request) (t T) {
	if f != nil {
		t = f(r)
	}
	return t
}

func (d *Door) refuse(w http.ResponseWriter, r *http.Request, tenant string, err error) {
	var no *Refusal
	switch ended := r.Context().Err() != nil; {
	case errors.As(err, &no):
	case errors.Is(err, context.Canceled): // as the server says when the client has gone
		w.WriteHeader(statusGone)
		return
	case ended: // by a middleware, for its own reason: the client is there
		no = d.givenUp(poolName(tenant, d.o.Paths), err)
	default:
		no = &Refusal{Status: http.StatusInternalServerError, Why: ErrRequest, Cause: err}
	}
	if no.After > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds(no.After)/time.Second), 10))
	}
	if d.o.Refuse != nil {
		d.o.Refuse(w, r, no)
		return
	}
	http.Error(w, no.Why.Error(), no.Status)
}

// seconds rounds up to whole seconds, as the header has them.
func seconds(d time.Duration) time.Duration {
	return d.Truncate(time.Second) + min(1, d%time.Second)*time.Second
}
