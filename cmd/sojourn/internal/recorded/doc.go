// Package recorded reads the folders that run, compare, sweep and plan wrote with -o, and makes
// pages of them:
//
//	r, err := recorded.Page(ctx, []string{"out"})
//	if err != nil {
//		return err
//	}
//	err = r.Write(file)
//
// It keeps one number per job and quantity, at most [MaxBoxes] tasks of each run, and a fixed
// number of points of each line, so that a run of many tasks becomes a page of bounded size. A
// folder that is not complete, or that another version wrote in another form, is an error.
package recorded
