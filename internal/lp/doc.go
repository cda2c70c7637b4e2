// Package lp solves the linear programs of package research/plan by prices, at any size. The
// policy of package mars solves one whenever it plans.
//
//	program       JobForm: one variable for each job; TaskForm: one for each task
//	   |
//	Search        moves the prices of a Dual until the bound and a feasible point are close,
//	   |          step by step; SolveByPrice takes all steps at once
//	Solution      a bound with the prices that prove it, and a feasible point
//
// Package plan derives the programs and the search ("How the program is solved").
// Arithmetic is float64 with + - * / only, the same on every platform.
package lp
