package sojourntest

import (
	"hash/crc32"
	"math/rand/v2"
)

// A source makes the choices of a trial.
type source interface {
	// below returns a number from 0 to n-1.
	below(n int) int
	// more reports whether the random part of the history goes on for a step.
	more() bool
}

// chance chooses at random, and ends after a given number of steps on average.
type chance struct {
	*rand.Rand
	steps int
}

func newChance(seed uint64, steps int) *chance {
	return &chance{rand.New(rand.NewPCG(seed, 1)), steps}
}

func (c *chance) below(n int) int { return c.IntN(n) }

func (c *chance) more() bool { return c.IntN(c.steps+1) > 0 }

// A tape chooses by bytes, one for each choice among at most 256, so that a change of
// one byte changes one choice. The random part of the history ends with the tape;
// later choices are random.
type tape struct {
	rest  []byte
	after *chance
}

func newTape(data []byte) *tape {
	return &tape{data, newChance(uint64(crc32.ChecksumIEEE(data)), 0)}
}

func (t *tape) below(n int) int {
	if len(t.rest) == 0 {
		return t.after.below(n)
	}
	x := 0
	for limit := 1; limit < n && len(t.rest) > 0; limit <<= 8 {
		x = x<<8 | int(t.rest[0])
		t.rest = t.rest[1:]
	}
	return x % n
}

func (t *tape) more() bool { return len(t.rest) > 0 }

// between draws a number from least to most.
func (dr *draws) between(least, most int) int { return least + dr.src.below(most-least+1) }

// oneIn reports true once in n times.
func (dr *draws) oneIn(n int) bool { return dr.src.below(n) == n-1 }

// pick draws one of a list.
func pick[T any](dr *draws, list ...T) T { return list[dr.src.below(len(list))] }
