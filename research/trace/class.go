package trace

import (
	"fmt"
	"strconv"

	"github.com/sojourn-sched/sojourn"
)

// The names of the two classes of MapReduce.
const (
	mapName    = "map"
	reduceName = "reduce"
)

// ClassName returns the name of a class of slot in the files of this package: "map",
// "reduce", and its number for every other class.
func ClassName(c sojourn.Class) string {
	switch c {
	case sojourn.MapClass:
		return mapName
	case sojourn.ReduceClass:
		return reduceName
	}
	return strconv.Itoa(int(c))
}

// ParseClass returns the class of a name: "map", "reduce", or a number from 0 to 255.
// It reports false if there is no such class.
func ParseClass(name string) (sojourn.Class, bool) {
	switch name {
	case mapName:
		return sojourn.MapClass, true
	case reduceName:
		return sojourn.ReduceClass, true
	}
	n, err := strconv.ParseUint(name, 10, 8)
	return sojourn.Class(n), err == nil
}

// wantClass lists the names of classes, for errors.
const wantClass = `"map", "reduce" or a number from 0 to 255`

// readClass reads the class of a phase.
func readClass(c *cursor) sojourn.Class {
	if kindOf(c.data[c.pos]) == kindNumber {
		return sojourn.Class(c.integer(0, sojourn.MaxClasses-1))
	}
	off := c.pos
	switch name := c.text(); string(name) {
	case mapName:
		return sojourn.MapClass
	case reduceName:
		return sojourn.ReduceClass
	default:
		c.fail(off, "want %s, found %q", wantClass, brief(name))
		return 0
	}
}

// appendClass appends the class of a phase.
func appendClass(dst []byte, c sojourn.Class) []byte {
	name := ClassName(c)
	if c > sojourn.ReduceClass {
		return append(dst, name...)
	}
	return append(append(append(dst, '"'), name...), '"')
}

// readSlots reads the slots of a node, by class, and whether they are uniform.
func readSlots(c *cursor) (slots []int, uniform bool) {
	count := func() int { return int(c.integer(0, sojourn.MaxSlots)) }
	if kindOf(c.data[c.pos]) == kindNumber {
		return []int{count()}, true
	}
	var seen [sojourn.MaxClasses]bool
	slots = make([]int, sojourn.ReduceClass+1)
	c.entries(func(key []byte, off int) {
		class, ok := ParseClass(string(key))
		switch {
		case !ok:
			c.fail(off, "want %s, found %q", wantClass, brief(key))
			return
		case seen[class]:
			c.fail(off, "duplicate key %q: class %d has its slots", brief(key), class)
			return
		}
		seen[class] = true
		if more := int(class) + 1 - len(slots); more > 0 {
			slots = append(slots, make([]int, more)...)
		}
		slots[class] = count()
	})
	return slots, false
}

// checkSlots returns what is wrong with the slots of a node, or "".
func checkSlots(slots []int, uniform bool) string {
	if len(slots) > sojourn.MaxClasses {
		return fmt.Sprintf("slots of %d classes, more than %d", len(slots), sojourn.MaxClasses)
	}
	for class, n := range slots {
		switch {
		case n < 0 || n > sojourn.MaxSlots:
			return fmt.Sprintf("%d slots of class %d are out of range", n, class)
		case uniform && class > 0 && n != 0:
			return fmt.Sprintf("slots %v of a uniform cluster are not all in class 0", slots)
		}
	}
	return ""
}

// appendSlots appends the slots of a node: those of map and reduce, and those of
// other classes that exist.
func appendSlots(dst []byte, slots []int, uniform bool) []byte {
	of := func(class int) int64 {
		if class < len(slots) {
			return int64(slots[class])
		}
		return 0
	}
	if uniform {
		return strconv.AppendInt(dst, of(0), 10)
	}
	dst = append(dst, '{')
	for class := range max(len(slots), int(sojourn.ReduceClass)+1) {
		if of(class) == 0 && class > int(sojourn.ReduceClass) {
			continue
		}
		if class > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), ClassName(sojourn.Class(class))...), `":`...)
		dst = strconv.AppendInt(dst, of(class), 10)
	}
	return append(dst, '}')
}
