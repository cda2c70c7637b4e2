// Package snapshottest offers forged snapshots to policies.
//
// A checksum finds accidents. It does not find what somebody has written on purpose,
// or what another version has written. So a reader must test every number of a body
// against its range and against the numbers before it.
//
// [Attack] is for tests, and cheap enough to run each time. With -forge=100 it offers
// a hundred times as many snapshots. [Fuzz] is the same as a native fuzz target: the
// coverage of the code guides its forger.
package snapshottest

import (
	"bytes"
	"encoding/binary"
	"flag"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

var times = flag.Int("forge", 1, "offer `N` times as many forged snapshots")

// Attack offers n forged snapshots to new policies. The snapshots come from all parts of
// a history of 30 jobs on map and reduce slots. Something in them was changed and the
// checksum corrected, also in snapshots within them. A policy must refuse each of them,
// or
//
//   - save the same bytes after it: an accepted snapshot was understood to the last bit;
//   - continue: it gets all kinds of events, all questions and free slots for a while, up
//     to the last instant, and does not panic;
//   - be saved and restored again after that: the reader must test only what always
//     holds, and not what happens to hold.
//
// The history suits policies for jobs of one or two phases with estimates. Events that
// the policy refuses are left out.
func Attack(t *testing.T, newPolicy func() sojourn.Policy, n int) {
	t.Helper()
	const jobs = 30
	rng := rand.New(rand.NewPCG(1, 2))
	d := newDriver(newPolicy(), rng)
	refused, accepted := 0, 0
	for range jobs {
		d.grow()
		data := save(t, d.p)
		for range n * *times / jobs {
			forged := join(data, forge(rng, body(data)))
			if offer(t, newPolicy, d, forged, rng.Uint64()) {
				accepted++
			} else {
				refused++
			}
		}
	}
	if refused == 0 || accepted == 0 {
		t.Errorf("%d snapshots were refused and %d accepted, want some of both", refused, accepted)
	}
	t.Logf("%d snapshots were refused and %d accepted", refused, accepted)
}

// Fuzz is [Attack] as a native fuzz target. The input is the body of a snapshot and the
// seed of the calls that follow.
func Fuzz(f *testing.F, newPolicy func() sojourn.Policy) {
	d := newDriver(newPolicy(), rand.New(rand.NewPCG(1, 2)))
	head := save(f, d.p)
	f.Add(body(head), uint64(0))
	for i := range 30 {
		if d.grow(); i%5 == 4 {
			f.Add(slices.Clone(body(save(f, d.p))), uint64(i))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		offer(t, newPolicy, d, join(head, body), seed)
	})
}

// offer offers a forged snapshot to a new policy, and reports whether it was accepted.
// The policy then gets the calls that follow from the seed; d has seen the history
// before.
func offer(t testing.TB, newPolicy func() sojourn.Policy, d *driver, forged []byte, seed uint64) bool {
	t.Helper()
	doing := "restoring"
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%s a forged snapshot panics: %v\n%q, seed %d\n%s", doing, r, forged, seed, debug.Stack())
		}
	}()
	p := newPolicy()
	if restore(p, forged) != nil {
		return false
	}
	same(t, save(t, p), forged)
	doing = "going on from"
	next := d.with(p, rand.New(rand.NewPCG(seed, 3)))
	next.goOn()
	doing = "saving, after"
	data := save(t, p)
	again := newPolicy()
	if err := restore(again, data); err != nil {
		t.Fatalf("a policy that went on from a forged snapshot saves what cannot be restored: %v\n%q, seed %d", err, forged, seed)
	}
	same(t, save(t, again), data)
	return true
}

// same compares the snapshot of a restored policy with the one that it was restored from.
func same(t testing.TB, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		i := 0
		for i < min(len(got), len(want)) && got[i] == want[i] {
			i++
		}
		t.Fatalf("a policy that was restored from %d bytes saves %d, which differ from byte %d on:\n%.40q, want\n%.40q", len(want), len(got), i, got[i:], want[i:])
	}
}

