// Package catalog makes policies from their names and options as text, such as
// "fair:order=running", for programs that read them from a flag or a configuration:
//
//	policy, err := catalog.Builtin().Make("hfsp:node-delay=3s")
//
// Tier: kit.
//
// [Builtin] has the policies of the library under their names in the command sojourn:
// 'sojourn policies' lists them, and 'sojourn policies NAME' describes their options.
//
// A [Catalog] is a list of entries, each a name and a constructor that takes a
// struct of options. The options of an entry are the exported fields of that
// struct, their names in kebab-case: NoGate is no-gate, FairLimit is fair-limit.
// Nothing is declared twice. [Catalog.With] adds policies of your own.
//
// Help texts use [Entry.Describe], and the completion of shells uses [Complete].
package catalog
