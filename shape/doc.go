// Package shape lets tasks of different shapes share nodes with CPU, memory, GPUs and whatever else
// is scarce. Use it if tasks need different amounts of several resources, such as pods do. The
// policies know slots of classes; a shape of task is a class here, and a [Cluster] opens a slot of the
// class on each node while one more such task fits there.
//
// Tier: kit.
//
//	policy, err := fair.New(fair.Options{Cost: costs}) // of shape.Costs
//	cluster, err := shape.New(policy, shape.Options{Shapes: shapes})
//	events, err = cluster.AppendNode(nil, now, 1, 0, shape.Resources{64_000, 256 << 30}) // policy observes them
//	...
//	a, ok := policy.Assign(slot)
//	events = cluster.AppendStart(events[:0], now, a.Slot) // policy observes them before the next offer
//	node, class, ok := cluster.Place(a.Slot)
//
// With package driver, AppendStart belongs into [driver.Options].Started.
//
// # Slots of nodes, or of the cluster
//
// Each node has slots of its own, so that a policy can prefer the node with the input of a task. fair with
// Cost has no such preference. If no task has an input on a node, set [Options].AnyNode: then there is one slot
// of each class in the whole cluster, and the Cluster chooses the node. The same tasks run of the
// same jobs, for a fraction of the events; [Cluster.Place] says on which node. The driver uses the policy of
// [Cluster.Policy]:
//
//	cluster, err := shape.New(policy, shape.Options{Shapes: shapes, AnyNode: true})
//	d, err := driver.New(cluster.Policy(), driver.Options{...})
//
// A Cluster never tells the policy what happens: it appends events, and the driver reports them,
// with those of its own. After an attempt has ended, the driver reports that first, and then what
// AppendEnd appends. It repeats its passes over the classes until one starts nothing, as the comment
// of package sojourn says. The example is a whole program.
//
// # Which policies
//
// [New] refuses a policy that does not support [sojourn.FeatureProjected]. A policy that counts slots
// is wrong here: a class has as many slots as tasks of it run, plus the nodes that have room for one
// more, and these sums say nothing about what the class could have.
//
//	policy                   on projected slots
//	fair with Cost           dominant resource fairness: the policy to use
//	fifo                     arrival order within a shape; the driver's order of classes between shapes
//	las, srpt, no reserve    their order within a shape; the driver's order of classes between shapes
//	fair without Cost        refused: each class would be shared by itself, so that the class that the
//	                         driver offers first gets everything
//	leastwork                refused: its reserve and its clock for late jobs count slots
//	fsp, pfsp, hfsp          refused: the number of slots is the speed of their virtual clusters
//	rtmr, dc                 refused: the number of slots decides which deadlines can be met
//	td, mars                 refused: their shares and plans are of the number of slots
//	las, srpt with reserve   refused: a part of the number of slots would be kept free
//	list rules, local        refused: nobody has examined them on such slots
//
// # Reservation
//
// Tasks that need much of a node starve under any order of jobs: whenever something small ends,
// something small fits. So a Cluster reserves a node for a class if no task of it was started for
// Patience although the policy would start one. The node then has slots of no other class, until one
// of the class starts there or elsewhere, or the policy wants none any more. The node is the one where
// the least must end. With AnyNode, the class may also start on another node.
//
// Bound: let S be the number of shapes, P the Patience, and let every attempt end within D after any
// instant at which it runs. Let no node come, leave or change, and let some node be large enough for
// class c. Let the policy start a task of c, from t on, whenever a slot of c is free after it has
// been offered all others, and let Seek name a slot of c whenever it is asked while each class
// without a free slot gets one. Then a task of c starts by
//
//	t + P + S D
//
// if the driver calls AppendReserve as its comment says. Proof: c was last served, and last found
// to want nothing, before t. So c is due at t + P, and goes before each class that is
// served or found to want nothing after t. Each reservation ends within D: by then all attempts on the
// node have ended, a slot of the class is free, and the policy takes it or the reservation is
// dropped. So at most S-1 other reservations come before that of c, each at most once, and its
// own takes at most D.
//
// The hypothesis on Seek holds for fifo, and for las and srpt, while the job has tasks to start. It
// holds for fair with Cost while c is the class that comes first of all; a pool that runs nothing has
// the least share.
//
// # More shapes than classes
//
// A cluster has at most 256 shapes, each a class. [Quantize] rounds more requests up to fewer shapes, so that whatever is
// placed always fits.
//
// # Cost
//
// A start or an end costs time in proportion to the shapes and resources, and appends at most one
// event for each shape, and one more. Nodes cost memory for one slot of each shape, or with AnyNode for one bit.
// A full cluster of 1,000 nodes where all of 20 shapes have tasks takes 12.4 events for a placement with its end
// under fair, and 35 under fifo; with AnyNode, 3.2 and 1.0 (go test -run '^$' -bench Projected ./shape). AppendReserve looks
// at the nodes only when it reserves one, and asks the policy at most once in Patience for each shape.
package shape
