// Package handle numbers the entries of a table. A handle is small, so that whatever belongs to
// an entry can be kept in slices:
//
//	h := handle.Add(&p.jobs, &p.spare, j)
//	p.jobs[h] == j
//	handle.Remove(p.jobs, &p.spare, h)
//
// A table is a slice and the list of its free handles. Handles depend only on the order of
// the calls: a policy that saves both goes on with the same ones.
package handle

// Add puts x into a table and returns its handle: the one that became free last, or the next
// one that was never used.
func Add[T any](table *[]T, free *[]uint32, x T) uint32 {
	n := len(*free)
	if n == 0 {
		*table = append(*table, x)
		return uint32(len(*table) - 1)
	}
	h := (*free)[n-1]
	*free = (*free)[:n-1]
	(*table)[h] = x
	return h
}

// Remove sets the entry of a handle to zero and makes the handle free.
func Remove[T any](table []T, free *[]uint32, h uint32) {
	var none T
	table[h] = none
	*free = append(*free, h)
}