func save(t testing.TB, p sojourn.Policy) []byte {
	t.Helper()
	s, ok := sojourn.As[sojourn.Snapshotter](p)
	if !ok {
		t.Fatalf("a %T is no Snapshotter", p)
	}
	data, err := s.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func restore(p sojourn.Policy, data []byte) error {
	s, _ := sojourn.As[sojourn.Snapshotter](p)
	given := slices.Clone(data)
	err := s.UnmarshalBinary(given)
	clear(given) // the policy may keep nothing of it
	return err
}

// magic begins a snapshot.
var magic = []byte("sojourn\x01")

// The places of the length and the header in the frame of a snapshot; see package
// snapshot.
const (
	lengthAt = 8
	headerAt = 16
	sumSize  = 4
)

// body returns the body of a snapshot.
func body(data []byte) []byte {
	at := headerAt
	number := func() int {
		x, n := binary.Uvarint(data[at:])
		at += n
		return int(x)
	}
	at += number() // the name of the policy
	number()       // the version
	at += number() // the options
	return data[at : len(data)-sumSize]
}

// join returns a valid snapshot with the header of another one and this body.
func join(head, own []byte) []byte {
	data := append(slices.Clone(head[:len(head)-sumSize-len(body(head))]), own...)
	binary.LittleEndian.PutUint64(data[lengthAt:], uint64(len(data)+sumSize))
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// inner returns the ranges of the snapshots within a body. Each range includes the number
// before it, which is its length.
func inner(body []byte) (list [][2]int) {
	for at := 0; ; {
		next := bytes.Index(body[at:], magic)
		if next < 0 {
			return list
		}
		at += next
		if len(body)-at > headerAt {
			n := binary.LittleEndian.Uint64(body[at+lengthAt:])
			size := len(binary.AppendUvarint(nil, n))
			if n > headerAt && n <= uint64(len(body)-at) && size <= at {
				list = append(list, [2]int{at - size, at + int(n)})
				at += int(n) // snapshots within this one are found when it is forged
				continue
			}
		}
		at++
	}
}

// forge returns a body in which one to three things were changed: numbers or bytes.
// Mostly these are numbers near the end, which are the policy's own. If there are
// snapshots within the body, half of the time one of them is forged instead, with a valid
// checksum.
func forge(rng *rand.Rand, own []byte) []byte {
	if list := inner(own); len(list) > 0 && rng.IntN(2) == 0 {
		at := list[rng.IntN(len(list))]
		_, size := binary.Uvarint(own[at[0]:])
		data := own[at[0]+size : at[1]]
		data = join(data, forge(rng, body(data)))
		return slices.Replace(slices.Clone(own), at[0], at[1], append(binary.AppendUvarint(nil, uint64(len(data))), data...)...)
	}
	return change(rng, own)
}

// change returns a body in which one to three things were changed.
func change(rng *rand.Rand, body []byte) []byte {
	body = slices.Clone(body)
	for range 1 + rng.IntN(3) {
		at := rng.IntN(len(body))
		if rng.IntN(2) == 0 {
			at = len(body) - 1 - rng.IntN(1+len(body)/4)
		}
		switch from, to := number(body, at); rng.IntN(6) {
		case 0, 1:
			body[at] = byte(rng.Uint32() >> rng.IntN(8))
		case 2:
			other, end := number(body, rng.IntN(len(body)))
			body = slices.Replace(body, from, to, slices.Clone(body[other:end])...)
		case 3:
			x, _ := binary.Uvarint(body[from:to])
			body = slices.Replace(body, from, to, binary.AppendUvarint(nil, x+rng.Uint64N(5)-2)...)
		case 4:
			body = slices.Replace(body, from, to, binary.AppendUvarint(nil, rng.Uint64()>>rng.IntN(64))...)
		case 5:
			ends := []uint64{0, 1, 2, 1<<16 - 1, 1 << 16, 1<<31 - 1, 1 << 31, 1 << 32, 1 << 48, 1 << 61, 1 << 62, 1<<63 - 1, math.MaxInt64, 1 << 63, math.MaxUint64}
			body = slices.Replace(body, from, to, binary.AppendUvarint(nil, ends[rng.IntN(len(ends))])...)
		}
	}
	return body
}

// number returns the range of the number to which a byte belongs.
func number(body []byte, at int) (from, to int) {
	for from = at; from > 0 && at-from < binary.MaxVarintLen64-1 && body[from-1] >= 0x80; from-- {
	}
	for to = at + 1; to < len(body) && to-from < binary.MaxVarintLen64 && body[to-1] >= 0x80; to++ {
	}
	return from, to
}
