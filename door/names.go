package door

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is how many bytes of a name are kept as they are.
const maxName = 64

// element returns a name that a policy can have, for one that a stranger may have made up: the same if it is short and has no
// character that means something elsewhere, and otherwise a hash. Different names have different ones.
func element(name string) string {
	if name == "" {
		return nobody
	}
	plain := len(name) <= maxName
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		plain = plain && (letter || strings.IndexByte("-_.@+:= ", c) >= 0)
	}
	if plain {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "~" + hex.EncodeToString(sum[:16]) // no plain name has a ~
}

// maxPath is how many names a path has at most; the last one has the rest.
const maxPath = 4

// poolName returns the pool of a tenant.
func poolName(tenant string, paths bool) string {
	if !paths {
		return element(tenant)
	}
	list := strings.SplitN(tenant, "/", maxPath)
	for i := range list {
		list[i] = element(list[i])
	}
	return strings.Join(list, "/")
}

// session is between the name of a tenant and that of a session: no name begins so. Package statuspage counts sessions with their tenants.
const session = "/~s:"

// nobody is the name of what has none.
const nobody = "~anonymous"

// others is the tenant that all count as beyond MaxTenants.
const others = "~others"
