// A cluster under FIFO. Standard input has the slots, then a line for each job: arrival and lengths of tasks.
// Prints the processor time of the simulation, and the mean sojourn time of the jobs.
#include <cstdio>
#include <ctime>
#include <deque>
#include <iostream>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace sg = simgrid::s4u;

struct Job {
  double at;
  std::vector<double> lengths;
  size_t left;
};

struct Task {
  Job* job;
  double length;
};

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  auto* zone = sg::create_full_zone("zone");
  auto* host = zone->create_host("host", 1e9);
  zone->seal();

  int slots;
  std::string line;
  std::getline(std::cin, line);
  slots = std::stoi(line);
  std::deque<Job> jobs;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    Job job;
    in >> job.at;
    for (double length; in >> length;)
      job.lengths.push_back(length);
    job.left = job.lengths.size();
    jobs.push_back(job);
  }

  std::deque<Task> queue;
  auto waiting = sg::Semaphore::create(0);
  double sum = 0;
  for (int i = 0; i < slots; i++)
    sg::Actor::create("slot", host, [&] {
      for (;;) {
        waiting->acquire();
        Task task = queue.front();
        queue.pop_front();
        sg::this_actor::sleep_for(task.length);
        if (--task.job->left == 0)
          sum += sg::Engine::get_clock() - task.job->at;
      }
    })->daemonize();
  auto bring = sg::Actor::create("jobs", host, [&] {
    for (auto& job : jobs) {
      sg::this_actor::sleep_until(job.at);
      for (double length : job.lengths) {
        queue.push_back({&job, length});
        waiting->release();
      }
    }
    for (auto& job : jobs) // daemons end with the last actor
      while (job.left > 0)
        sg::this_actor::sleep_for(1);
  });
  clock_t before = clock();
  engine.run();
  std::printf("%.9f %.9f\n", double(clock() - before) / CLOCKS_PER_SEC, sum / jobs.size());
}
