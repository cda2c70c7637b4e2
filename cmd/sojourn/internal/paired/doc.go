// Package paired compares policies that ran the same jobs: by how much a number of one is above that of another, and how
// much of this may be chance. It draws blocks of jobs that follow one another, the same ones for all policies, and sees how
// their ratios change. What people read says the same wherever it stands.
package paired
