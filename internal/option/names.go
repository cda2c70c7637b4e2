package option

import (
	"fmt"
	"slices"
	"strings"
)

// Name returns the name of e, or "Kind(7)" for a value that has none.
func Name[E ~uint8](kind string, names []string, e E) string {
	if int(e) >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, uint8(e))
	}
	return names[e]
}

// SetName sets e to the value whose name is text. For any other text it leaves e alone
// and says what there is to choose from; what is the word for the choice.
func SetName[E ~uint8](e *E, what string, names []string, text []byte) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		last := len(names) - 1
		return fmt.Errorf("unknown %s %q: want %s or %s", what, text, strings.Join(names[:last], ", "), names[last])
	}
	*e = E(i)
	return nil
}
