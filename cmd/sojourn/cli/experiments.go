package cli

// experiments returns what 'sojourn paper' knows. This is the one place where an
// experiment is added.
func experiments() []experiment {
	known := []experiment{
		{
			name:    "hfsp-fig6",
			title:   "mean response time on DEV, TEST and PROD",
			source:  "HFSP (Pastorelli et al.), Figure 6 and Section IV-C1",
			measure: measureDist("", "mean response time (s)", sojournTime, distMean),
			workloads: []paperWorkload{
				{"DEV", "hfsp-dev", ""},
				{"TEST", "hfsp-test", ""},
				{"PROD", "hfsp-prod", ""},
			},
			rows: []paperRow{
				{workload: "DEV", policy: "fifo"},
				{workload: "DEV", policy: "fair"},
				{workload: "DEV", policy: "fsp"},
				{workload: "DEV", policy: "fifo", over: "fair", claim: above},
				{workload: "DEV", policy: "fsp", over: "fair"},
				{workload: "TEST", policy: "fifo"},
				{workload: "TEST", policy: "fair"},
				{workload: "TEST", policy: "fsp"},
				{workload: "TEST", policy: "fifo", over: "fair", claim: above},
				{workload: "TEST", policy: "fsp", over: "fair"},
				{workload: "PROD", policy: "fifo"},
				{workload: "PROD", policy: "fair"},
				{workload: "PROD", policy: "fsp"},
				{workload: "PROD", policy: "fifo", over: "fair", claim: above,
					reason: "More work arrives than can be done, and fair sharing makes all jobs late, where FIFO spares those that came early."},
				{workload: "PROD", policy: "fsp", over: "fair"},
			},
			notes: []string{
				"Figure 6 is a bar chart; the text gives no means, but that HFSP's are 34 %, 26 % and 33 % below Fair's.",
				"Of FIFO the paper says only that it was drastically outperformed by all other schedulers (Section IV).",
				"FSP is the discipline that HFSP approximates. It knows sizes exactly and trains nothing, so that the paper's figures for HFSP are not its own.",
				"The paper gives no task times; 'sojourn gen hfsp-dev --options' lists what is assumed. The ratios depend much on the load, which is ours and may not be theirs.",
				"The paper has five seeds.",
			},
		},
	}
	known = append(known, hpfspExperiments()...)
	known = append(known, tdExperiments()...)
	return append(known, rtmrExperiments()...)
}
