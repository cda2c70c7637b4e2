package fewest

import "github.com/sojourn-sched/sojourn/kit/snapshot"

func (p *Policy) header() snapshot.Header {
	return snapshot.Header{Policy: "fewest", Version: 1, Options: []snapshot.Option{snapshot.Opt("most", p.opts.Most)}}
}

// AppendBinary implements [sojourn.Snapshotter].
func (p *Policy) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) { p.Save(w, nil) })
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *Policy) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) { p.Restore(r, nil) })
}
