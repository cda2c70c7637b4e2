//go:build all

package certify_test

// priceLists is how many price lists are tried.
const priceLists = 1_000_000

// forgedPlans is how many plans are forged.
const forgedPlans = 5000
