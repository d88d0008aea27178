// Story: what an onlooker of the demo sees, in order, from the objects in the API server, the cloud's record
// and the trainer's own report; and what it adds up to. Pure: sightings in, rows and figures out.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/core.h"
#include "api/node_recovery.h"
#include "base/json.h"
#include "cli/output.h"

namespace mainstay::cli {

struct StoryRow {
  TimePoint at{};
  std::string who;  // a node, agent, controller, cloud, job
  std::string what;
  std::string why;    // "" when it speaks for itself
  std::string phase;  // of the incident whose reason is the why, which may be told later
};

class Story {
 public:
  Story(std::string job, std::string faultyNode) : job_(std::move(job)), node_(std::move(faultyNode)) {}

  // Where the fault was written; everything before it is the calm.
  void fault(TimePoint at, const std::string& line, int step);

  // Each new version of an object, when it was seen.
  void sawNode(const Json& object, TimePoint at);
  void sawRecovery(const Json& object, TimePoint at);
  void sawJob(const Json& object, TimePoint at);
  void sawCloud(const std::string& call, const std::string& instance, const std::string& detail,
                TimePoint at);
  // One line of rank 0's progress file; its own time counts.
  void sawProgress(const Json& line);

  // Rank 0's newest step, and whether training has ended.
  int step() const { return step_; }
  bool finished() const { return finished_.has_value(); }
  // The job is done and the incident closed.
  bool over() const { return finished() && closed_; }

  // In order of time, each with its why.
  std::vector<StoryRow> rows() const;
  // The timeline as a table, times since the fault.
  std::string timeline(const Palette& palette) const;

  // What must be so at the end. Each failed check is one sentence; none = the story went as it should.
  struct Expected {
    int checkpoint = 77;
    std::string sha256;  // of a run without a fault
    Duration faultToStep = std::chrono::seconds(5);
  };
  std::vector<std::string> failures(const Expected& expected) const;
  // The closing figures for people, and all of it as a document.
  std::string summary(const Expected& expected) const;
  Json document(const Expected& expected) const;

 private:
  void add(TimePoint at, std::string who, std::string what, std::string why = "");
  void addPhase(TimePoint at, std::string what, std::string phase);
  bool first(const std::string& sighting) { return seen_.insert(sighting).second; }
  void sawFaultyNode(const api::Node& node, TimePoint at);
  void sawReplacement();
  void sawResumedStep(int step, TimePoint at);
  // Seconds from one moment to a later one; nullopt unless both were seen.
  static std::optional<double> span(std::optional<TimePoint> from, std::optional<TimePoint> to);

  const std::string job_;
  const std::string node_;
  std::vector<StoryRow> rows_;
  std::set<std::string> seen_;
  std::optional<TimePoint> fault_;
  std::optional<TimePoint> detected_;
  std::optional<TimePoint> isolated_;
  std::optional<TimePoint> schedulable_;
  std::optional<TimePoint> nextStep_;
  std::map<std::string, std::string> reasons_;  // phase -> why, as the incident told
  int stepAtFault_ = 0;
  int stepReached_ = 0;  // before the group was stopped
  int step_ = 0;
  std::optional<int> resumedFrom_;
  std::optional<double> finished_;  // final loss
  std::string sha256_;
  std::string replacement_;
  std::map<std::string, TimePoint> schedulableSince_;  // nodes other than the faulty one
  std::string outcome_;
  int retry_ = 0;
  int terminated_ = 0;
  bool closed_ = false;
};

}  // namespace mainstay::cli
