// Package bench runs policies on the traces of a folder and keeps what came of each run, so that it can be stopped and go on.
package bench
