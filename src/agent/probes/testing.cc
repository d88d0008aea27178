#include "agent/probes/testing.h"

#include <gtest/gtest.h>

namespace mainstay::agent::probes::testing {

ProbeBench::ProbeBench(const ProbeKind& kind, HostCalls calls, std::string instanceType)
    : probe_(kind.make({HostFiles(files_), std::move(calls), std::move(instanceType)}, kind.defaults())),
      now_(*parseTime("2026-11-29T20:14:07Z")) {}

ProbeBench& ProbeBench::put(const std::string& path, const std::string& content) {
  files_.addFolder(path.substr(0, path.rfind('/')));
  EXPECT_TRUE(files_.write(path, content));
  return *this;
}

ProbeBench& ProbeBench::remove(const std::string& path) {
  files_.remove(path);
  return *this;
}

ProbeBench& ProbeBench::deny(const std::string& path) {
  files_.failOn(path, Error(Code::kPermissionDenied, "reading " + path + ": Permission denied"));
  return *this;
}

std::vector<std::string> ProbeBench::look(Duration later) {
  now_ += later;
  last_ = probe_->look(now_);
  std::vector<std::string> seen;
  for (const Sighting& sighting : last_.sightings) {
    seen.push_back(sighting.reason + (sighting.device.empty() ? "" : " " + sighting.device));
  }
  return seen;
}

std::string ProbeBench::message(const std::string& reason) const {
  for (const Sighting& sighting : last_.sightings) {
    if (sighting.reason == reason) {
      return sighting.message;
    }
  }
  return "";
}

}  // namespace mainstay::agent::probes::testing
