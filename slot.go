package sojourn

// A SlotID names one slot. It is a small number, below [MaxSlots], because
// policies keep arrays of slots. A driver may reuse it once the slot has left.
type SlotID uint32

// MaxSlots bounds slot IDs: an ID at or above it is refused with [ErrInvalidSlot].
const MaxSlots = 1 << 24

// A NodeID names a machine, or another place that can hold the input of a task. Zero
// means none.
type NodeID uint32

// A RackID names a group of nodes that are close to each other. Zero means
// unknown.
type RackID uint32

// A Class distinguishes kinds of slots, such as the map and reduce slots of Hadoop 1.
// A task runs only on a slot of its phase's class. If every slot can run every task,
// the driver sets the class of all slots and phases to zero. Only the
// classes of MapReduce jobs have names here, [MapClass] and [ReduceClass].
//
// A class is a small number, below [MaxClasses], because policies keep arrays of classes.
type Class uint16

// MaxClasses bounds classes. A slot of a class at or above it is refused with
// [ErrInvalidSlot], a job with [ErrInvalidJob]. A later version may raise it.
const MaxClasses = 1 << 8

// The classes of slot that run map tasks and reduce tasks, where a cluster keeps map slots and reduce
// slots apart, as Hadoop 1 does, or a policy asks for jobs of that shape, as package rtmr does.
const (
	MapClass    Class = 0
	ReduceClass Class = 1
)

// A Slot runs one attempt at a time.
type Slot struct {
	ID    SlotID
	Node  NodeID // the machine it belongs to; 0 if that does not matter
	Rack  RackID // the rack of that machine; 0 if unknown
	Class Class

	// Speed is how fast the slot works, in percent of the speed for which [Phase.Estimate] holds: a task of an
	// hour takes half an hour on a slot of 200. Zero means 100. Most policies ignore it; one that would promise
	// too much refuses the slot. See [FeatureSpeed].
	Speed uint16
}
