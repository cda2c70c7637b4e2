package files

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"os"
)

// A CSV is a CSV file that is written row by row. Its first error sticks.
type CSV struct {
	File *os.File
	buf  *bufio.Writer
	csv  *csv.Writer
}

func CreateCSV(path string, header []string) (*CSV, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	buf := bufio.NewWriterSize(file, 1<<16)
	f := &CSV{file, buf, csv.NewWriter(buf)}
	f.Write(header)
	return f, nil
}

func (f *CSV) Write(row []string) { f.csv.Write(row) }

func (f *CSV) Close() error {
	f.csv.Flush()
	return cmp.Or(f.csv.Error(), f.buf.Flush(), f.File.Close())
}

// A SortedCSV takes the rows of a CSV file in any order, each with its rank from 0. A
// temporary file holds them; each row takes 8 bytes of memory.
type SortedCSV struct {
	Spool   *Spool
	out     *bufio.Writer
	row     bytes.Buffer
	csv     *csv.Writer // to row
	size    int64
	offsets []int64 // by rank: where a row lies, after its length
}

func NewSortedCSV(dir string) (*SortedCSV, error) {
	spool, err := NewSpool(dir)
	if err != nil {
		return nil, err
	}
	f := &SortedCSV{Spool: spool, out: bufio.NewWriterSize(spool, 1<<16)}
	f.csv = csv.NewWriter(&f.row)
	return f, nil
}

// Write takes a row. An error sticks.
func (f *SortedCSV) Write(rank int, row []string) {
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

// Create writes the file. If ctx ends meanwhile, that is an error.
func (f *SortedCSV) Create(ctx context.Context, path string, header []string) error {
	if err := f.out.Flush(); err != nil {
		return err
	}
	to, err := CreateCSV(path, header)
	if err != nil {
		return err
	}
	defer to.File.Close()
	to.csv.Flush()
	buf := make([]byte, 1<<12)
	window, start := buf[:0], int64(0) // what was read last, as rows are nearly in order
	for rank, at := range f.offsets {
		if rank%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if at < 0 {
			continue
		}
		n := 4
		for range 2 { // the length, and then the row
			if at < start || at+int64(n) > start+int64(len(window)) {
				if buf = buf[:cap(buf)]; len(buf) < n {
					buf = make([]byte, n)
				}
				got, err := f.Spool.ReadAt(buf, at)
				if window, start = buf[:got], at; got < n {
					return fmt.Errorf("a temporary file: %w", Cause(err))
				}
			}
			n = 4 + int(binary.LittleEndian.Uint32(window[at-start:]))
		}
		to.buf.Write(window[at-start+4 : at-start+int64(n)])
	}
	return to.Close()
}
