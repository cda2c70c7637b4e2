// Command wordcount counts the words of the files that it is given, as map and reduce under package
// live, and prints the most frequent ones. Each file is a task of the first phase. The words are
// divided among the four tasks of the second phase, which waits for the first.
//
//	go run ./examples/wordcount *.md
package main

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
)

const reducers = 4

func main() {
	if err := count(context.Background(), os.Stdout, os.Args[1:], 10); err != nil {
		log.Fatal("wordcount: ", err)
	}
}

// A tally says how often words occur.
type tally map[string]int

// count prints the most frequent words of the files.
func count(ctx context.Context, w io.Writer, files []string, most int) (err error) {
	policy, err := leastwork.New(leastwork.Options{})
	if err != nil {
		return err
	}
	pool, err := live.New(policy, live.Options{})
	if err != nil {
		return err
	}
	parts := live.Collect(len(files), func(_ context.Context, t live.Task) ([reducers]tally, error) {
		return split(files[t.Index])
	})
	sums := live.Collect(reducers, func(_ context.Context, t live.Task) (tally, error) {
		sum := tally{}
		for i := range files {
			part, _ := parts.Get(i)              // all are there: this phase waits for the one before
			for word, n := range part[t.Index] { //sojourn:unordered a sum
				sum[word] += n
			}
		}
		return sum, nil
	})
	h, err := pool.Submit(ctx, live.Job{Name: "word count", Phases: []live.Phase{parts.Phase, sums.Phase}})
	if err == nil {
		err = h.Wait(ctx)
	}
	if closed := pool.Close(ctx); err != nil || closed != nil {
		return cmp.Or(err, closed)
	}
	all := tally{}
	for _, sum := range sums.All(ctx) {
		for word, n := range sum { //sojourn:unordered each word once
			all[word] = n
		}
	}
	return show(w, all, most)
}

// split counts the words of a file, by the reducer that each word belongs to.
func split(file string) (parts [reducers]tally, err error) {
	for i := range parts {
		parts[i] = tally{}
	}
	text, err := os.ReadFile(file)
	for word := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		word = strings.ToLower(word)
		sum := fnv.New32a()
		sum.Write([]byte(word))
		parts[sum.Sum32()%reducers][word]++
	}
	return parts, err
}

func show(w io.Writer, all tally, most int) error {
	words := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b))
	})
	for _, word := range words[:min(most, len(words))] {
		if _, err := fmt.Fprintf(w, "%6d  %s\n", all[word], word); err != nil {
			return err
		}
	}
	return nil
}
