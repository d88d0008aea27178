// A host in memory for tests of probes: files that change from look to look, and scripted calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/probes/probe.h"

namespace mainstay::agent::probes::testing {

// A probe over a tree that the test changes. Looks are a minute apart unless told otherwise.
class ProbeBench {
 public:
  explicit ProbeBench(const ProbeKind& kind, HostCalls calls = {}, std::string instanceType = "");

  ProbeBench& put(const std::string& path, const std::string& content);
  ProbeBench& remove(const std::string& path);  // a file, or a folder with all in it
  ProbeBench& deny(const std::string& path);    // reading it is refused

  // What this look sees: "reason device" each.
  std::vector<std::string> look(Duration later = std::chrono::minutes(1));
  const Look& last() const { return last_; }
  // The message of the last look's sighting; "" when there is none.
  std::string message(const std::string& reason) const;

 private:
  FakeFileSystem files_;
  std::unique_ptr<Probe> probe_;
  TimePoint now_;
  Look last_;
};

}  // namespace mainstay::agent::probes::testing
