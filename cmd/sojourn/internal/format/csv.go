package format

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Schema is the version of what is printed as JSON and CSV. Within a version keys and
// columns keep their names and meanings, and others may be added.
const Schema = 1

// WriteCSV writes values that have a form in JSON, each as a row below a head. The columns
// are the keys, those of inner values behind the key of the outer one: sojourn_mean. Lists
// are left out, except for the two ends of an interval, ci, which become low and high. The first column is schema.
func WriteCSV[T any](w io.Writer, values []T) error {
	var head []string
	known := map[string]bool{}
	rows := make([]map[string]string, len(values))
	for i, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		rows[i] = map[string]string{}
		if err := flatten(d, "", func(key, cell string) {
			rows[i][key] = cell
			if !known[key] {
				known[key] = true
				head = append(head, key)
			}
		}); err != nil {
			return err
		}
	}
	out := csv.NewWriter(w)
	out.Write(append([]string{"schema"}, head...))
	for _, row := range rows {
		cells := []string{strconv.Itoa(Schema)}
		for _, key := range head {
			cells = append(cells, row[key])
		}
		out.Write(cells)
	}
	out.Flush()
	return out.Error()
}

// flatten yields the keys and the cells of the next value.
func flatten(d *json.Decoder, key string, yield func(key, cell string)) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		for i := 0; d.More(); i++ {
			if t == '[' {
				inside := func(string, string) {}
				if outer, interval := strings.CutSuffix(key, "_ci"); interval && i < 2 {
					inside = func(_, cell string) { yield(outer+[...]string{"_low", "_high"}[i], cell) }
				}
				if err := flatten(d, "", inside); err != nil {
					return err
				}
				continue
			}
			name, err := d.Token()
			if err != nil {
				return err
			}
			inner := fmt.Sprint(name)
			if key != "" {
				inner = key + "_" + inner
			}
			if err := flatten(d, inner, yield); err != nil {
				return err
			}
		}
		_, err = d.Token()
		return err
	case nil:
		yield(key, "")
	default:
		yield(key, fmt.Sprint(t))
	}
	return nil
}
