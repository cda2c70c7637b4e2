package lp

// A Course is a computation that stops now and then, so that its caller can do something else in
// between. Each call goes on with about as much work as the budget says, in looks at an item, at
// least one. It returns how many it took, and whether the computation has ended; it is not called
// again then. The result does not depend on the budgets. A nil Course has ended.
type Course func(budget int) (looks int, ended bool)

// Finish does all that is left.
func (c Course) Finish() {
	if c != nil {
		for ended := false; !ended; {
			_, ended = c(1 << 20)
		}
	}
}

// span does something with n items. A look is at a number of items that take as long as one
// elsewhere.
func span(n, items int, do func(from, to int)) Course {
	at := 0
	return func(budget int) (int, bool) {
		from := at
		at += min(min(budget, n)*items, n-at)
		do(from, at)
		return (at - from + items - 1) / items, at == n
	}
}

// repeat does what next returns, until that is nil.
func repeat(next func() Course) Course {
	current := next()
	if current == nil {
		return nil
	}
	return func(budget int) (looks int, ended bool) {
		for looks < budget {
			n, ended := current(budget - looks)
			looks += n
			if ended {
				if current = next(); current == nil {
					return looks, true
				}
			}
		}
		return looks, false
	}
}

// inTurn does one thing after the other. Each is asked for what it has to do when its turn comes.
func inTurn(parts ...func() Course) Course {
	return repeat(func() Course {
		for len(parts) > 0 {
			next := parts[0]()
			parts = parts[1:]
			if next != nil {
				return next
			}
		}
		return nil
	})
}
