package heap

// Allot puts x into a table and returns its ID, which is small, so that whatever belongs to an entry
// can be kept in slices and heaps:
//
//	id := heap.Allot(&p.jobs, &p.spare, j)
//	p.jobs[id] == j
//	heap.Release(p.jobs, &p.spare, id)
//
// A table is a slice and the list of its free IDs. The ID is the one that became free last, or the next
// one that was never used. IDs depend only on the order of the calls: a policy that saves both goes on
// with the same ones.
func Allot[T any](table *[]T, free *[]uint32, x T) uint32 {
	n := len(*free)
	if n == 0 {
		*table = append(*table, x)
		return uint32(len(*table) - 1)
	}
	id := (*free)[n-1]
	*free = (*free)[:n-1]
	(*table)[id] = x
	return id
}

// Release sets the entry of an ID to zero and makes the ID free.
func Release[T any](table []T, free *[]uint32, id uint32) {
	var none T
	table[id] = none
	*free = append(*free, id)
}
