// Package browsertest opens the pages that sojourn makes in a browser, and clicks: the report of
// recorded runs, and the page of package live/statuspage. It has only tests, which need Chromium:
//
//	apt-get install chromium
//	go test .
//
// With -shots DIR they also write what they see to DIR, for people to look at. With -axe FILE, which is axe.min.js of axe-core, they also run
// its checks of accessibility: version 4.7.2 finds nothing.
//
// Each page is opened with a script that notes every text that is drawn on a canvas and where,
// so that tests know what a reader sees there: which time an axis shows, whether a label is cut off, or whether it lies
// on another one. What is expected is computed from the data, not from the page's own program.
package browsertest
