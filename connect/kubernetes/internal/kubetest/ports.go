package kubetest

import (
	"errors"
	"fmt"
	"net"
)

// Ports are taken in blocks from below the range that Linux gives to outgoing connections,
// so that no connection takes the port of a server that is about to start or is stopped.
const (
	firstPort = 20000
	lastPort  = 32767
	blockSize = 16
)

// A block is a range of TCP ports of loopback that belongs to one cluster on this machine: as
// long as someone listens on its first port, no other cluster takes it.
type block struct {
	guard net.Listener
	next  int
	last  int
	ports map[Server]int
}

// newBlock takes the first block of which all ports are free.
func newBlock() (*block, error) {
	for first := firstPort; first+blockSize-1 <= lastPort; first += blockSize {
		guard, err := listen(first)
		if err != nil {
			continue
		}
		b := &block{guard: guard, next: first + 1, last: first + blockSize - 1, ports: map[Server]int{}}
		if b.free() {
			return b, nil
		}
		b.close()
	}
	return nil, fmt.Errorf("no %d free ports in a row from %d to %d", blockSize, firstPort, lastPort)
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
}

// free reports whether nobody listens on the ports after the first one.
func (b *block) free() bool {
	for p := b.next; p <= b.last; p++ {
		l, err := listen(p)
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// port returns the port of a server, which is the same every time.
func (b *block) port(s Server) (int, error) {
	if p, ok := b.ports[s]; ok {
		return p, nil
	}
	if b.next > b.last {
		return 0, errors.New("the cluster has no more ports")
	}
	p := b.next
	b.next++
	b.ports[s] = p
	return p, nil
}

func (b *block) close() { b.guard.Close() }
