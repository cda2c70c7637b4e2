// Package format writes numbers, texts, tables and JSON, for people and for programs: Column
// for numbers that stand below one another, [Table] for lines of them, [Hang] for text behind
// a title, [Real] and [Seconds] for numbers in JSON. It knows nothing of jobs and runs.
package format
