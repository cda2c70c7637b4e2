# A cluster under FIFO. Standard input has the slots, then a line for each job: arrival and lengths of tasks.
# Prints the processor time of the simulation, and the mean sojourn time of the jobs.
import sys
import time
from SimPy.Simulation import Process, Resource, Simulation, hold, release, request


class Task(Process):
    def run(self, job, length):
        yield request, self, slots
        yield hold, self, length
        yield release, self, slots
        job.left -= 1
        if job.left == 0:
            sojourns.append(self.sim.now() - job.at)


class Job(Process):
    def run(self, lengths):
        self.at, self.left = self.sim.now(), len(lengths)
        for length in lengths:
            task = Task(sim=self.sim)
            self.sim.activate(task, task.run(self, length))
        return
        yield


lines = sys.stdin.read().splitlines()
cluster = Simulation()
cluster.initialize()
slots = Resource(capacity=int(lines[0]), sim=cluster)
sojourns = []
for line in lines[1:]:
    at, *lengths = map(float, line.split())
    job = Job(sim=cluster)
    cluster.activate(job, job.run(lengths), at=at)
before = time.process_time()
cluster.simulate(until=1e18)
print(time.process_time() - before, sum(sojourns) / len(sojourns))
