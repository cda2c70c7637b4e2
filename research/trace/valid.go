package trace

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// maxJSONDepth is how deep encoding/json lets lists and objects be nested.
const maxJSONDepth = 10_000

// isJSON reports whether text is one JSON value, as json.Valid does, in a third of the time: it
// goes from token to token, and passes over strings by words.
func isJSON(text []byte) bool {
	end := validValue(text, blanks(text, 0), maxJSONDepth)
	return end >= 0 && blanks(text, end) == len(text)
}

// blanks returns the first place from i on that is not white space.
func blanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// validValue returns the place behind the value at i, in which lists and objects are nested at
// most so deep, or -1 if there is no such value.
func validValue(text []byte, i, depth int) int {
	if i >= len(text) {
		return -1
	}
	switch b := text[i]; b {
	case '"':
		return validString(text, i)
	case '{', '[':
		if depth == 0 {
			return -1
		}
		return validMembers(text, i, depth)
	case 't':
		return validLiteral(text, i, "true")
	case 'f':
		return validLiteral(text, i, "false")
	case 'n':
		return validLiteral(text, i, "null")
	}
	return validNumber(text, i)
}

// validMembers returns the place behind the list or object at i, or -1.
func validMembers(text []byte, i, depth int) int {
	end := text[i] + ('}' - '{') // which is ']' - '[' too
	if i = blanks(text, i+1); i < len(text) && text[i] == end {
		return i + 1
	}
	for {
		if end == '}' {
			if i >= len(text) || text[i] != '"' {
				return -1
			}
			if i = validString(text, i); i < 0 {
				return -1
			}
			if i = blanks(text, i); i >= len(text) || text[i] != ':' {
				return -1
			}
			i = blanks(text, i+1)
		}
		if i = validValue(text, i, depth-1); i < 0 {
			return -1
		}
		i = blanks(text, i)
		switch {
		case i < len(text) && text[i] == ',':
			i = blanks(text, i+1)
		case i < len(text) && text[i] == end:
			return i + 1
		default:
			return -1
		}
	}
}

func validLiteral(text []byte, i int, word string) int {
	if end := i + len(word); end <= len(text) && string(text[i:end]) == word {
		return end
	}
	return -1
}

// validString returns the place behind the string at i, or -1.
func validString(text []byte, i int) int {
	for i = plain(text, i+1); i < len(text); i = plain(text, i) {
		switch {
		case text[i] == '"':
			return i + 1
		case text[i] != '\\' || i+1 == len(text):
			return -1
		case text[i+1] == 'u':
			if len(text) < i+6 || strings.Trim(string(text[i+2:i+6]), "0123456789abcdefABCDEF") != "" {
				return -1
			}
			i += 6
		case strings.IndexByte(`"\/bfnrt`, text[i+1]) >= 0:
			i += 2
		default:
			return -1
		}
	}
	return -1
}

// plain returns the first place from i on of a quote, a backslash or a control character, which
// are what a JSON string does not hold as they are; len(text) if there is none.
func plain(text []byte, i int) int {
	const ones = 0x0101010101010101
	for ; i+8 <= len(text); i += 8 {
		// The lowest byte with its high bit in one of the three terms is the first such byte.
		w := binary.LittleEndian.Uint64(text[i:])
		quote, slash := w^ones*'"', w^ones*'\\'
		if found := ((w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash) & (ones << 7); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(text) && text[i] >= ' ' && text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}

// validNumber returns the place behind the number at i, or -1.
func validNumber(text []byte, i int) int {
	if text[i] == '-' {
		i++
	}
	start := i
	if i = digits(text, i); i == start || text[start] == '0' && i > start+1 {
		return -1
	}
	if i < len(text) && text[i] == '.' {
		start = i + 1
		if i = digits(text, start); i == start {
			return -1
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		start = i
		if i = digits(text, i); i == start {
			return -1
		}
	}
	return i
}

// digits returns the first place from i on that is no digit.
func digits(text []byte, i int) int {
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	return i
}
