// Package driver is the loop between a policy and workers. Use it if you have a queue with
// workers of your own, in any form: goroutines, processes, machines. If the work is Go
// functions in this process, package live does the rest as well.
//
// Tier: stable.
//
//	d, err := driver.New(policy, driver.Options{Now: func() sojourn.Time { return sojourn.Time(time.Since(start)) }})
//	...
//	for {
//		r := d.Settle() // after one or more events
//		for _, a := range r.Starts {
//			launch(a)
//		}
//		for _, v := range r.Kills {
//			stop(v) // and report the end when it comes, or driver.Pinned(v) if it may not be stopped
//		}
//		select {
//		case a := <-done:
//			err = d.Observe(driver.Finished(a))
//		case job := <-arrivals:
//			err = d.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
//		case <-time.After(r.Sleep):
//		}
//	}
//
// A [Driver] keeps account of the slots for its owner: which ones are free, which attempt
// runs where, and which attempts are being killed. A slot without work stays
// with the driver. It is offered again when an event or an assignment may have changed the
// answer, so a worker asks for nothing: it waits until it is given something.
//
// # The owner's part
//
// The owner reports what happens by [Driver.Observe], calls [Driver.Settle], and does what
// the [Round] says. Events of one instant may be reported together before one Settle. The
// timer is a value, [Round.Sleep]: the owner calls Settle again when that time has passed,
// whether something happened or not. To arm a time.Timer anew after each Settle is enough.
//
// If an attempt cannot be started, the owner reports [Refused]. To cancel a job, the owner
// reports JobCancelled and stops the attempts of the job in its own way. Each of these ends by
// an event of its own, and holds its slot until then.
//
// A Driver is not safe for concurrent use. If several goroutines report, one lock guards the
// driver, and the owner holds it from Observe until the end of Settle. The driver reads the
// clock in these calls. Time therefore does not run backwards between two reports. If the
// clock jumps back, time goes on from where it was.
//
// # Cost
//
// The driver allocates only while its tables grow. If a class has one free slot, the slot is
// offered without a Seek. In a busy cluster, that is the slot that has just become free.
package driver
