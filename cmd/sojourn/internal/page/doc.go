// Package page writes reports as one HTML file that needs nothing else: no request, no link,
// no font. Use it to show results to people who have only a browser:
//
//	err := (&page.Report{
//		Title:   "fifo and fsp",
//		Verdict: []string{"fsp is better."},
//		Plots:   []page.Plot{{ID: "ecdf", Title: "...", Series: series}},
//	}).Write(file)
//
// A [Report] has a verdict, ratios of policies, plots, a Gantt chart and tables; what is empty is
// left out. The page draws pictures on canvases from compact data, in dark or light, and the same
// program draws them as SVG for a file and for paper. Texts are escaped, wherever they come from.
package page
