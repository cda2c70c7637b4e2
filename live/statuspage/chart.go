package statuspage

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Sizes of a chart in its own units. Browsers scale it.
const (
	chartWidth, chartHeight = 480, 170
	plotLeft, plotRight     = 40, 380 // the names of tenants are beside it
	plotTop, plotBottom     = 10, 148
	colours                 = 8
)

// A chart is a picture of the last hour by tenant, and the same as a table.
type chart struct {
	Title string
	SVG   template.HTML // made of numbers, and of names that are escaped
	Head  []string
	Rows  [][]string
	Note  string
}

// colour is the number of a tenant's colour.
func colour(number int) int { return max(number, 0) % colours }

// letters gives each tenant that is listed a letter of its own name, as long as there are some.
func (s *snap) letters() map[int]string {
	of, used := map[int]string{}, map[string]bool{}
	for _, t := range s.tenants {
		sign := "·"
		for _, r := range t.name {
			if c := strings.ToUpper(string(r)); (unicode.IsLetter(r) || unicode.IsDigit(r)) && !used[c] {
				sign = c
				break
			}
		}
		used[sign] = true
		of[t.number] = sign
	}
	return of
}

// charts draws what waited and what ran.
func (s *snap) charts() [2]chart {
	return [2]chart{
		s.chart("Tasks that wait, last hour", func(p part) int { return p.waiting }, func(x *sample) int { return x.waiting }, 0),
		s.chart(fmt.Sprintf("Slots busy, of %d, last hour", len(s.st.Slots)), func(p part) int { return p.running }, func(x *sample) int { return x.running }, len(s.st.Slots)),
	}
}

