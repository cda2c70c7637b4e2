package kubetest

import "testing"

// Two clusters share no port, also while their servers are stopped; a server keeps its port.
func TestPorts(t *testing.T) {
	owner := map[int]string{}
	for _, name := range []string{"a", "b"} {
		b, err := newBlock()
		if err != nil {
			t.Fatal(err)
		}
		defer b.close()
		for _, s := range []Server{Etcd, APIServer, Scheduler, Etcd} {
			p, err := b.port(s)
			if err != nil {
				t.Fatal(err)
			}
			if p <= firstPort || p > lastPort {
				t.Errorf("port %d: want one from %d to %d", p, firstPort+1, lastPort)
			}
			me := name + " " + string(s)
			if o, taken := owner[p]; taken && o != me {
				t.Errorf("port %d: of %s and of %s", p, o, me)
			}
			owner[p] = me
		}
	}
	if len(owner) != 6 {
		t.Errorf("got %d ports, want 6: %v", len(owner), owner)
	}
}

// A block has a port for each server up to its size, then an error.
func TestPortsEnd(t *testing.T) {
	b, err := newBlock()
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	for i := range blockSize - 1 {
		if _, err := b.port(Server(rune('a' + i))); err != nil {
			t.Fatalf("port %d: %v", i, err)
		}
	}
	if p, err := b.port("one more"); err == nil {
		t.Errorf("got port %d of the next block", p)
	}
}

// A block with a port that someone listens on is left out.
func TestPortsInUse(t *testing.T) {
	b, err := newBlock()
	if err != nil {
		t.Fatal(err)
	}
	l, err := listen(b.last)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	used := b.last
	b.close()
	next, err := newBlock()
	if err != nil {
		t.Fatal(err)
	}
	defer next.close()
	if next.last == used {
		t.Errorf("took the block of port %d, which is in use", used)
	}
}
