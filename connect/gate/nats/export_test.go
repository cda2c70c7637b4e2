package nats

import (
	js "github.com/nats-io/nats.go/jetstream"
)

// Spy tells f of each message that a worker of the queue gets.
func Spy(q *Queue, f func(js.Msg)) { q.consumer = spied{q.consumer, f} }

type spied struct {
	js.Consumer
	tell func(js.Msg)
}

func (s spied) Next(o ...js.FetchOpt) (js.Msg, error) {
	m, err := s.Consumer.Next(o...)
	if err == nil {
		s.tell(m)
	}
	return m, err
}