// chart stacks a number of each tenant. The axis goes up to least at least.
func (s *snap) chart(title string, of func(part) int, all func(*sample) int, least int) chart {
	c := chart{Title: title}
	points := append(slices.Clone(s.hour), s.present())
	sum, tenants := map[*who]int{}, []*who{}
	for i := range points {
		for _, p := range points[i].of {
			if p.who != nil && p.number >= 0 && of(p) > 0 { // several tenants are among the others
				if sum[p.who] == 0 {
					tenants = append(tenants, p.who)
				}
				sum[p.who] += of(p)
			}
		}
	}
	slices.SortStableFunc(tenants, func(a, b *who) int { return sum[b] - sum[a] })
	if len(tenants) > 7 {
		tenants = tenants[:7]
	}
	slices.SortFunc(tenants, func(a, b *who) int { return a.number - b.number })
	top := max(1, least)
	for i := range points {
		top = max(top, all(&points[i]))
	}
	const end = samples * float64(sampleEvery)
	x := func(p *sample) float64 {
		return plotRight - float64(float64(s.now.Sub(p.at))/end*(plotRight-plotLeft))
	}
	y := func(v float64) float64 { return plotBottom - float64(v/float64(top)*(plotBottom-plotTop)) }

	// heights[k] has the height of the stack below and above layer k, by point; the last layer is all others.
	heights := make([][]float64, len(tenants)+2)
	for i := range points {
		at, in := 0.0, map[*who]int{}
		for _, p := range points[i].of {
			if p.who != nil {
				in[p.who] = of(p)
			}
		}
		for k, t := range tenants {
			heights[k] = append(heights[k], at)
			at += float64(in[t])
		}
		heights[len(tenants)] = append(heights[len(tenants)], at)
		heights[len(tenants)+1] = append(heights[len(tenants)+1], max(at, float64(all(&points[i]))))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, chartWidth, chartHeight, template.HTMLEscapeString(title+": the table below has the same"))
	for _, v := range []int{0, top / 2, top} {
		fmt.Fprintf(&b, `<path class="grid" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`, plotLeft, y(float64(v)), plotRight, plotLeft-5, y(float64(v))+4, brief(v))
	}
	type label struct {
		y     float64
		text  string
		class string
	}
	var labels []label
	step := max(1, (len(points)+119)/120)
	for k := 0; k <= len(tenants); k++ {
		low, high := heights[k], heights[k+1]
		if slices.Equal(low, high) {
			continue
		}
		class, name := "rest", "others"
		if k < len(tenants) {
			class, name = fmt.Sprint("c", colour(tenants[k].number)), tenants[k].name
		}
		fmt.Fprintf(&b, `<path class="area %s" d="`, class)
		var back []string
		for i := range points {
			if i%step != (len(points)-1)%step {
				continue
			}
			verb := "L"
			if len(back) == 0 {
				verb = "M"
			}
			fmt.Fprintf(&b, "%s%.1f %.1f", verb, x(&points[i]), y(high[i]))
			back = append(back, fmt.Sprintf("L%.1f %.1f", x(&points[i]), y(low[i])))
		}
		slices.Reverse(back)
		b.WriteString(strings.Join(back, ""))
		b.WriteString(`Z"/>`)
		if n := len(points) - 1; high[n] > low[n] {
			labels = append(labels, label{y((high[n] + low[n]) / 2), short40(name), class})
		}
	}
	slices.SortStableFunc(labels, func(a, b label) int { return int(100 * (b.y - a.y)) }) // from the bottom up
	const lineHeight = 14
	at := float64(plotBottom + lineHeight)
	for i := range labels {
		at = min(labels[i].y+4, at-lineHeight)
		labels[i].y = at
	}
	at = plotTop + 1
	for i := len(labels) - 1; i >= 0; i-- { // where they are above the plot, from the top down
		at = max(labels[i].y, at)
		labels[i].y = at
		at += lineHeight
	}
	for _, l := range labels {
		fmt.Fprintf(&b, `<text class="end %s" x="%d" y="%.1f">%s</text>`, l.class, plotRight+5, l.y, template.HTMLEscapeString(narrow(l.text)))
	}
	for i := 0; i <= 4; i++ {
		at := s.now.Add(-samples * sampleEvery / 4 * time.Duration(4-i))
		anchor := [...]string{"start", "middle", "middle", "middle", "middle"}[i]
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="%s">%s</text>`, plotLeft+float64(float64(i)/4*(plotRight-plotLeft)), chartHeight-6, anchor, s.wallAt(at).Format("15:04"))
	}
	b.WriteString(`</svg>`)
	c.SVG = template.HTML(b.String())
	c.Head = []string{"Time", "All"}
	for _, t := range tenants {
		c.Head = append(c.Head, shown(t.name))
	}
	for i := len(points) - 1; i >= 0; i -= 30 {
		row := []string{s.clock(points[i].at), count(all(&points[i]))}
		for k := range tenants {
			row = append(row, count(int(heights[k+1][i]-heights[k][i])))
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

// narrow shortens a name in the middle, since names often differ at their ends: to the width of 12 common letters.
func narrow(name string) string {
	const most = 12
	wide := func(r rune) float64 {
		switch {
		case r >= 0x1100 || r == 'W' || r == 'M' || r == '@':
			return 2
		case r > 0x7f || unicode.IsUpper(r) || r == 'w' || r == 'm':
			return 1.4
		}
		return 1
	}
	list, sum := []rune(name), 0.0
	for _, r := range list {
		sum += wide(r)
	}
	if sum <= most {
		return name
	}
	from, to, left := 0, len(list), most-1.0
	for { // a letter of the beginning, then one of the end
		if left -= wide(list[from]); left < 0 {
			break
		}
		from++
		if left -= wide(list[to-1]); left < 0 {
			break
		}
		to--
	}
	return string(list[:from]) + "…" + string(list[to:])
}

// present is the sample of now.
func (s *snap) present() sample {
	x := sample{at: s.now, waiting: s.all.Waiting, running: s.all.Busy}
	var all []part
	for i := range s.tenants {
		all = append(all, part{s.tenants[i].who, s.tenants[i].Waiting, s.tenants[i].Busy})
	}
	n := copy(x.of[:largest], all)
	all = all[n:]
	slices.SortStableFunc(all, func(a, b part) int { return cmp.Compare(b.running, a.running) })
	copy(x.of[largest:], all)
	return x
}

// cmpName names a tenant.
func cmpName(name string) string {
	if name == "" {
		return noTenant
	}
	return name
}

// brief writes a number for an axis: "412", "5,016", "12k", "1.2M".
func brief(n int) string {
	switch {
	case n >= 1_000_000:
		return number(float64(n)/1e6) + "M"
	case n >= 10_000:
		return number(float64(n)/1e3) + "k"
	}
	return count(n)
}
