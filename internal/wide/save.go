package wide

// Save writes x to a snapshot.
func (x Uint128) Save(w interface{ Uint(uint64) }) {
	w.Uint(x.Hi)
	w.Uint(x.Lo)
}

// Restore128 reads what [Uint128.Save] has written.
func Restore128(r interface{ Uint() uint64 }) Uint128 { return Uint128{Hi: r.Uint(), Lo: r.Uint()} }

// Save writes x to a snapshot.
func (x Uint192) Save(w interface{ Uint(uint64) }) {
	w.Uint(x.Hi)
	w.Uint(x.Mid)
	w.Uint(x.Lo)
}

// Restore192 reads what [Uint192.Save] has written.
func Restore192(r interface{ Uint() uint64 }) Uint192 {
	return Uint192{Hi: r.Uint(), Mid: r.Uint(), Lo: r.Uint()}
}
