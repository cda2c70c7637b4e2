// Package files opens files, and writes files and folders that are complete or absent: a
// [Folder] and what [Replace] writes are made beside their place under another name, and
// renamed when they are whole. A [Spool] is a temporary file that leaves nothing behind.
package files
