package files

import (
	"os"
	"sync"
)

// unfinished are the files and folders that are being written beside their places. It is locked while one of them takes its
// place.
var unfinished = struct {
	sync.Mutex
	names map[string]bool
}{names: map[string]bool{}}

func begin(name string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	unfinished.names[name] = true
}

// end removes what is not finished, if it is there.
func end(name string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	delete(unfinished.names, name)
	os.RemoveAll(name)
}

// removeUnfinished waits until nothing is taking its place, and removes what is not finished. After it nothing takes its
// place any more: the program must end.
func removeUnfinished() {
	unfinished.Lock()
	for range 10 { // another goroutine may be writing into a folder
		for name := range unfinished.names {
			os.RemoveAll(name)
		}
	}
}
