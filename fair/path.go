package fair

import (
	"iter"
	"strings"
)

const anyPool = "*"

// maxDepth bounds the depth of the tree. The rest of a longer path is part of the last element.
const maxDepth = 16

// split iterates over the elements of a path. The last of maxDepth elements has the rest.
func split(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		rest, more := path, true
		for depth := 1; more && depth < maxDepth; depth++ {
			var name string
			if name, rest, more = strings.Cut(rest, "/"); !yield(name) {
				return
			}
		}
		if more {
			yield(rest)
		}
	}
}
