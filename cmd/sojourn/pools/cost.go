package pools

import (
	"maps"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// cost reads what a slot of each class takes of the resources of the cluster, by their names.
// A resource that a class does not name is one that it takes nothing of.
func (d *decoder) cost() (fair.Cost, error) {
	parts := map[sojourn.Class]map[string]uint32{}
	names := map[string]bool{}
	_, err := d.object("cost", func(key string, off int) error {
		class, err := classOf(key)
		if err != nil {
			return faultf(off, "cost: %v", err)
		}
		if parts[class] != nil {
			return faultf(off, "cost: class %d is given twice", class)
		}
		parts[class] = map[string]uint32{}
		at, err := d.object("cost of "+key, func(resource string, off int) error {
			part, err := d.part(resource)
			if names[resource] = true; err == nil && len(names) > fair.MaxResources {
				err = faultf(off, "cost: more than %d resources", fair.MaxResources)
			}
			parts[class][resource] = part
			return err
		})
		if err == nil && len(parts[class]) == 0 {
			err = faultf(at, "cost of %s: want a part of some resource", key)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	cost := fair.Cost{}
	for class, of := range parts {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			cost[class] = append(cost[class], of[name])
		}
	}
	return cost, nil
}

// part reads a part of the cluster, in units of 2^-32. The least that can be said is one unit, the
// most 2^32-1 of them.
func (d *decoder) part(what string) (uint32, error) {
	f, off, err := d.number(what)
	if err != nil {
		return 0, err
	}
	if !(f > 0 && f <= 1) {
		return 0, faultf(off, "%s: want a part of the cluster above 0 and up to 1, found %v", what, f)
	}
	return uint32(min(max(math.Round(f*(1<<32)), 1), math.MaxUint32)), nil
}
