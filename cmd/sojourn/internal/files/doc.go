// Package files opens files, and writes files and folders that are complete or absent. A
// [Folder], and a file of [Replace], is made beside its place under another name, and
// renamed when it is complete. A [Spool] is a temporary file that leaves nothing behind.
package files
