package slack

import "slices"

// node returns an empty node.
func (o *order[T]) node(leaf bool) *node[T] {
	list := &o.spare[1]
	if leaf {
		list = &o.spare[0]
	}
	if n := *list; n != nil {
		*list, n.parent = n.parent, nil
		return n
	}
	if leaf {
		with := new(struct {
			node[T]
			below [fanout + 1]*Item[T]
		})
		with.items = with.below[:0]
		return &with.node
	}
	with := new(struct {
		node[T]
		below [fanout + 1]*node[T]
	})
	with.kids = with.below[:0]
	return &with.node
}

// drop puts an empty node back into the spare ones.
func (o *order[T]) drop(n *node[T]) {
	list := &o.spare[1]
	if n.items != nil {
		list = &o.spare[0]
	}
	*n = node[T]{parent: *list, kids: n.kids, items: n.items}
	*list = n
}

// size returns how many items or nodes are below.
func (n *node[T]) size() int { return len(n.kids) + len(n.items) }

// split divides n, and the nodes above it, if they have too much below them, after an item was added. If that is the
// last of all, the next ones may follow it: nodes then stay full.
func (o *order[T]) split(n *node[T], added *Item[T]) {
	last := n.size() > fanout && o.last() == added
	for ; n != nil && n.size() > fanout; n = n.parent {
		n.push()
		from := n.size() / 2
		if last {
			from = n.size() - 1
		}
		next := o.node(n.items != nil)
		next.take(n, from)
		next.tally()
		if n.parent == nil {
			o.root = o.node(false)
			n.parent = o.root
			o.root.kids = append(o.root.kids, n)
		}
		n.tally()
		next.parent = n.parent
		i := slices.Index(n.parent.kids, n)
		n.parent.kids = slices.Insert(n.parent.kids, i+1, next)
	}
}

// take moves what is below other, from index i on, to the end of n. No line may
// wait in either.
func (n *node[T]) take(other *node[T], i int) {
	for k := i; k < len(other.kids); k++ {
		other.kids[k].parent = n
		n.kids = append(n.kids, other.kids[k])
	}
	for k := i; k < len(other.items); k++ {
		other.items[k].leaf = n
		n.items = append(n.items, other.items[k])
	}
	if other.kids != nil {
		clear(other.kids[i:])
		other.kids = other.kids[:i]
	} else {
		clear(other.items[i:])
		other.items = other.items[:i]
	}
}

// join updates n, which has lost an item, and all nodes above. On the way it
// unites nodes that have little below them with a neighbour.
func (o *order[T]) join(n *node[T]) {
	for parent := n.parent; parent != nil; n, parent = parent, parent.parent {
		kids := parent.kids
		i := slices.Index(kids, n)
		if n.size() > 0 {
			if n.size() <= fanout/4 && len(kids) > 1 {
				i = max(i, 1)
				if left, right := kids[i-1], kids[i]; left.size()+right.size() <= fanout*3/4 {
					left.push()
					right.push()
					left.take(right, 0)
					n = left
				}
			}
			n.tally()
		}
		if kids[i].size() == 0 {
			o.drop(kids[i])
			parent.kids = slices.Delete(kids, i, i+1)
		}
	}
	n.tally()
	for o.root != nil && o.root.kids != nil && len(o.root.kids) < 2 {
		old := o.root
		old.push()
		o.root = nil
		for _, kid := range old.kids {
			o.root, kid.parent = kid, nil
		}
		old.kids = old.kids[:0]
		o.drop(old)
	}
}
