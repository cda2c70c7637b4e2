// Package snapshot is the format in which policies save their state, and all that
// a policy needs to be a [sojourn.Snapshotter]. Use it if a driver may be restarted while
// your policy has live jobs. A policy that is built on kit/queue and keeps nothing else is
// saved by this:
//
//	func (p *Policy) header() snapshot.Header { return snapshot.Header{Policy: "mypolicy", Version: 1} }
//
//	func (p *Policy) AppendBinary(dst []byte) ([]byte, error) {
//		return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) { p.queue.Save(w, nil) })
//	}
//	func (p *Policy) UnmarshalBinary(data []byte) error {
//		return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) { p.queue.Restore(r, nil) })
//	}
//
// Tier: kit.
//
// # Frame
//
//	magic     8 bytes; the last one is the version of the frame
//	length    8 bytes, of the whole snapshot, least significant byte first
//	policy    string: its name
//	version   number: of what the policy writes, and of the rules it decides by
//	options   list: the name and the value of each option that its state rests on
//	body      what the policy writes
//	checksum  4 bytes: CRC-32C of everything before
//
// Numbers are varints in their shortest form, so a state has one snapshot and a snapshot has one
// state. Every flipped bit and every missing byte is noticed. For a snapshot of another policy,
// version or options, the error says which.
//
// # How a policy is saved
//
// Write a file snapshot.go beside the policy; fifo/snapshot.go and research/baseline/snapshot.go are examples. A policy with a
// ledger and data of its own about jobs writes and reads, in the same order:
//
//	p.ledger.Save(w)
//	for j := range p.ledger.All() {
//		w.Time(j.Data.due)
//	}
//	w.Binary(&p.pcg)
//
//	p.ledger.Restore(r)
//	for j := range p.ledger.All() {
//		j.Data.due = r.Time()
//		p.queue.Update(j)
//	}
//	r.Binary(&p.pcg)
//
// reset makes *p what New returned, and New calls it, too. It assigns to every field, and keeps no
// map, slice or pointer from before except the options. [Restore] does the rest: it keeps a copy of
// *p, and puts it back if anything is wrong. Pointers into *p stay right, since p stays where it is:
// a pointer to the ledger, or a key function that mentions p.
//
// The body begins with the account, as ledger.Ledger.Save writes it. If the policy serves a pool of
// package fair, fair compares that account with its own.
//
// # What is state
//
// State is everything that later decisions depend on. Store what cannot be computed from the rest: sums
// that were kept step by step and rounded on the way, generators, the order of a retry list, the instant
// when a timer began. Compute the rest again: fill queues in a total order from the jobs. What is computed needs no check and cannot contradict what is stored.
// Scratch space and caches change only how long an answer takes. They are not state: do not store them.
//
// Equal states have equal bytes: write maps in the order of their keys, jobs in
// that of ledger.Ledger.All, and nothing that asking questions may change (sojourntest
// takes a snapshot before and after).
//
// Raise the Version when the body changes, and when the same state leads to other decisions than
// before.
//
// # Which options may change
//
// The header lists the options that the state rests on. These options say what the numbers in the state
// mean, or what the state contains. A snapshot that was taken under other values of these options is
// refused, with an error that names the option. All other options may differ: a restored policy decides by
// its own options from then on. So an operator can change the weight of a pool, or a delay, without losing
// state: save, make a policy with the options you want, restore.
//
// You must list the options that sizes were estimated with, and the order of a queue that is saved
// as it is. You need not list a limit, a delay, a weight that is used only when something is
// decided, or an option that affects only what is computed again at the restore.
//
// [Opt] writes names and values out, with defaults resolved. They are equal if and only if the state means
// the same. They are not printed from a struct, so renaming a field does not break what was saved.
// sojourntest checks both lists: a snapshot may not be restored under the options of Others, and must be
// restored under the options of Changed.
//
// # What is read
//
// A [Reader] never panics. It remembers its first error and returns zero values from then on, so you look at
// errors once, at the end. The checksum finds accidents, not forgeries. So read a number that indexes
// something, or that arithmetic relies on, by [Reader.Below], or test it with [Reader.Check]. Read a number
// that becomes an int by [Reader.Index], [Reader.Count], [Reader.Native] or [Reader.Len], since an int may
// have 32 bits. Lists take memory in proportion to the bytes that are there.
//
// sojourntest.FuzzUnmarshal forges snapshots. It requires that an accepted snapshot is saved again as the same
// bytes. So lists must be read in the one order in which they are written, and nothing may be accepted that is
// then computed differently.
package snapshot
