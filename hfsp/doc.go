// Package hfsp is the Hadoop Fair Sojourn Protocol: size-based scheduling with aging
// for jobs whose sizes nobody knows beforehand [Pastorelli, Carra, Dell'Amico and
// Michiardi, "HFSP: Bringing Size-Based Scheduling To Hadoop", IEEE Transactions on
// Cloud Computing 2015].
//
// Sizes are estimated while jobs run, from the first few tasks of each phase; a
// virtual cluster lets them age; a free slot goes to the phase of the least virtual
// size. Each phase of a job is scheduled by itself, on the slots of its class.
package hfsp
