// For tests: AWS in small, on loopback, and surroundings that reach nothing else.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/http_server.h"
#include "cloud/aws/surroundings.h"

namespace mainstay::cloud::aws {

// Auto Scaling, EC2, CloudWatch and STS as far as api.h calls them, over the Query protocol, with one group "workers" of
// three instances in us-west-2b. It does what other stand-ins for AWS do not: replaces what is unhealthy, and has all that keeps
// a group from doing so. Thread-safe; what is under way happens in settle().
class FakeAws {
 public:
  FakeAws();
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }

  // Terminates and launches until nothing more can be done.
  void settle();
  void suspend(const std::string& process, const std::string& reason);
  void resume(const std::string& process);
  // Holds what terminates in Terminating:Wait, until it is taken away.
  void setTerminationHook(bool on);
  // Makes launches fail with these words; "" = there is room.
  void setCapacityTrouble(const std::string& words);
  void setLifecycle(const std::string& id, const std::string& lifecycle);
  void setEc2State(const std::string& id, const std::string& state);
  // Takes an instance out of the group; it runs on.
  void detach(const std::string& id);
  // Takes every trace of an instance away, as EC2 does after an hour.
  void forget(const std::string& id);
  void forgetAll();
  // SetInstanceHealth is accepted and changes nothing.
  void setDeaf(bool on);
  // Lists come in pages of this many; 0 = whole.
  void setPageSize(int size);
  // The next answer, instead of ours; several queue up.
  void answerWith(HttpResponse response);

  // Every request so far, with its parameters.
  std::vector<HttpRequest> requests();
  std::vector<std::string> actions();
  // As an IAM policy writes them: "autoscaling:SetInstanceHealth".
  std::set<std::string> permissionsUsed();

 private:
  struct Machine {
    std::string group;
    std::string lifecycle = "InService";
    std::string health = "Healthy";
    std::string state = "running";
    TimePoint launched{};
  };
  void launch();
  void note(const std::string& status, const std::string& description, const std::string& message);
  bool terminateUnhealthy();
  HttpResponse answer(const HttpRequest& request);
  std::string resultOf(const std::string& action, const Query& query);
  std::string describeMembers(const Query& query) const;
  std::string describeGroups(const Query& query) const;
  std::string describeMachines(const Query& query) const;
  std::string describeActivities(const Query& query) const;
  std::string describeStatus(const Query& query) const;
  std::string setHealth(const Query& query);

  std::mutex mutex_;
  std::map<std::string, Machine> machines_;
  std::map<std::string, std::string> suspended_;
  std::vector<std::string> activities_;  // as XML, newest first
  bool hook_ = false;
  bool deaf_ = false;
  std::string capacityTrouble_;
  int pageSize_ = 0;
  int serial_ = 0;
  std::deque<HttpResponse> scripted_;
  std::vector<HttpRequest> requests_;
  std::unique_ptr<HttpServer> server_;  // last: its threads use all of the above
};

// An error answer in the form of Auto Scaling and CloudWatch.
HttpResponse awsError(int status, const std::string& code, const std::string& message);

class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return time; }
  TimePoint time = TimePoint(std::chrono::hours(500000));  // in 2027
};

// What a program would be given, from variables and files in memory. Waits take no time and are written down; any address
// but loopback is refused.
struct TestSurroundings {
  TestSurroundings();
  // Names the fake as every service's endpoint, and keys.
  explicit TestSurroundings(const FakeAws& aws);
  Surroundings get();
  void addFile(const std::string& path, const std::string& content);

  std::map<std::string, std::string> environment;
  FakeFileSystem files;
  ManualClock clock;
  std::vector<Duration> pauses;
  Transport send;  // replaced by tests that need no server
};

}  // namespace mainstay::cloud::aws
