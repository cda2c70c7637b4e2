package workload

import (
	"fmt"
	"iter"
	"slices"
)

// wikipediaMB has the sizes of the 27 files that the experiments of the MarS paper
// read, in MB. The paper gives their number, the least and the greatest, the sum of
// 43.7 GB, and that the 10 files of job set 1 are below 1 GB. The other sizes are
// assumed: below 1 GB they grow by equal ratios, and above by growing ratios, so that
// the sum is right.
var wikipediaMB = [...]int{
	149, 182, 222, 271, 331, 405, 494, 603, 737, 900,
	1049, 1050, 1052, 1053, 1060, 1075, 1102, 1146, 1218, 1329, 1499, 1762, 2175, 2845, 3982, 6029, 9980,
}

// wikipediaSet1 is the number of files in job set 1, the smallest ones.
const wikipediaSet1 = 10

// wikipediaMaps returns the number of map tasks of a file: one for each whole split of
// 64 MiB. With half as many reduces, rounded down too, there are 951 tasks in all, and 950
// in Figure 20; rounded up there would be 990 and more.
func wikipediaMaps(megabytes int) int { return int(int64(megabytes) * 1_000_000 / splitBytes) }

// marsWikipedia is the workload of the experiments on EC2 and on a local cluster.
func marsWikipedia() *Generator {
	const source = "MarS, Section 6.2"
	options := slices.Concat(
		[]Option{option("set", "2", integers(1, 2), "1: a job for each of the 10 smallest files; 2: for all 27", source)},
		marsOptions("random", "random", "0.0168", "assumed: 64 MiB of output take 1.34 s at 400 Mbps; at 1 Gbps it is 0.0067"),
		weightOptions("30", "10", "Section 5.1 (4)"),
		loadOptions("none", "the releases of the paper", "16", source),
	)
	options = slices.DeleteFunc(options, func(o Option) bool { return o.Name == "counts" || o.Name == "maps" || o.Name == "reduces" })
	for _, o := range []struct{ name, value, source string }{
		{"map-time", "80s", "Section 6.3, Figure 20: around 80 s"},
		{"map-sd", "8s", "assumed: around 80 s"},
		{"reduce-time", "200s", "assumed: Section 6.3, Figure 20 has most of them over 150 s"},
		{"reduce-sd", "40s", "assumed: nine in ten are then over 150 s"},
	} {
		i := slices.IndexFunc(options, func(x Option) bool { return x.Name == o.name })
		options[i].Default, options[i].Source = o.value, o.source
	}
	return &Generator{
		Name:    "mars-wikipedia",
		Doc:     "WordCount over the files of Wikipedia, in an order drawn anew: a map task for each 64 MiB, half as many reduce tasks.",
		Source:  source + " and Figures 18 to 21",
		Cluster: "16x1",
		Options: options,
		model: func(d draws, v values) (iter.Seq[*draft], error) {
			if err := checkMars(v); err != nil {
				return nil, err
			}
			return d.marsFiles(v), nil
		},
	}
}

// marsFiles yields a job for each file, in random order.
func (d draws) marsFiles(v values) iter.Seq[*draft] {
	return func(yield func(*draft) bool) {
		files := wikipediaMB[:]
		if v.integer("set") == 1 {
			files = files[:wikipediaSet1]
		}
		turn := d.stream(order, 0).Perm(len(files))
		at := d.releases(v, len(files))
		for i, file := range turn {
			maps := wikipediaMaps(files[file])
			j := d.marsJobOf(v, i, maps, maps/2)
			j.job.Name = fmt.Sprintf("%d MB", files[file])
			j.job.Weight = jobWeight(v).draw(d.stream(weights, i))
			j.at = at[i]
			if !yield(j) {
				return
			}
		}
	}
}
