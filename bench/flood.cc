// mainstay-flood SOCKET RATE SECONDS FAULTS: a kernel log at SOCKET into which RATE ordinary lines a second are printed, with
// FAULTS lines "mainstay-flood fault N of FAULTS" spread evenly among them, once a reader has opened it. Ends when all is
// read or ten seconds after the last line, and prints one JSON object: how many were written, and the record number of each
// fault.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "local/cluster/kernel_log_socket.h"

namespace {

using std::chrono::steady_clock;

constexpr std::size_t kRing = 8u << 20;  // log_buf_len of a large machine
constexpr auto kTick = std::chrono::milliseconds(1);

struct Plan {
  std::string socket;
  long rate;
  long seconds;
  long faults;
  long lines() const { return rate * seconds; }
};

std::string textOf(const Plan& plan, long line, std::vector<long>& faults) {
  const long every = plan.lines() / (plan.faults + 1);
  const long fault = static_cast<long>(faults.size()) + 1;
  if (fault <= plan.faults && line == fault * every) {
    faults.push_back(line);
    return "mainstay-flood fault " + std::to_string(fault) + " of " + std::to_string(plan.faults);
  }
  return "docker0: port " + std::to_string(line % 4096) + "(veth" + std::to_string(line) +
         ") entered forwarding state";
}

// Line by line at the rate, in ticks of a millisecond.
std::vector<long> pour(const Plan& plan, mainstay::local::KernelRing& ring, const mainstay::Clock& clock) {
  std::vector<long> faults;
  const auto began = steady_clock::now();
  for (long line = 0; line < plan.lines();) {
    const double since = std::chrono::duration<double>(steady_clock::now() - began).count();
    const long due = std::min(plan.lines(), static_cast<long>(since * static_cast<double>(plan.rate)));
    for (const mainstay::TimePoint now = clock.now(); line < due; ++line) {
      ring.print({.level = 6, .text = textOf(plan, line, faults)}, now);
    }
    std::this_thread::sleep_for(kTick);
  }
  return faults;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace mainstay;
  if (argc != 5) {
    std::cerr << "usage: mainstay-flood SOCKET RATE SECONDS FAULTS\n";
    return 2;
  }
  const Plan plan{argv[1], std::atol(argv[2]), std::atol(argv[3]), std::atol(argv[4])};
  const SteadyWallClock clock;
  const auto ring = std::make_shared<local::KernelRing>(clock.now() - timeSinceBoot(), kRing);
  const auto log = local::KernelLogSocket::listen(plan.socket, ring);
  if (!log) {
    std::cerr << "mainstay-flood: " << log.error().toString() << "\n";
    return 1;
  }
  std::cout << "ready" << std::endl;
  std::string go;
  std::getline(std::cin, go);
  const auto began = steady_clock::now();
  const std::vector<long> faults = pour(plan, *ring, clock);
  const double took = std::chrono::duration<double>(steady_clock::now() - began).count();
  std::cout << "{\"written\": " << plan.lines() << ", \"seconds\": " << took << ", \"faults\": [";
  for (std::size_t i = 0; i < faults.size(); ++i) {
    std::cout << (i == 0 ? "" : ", ") << faults[i];
  }
  std::cout << "]}" << std::endl;
  std::getline(std::cin, go);  // readers may read to the end
  return 0;
}
