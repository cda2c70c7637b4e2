package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"os"
)

// A csvFile is a CSV file that is written row by row. Its first error sticks.
type csvFile struct {
	file *os.File
	buf  *bufio.Writer
	csv  *csv.Writer
}

func createCSV(path string, header []string) (*csvFile, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	buf := bufio.NewWriterSize(file, 1<<16)
	f := &csvFile{file, buf, csv.NewWriter(buf)}
	f.write(header)
	return f, nil
}

func (f *csvFile) write(row []string) { f.csv.Write(row) }

func (f *csvFile) close() error {
	f.csv.Flush()
	return cmp.Or(f.csv.Error(), f.buf.Flush(), f.file.Close())
}

// A sortedCSV takes the rows of a CSV file in any order, each with its rank from 0. They
// lie in a temporary file; of each 8 bytes are in memory.
type sortedCSV struct {
	spool   *spool
	out     *bufio.Writer
	row     bytes.Buffer
	csv     *csv.Writer // to row
	size    int64
	offsets []int64 // by rank: where a row lies, after its length
}

func newSortedCSV(dir string) (*sortedCSV, error) {
	spool, err := newSpool(dir)
	if err != nil {
		return nil, err
	}
	f := &sortedCSV{spool: spool, out: bufio.NewWriterSize(spool, 1<<16)}
	f.csv = csv.NewWriter(&f.row)
	return f, nil
}

// write takes a row. An error sticks.
func (f *sortedCSV) write(rank int, row []string) {
	f.row.Reset()
	f.csv.Write(row)
	f.csv.Flush()
	f.out.Write(binary.LittleEndian.AppendUint32(nil, uint32(f.row.Len())))
	f.out.Write(f.row.Bytes())
	for len(f.offsets) <= rank {
		f.offsets = append(f.offsets, -1)
	}
	f.offsets[rank] = f.size
	f.size += 4 + int64(f.row.Len())
}

// create writes the file.
func (f *sortedCSV) create(path string, header []string) error {
	if err := f.out.Flush(); err != nil {
		return err
	}
	to, err := createCSV(path, header)
	if err != nil {
		return err
	}
	defer to.file.Close()
	to.csv.Flush()
	buf := make([]byte, 1<<12)
	window, start := buf[:0], int64(0) // what was read last, as rows are nearly in order
	for _, at := range f.offsets {
		if at < 0 {
			continue
		}
		n := 4
		for range 2 { // the length, and then the row
			if at < start || at+int64(n) > start+int64(len(window)) {
				if buf = buf[:cap(buf)]; len(buf) < n {
					buf = make([]byte, n)
				}
				got, err := f.spool.ReadAt(buf, at)
				if window, start = buf[:got], at; got < n {
					return fmt.Errorf("a temporary file: %w", cause(err))
				}
			}
			n = 4 + int(binary.LittleEndian.Uint32(window[at-start:]))
		}
		to.buf.Write(window[at-start+4 : at-start+int64(n)])
	}
	return to.close()
}
