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
// Numbers are varints in their shortest form, so that a state has one snapshot and
// a snapshot one state. Every flipped bit and every missing byte is noticed, and a
// snapshot of another policy, version or options is told by name.
//
// # How a policy is saved
//
// A file snapshot.go beside the policy, of which this is all; fifo/snapshot.go and
// baseline/snapshot.go are such files:
//
//	func (p *Policy) header() snapshot.Header {
//		return snapshot.Header{Policy: "mypolicy", Version: 1, Options: []snapshot.Option{
//			snapshot.Opt("default-task-time", p.opts.DefaultTaskTime),
//		}}
//	}
//
//	// AppendBinary implements [sojourn.Snapshotter].
//	func (p *Policy) AppendBinary(dst []byte) ([]byte, error) {
//		return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) {
//			p.ledger.Save(w)
//			for j := range p.ledger.All() {
//				w.Time(j.Data.due)
//			}
//			w.Binary(&p.pcg)
//		})
//	}
//
//	// UnmarshalBinary implements [sojourn.Snapshotter].
//	func (p *Policy) UnmarshalBinary(data []byte) error {
//		return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) {
//			p.ledger.Restore(r)
//			for j := range p.ledger.All() {
//				j.Data.due = r.Time()
//				p.queue.Update(j)
//			}
//			r.Binary(&p.pcg)
//		})
//	}
//
// reset makes *p what New returned: it assigns to every field, keeps no map, slice
// or pointer of before but the options, and is what New itself calls. [Restore] does
// the rest: it keeps a copy of *p, and puts it back if anything is wrong. What
// points into *p, such as the pointer to the ledger in a locality.Index or a key
// function that mentions p, goes on being right, since p stays where it is.
//
// The body begins with the account, as ledger.Ledger.Save writes it: package fair
// compares it with its own where the policy serves a pool.
//
// # What is state
//
// Whatever decides. Store what cannot be computed from the rest: sums that were
// kept step by step and rounded on the way, generators, the order of a retry list,
// when a timer began. Compute the rest anew: queues in a total order are filled
// again from the jobs, an index of inputs by locality.Index.Rebuild; what is
// computed needs no check and cannot contradict what is stored. Scratch space and
// caches, which change nothing but how long an answer takes, are neither.
//
// Equal states have equal bytes: write maps in the order of their keys, jobs in
// that of ledger.Ledger.All, and nothing that asking questions may change (sojourntest
// takes a snapshot before and after).
//
// A Version is raised when the body changes, and when the same state would decide otherwise
// than before.
//
// # Which options may change
//
// The header lists the options that the state rests on: those that say what the numbers in
// it mean, or what there is in it. A snapshot that was taken under other values of these
// is refused, with an error that names the option. All others may differ: a policy that
// is restored decides by its own options from then on. So an operator changes the weight of a
// pool, or a delay, without losing state: save, make a policy with the options to be,
// restore. A limit, a delay, a weight that is looked at when something is decided, and
// whatever is computed anew when the policy is restored, need not be listed. What sizes were
// estimated by, or how a queue is ordered that is saved as it is, must be.
//
// Names and values are written out on purpose, by [Opt], with defaults resolved. They are
// equal if and only if the state means the same. They are not printed from a struct: to
// rename a field must not break what was saved. sojourntest checks both lists: Others may not
// be restored, Changed must be.
//
// # What is read
//
// A [Reader] never panics. It remembers its first error, and returns zero values from
// then on, so that errors are looked at once, at the end. Numbers that index
// something, or that arithmetic relies on, are read by [Reader.Below] or tested with
// [Reader.Check], and those that become an int by [Reader.Index], [Reader.Count],
// [Reader.Native] or [Reader.Len], since an int may have 32 bits: the checksum tells
// accidents, not forgeries. Lists take memory in proportion to the bytes that are
// there.
//
// sojourntest.FuzzUnmarshal forges snapshots. It asks that what is accepted is saved
// again as the same bytes, so that lists are read in the one order in which they are
// written, and nothing is accepted that is then computed otherwise.
package snapshot
