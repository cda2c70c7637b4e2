// Package leastwork is the policy to start with.
package leastwork
