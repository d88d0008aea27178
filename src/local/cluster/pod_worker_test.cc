#include "local/cluster/pod_worker.h"

#include <gtest/gtest.h>

#include "base/yaml.h"
#include "local/api/json_access.h"
#include "local/cluster/model_runtime.h"

namespace mainstay::local {
namespace {

using std::chrono::seconds;

// One pod with one container "main", stepped by hand.
class PodWorkerTest : public testing::Test {
 protected:
  void makeWorker(const std::string& restartPolicy) {
    pod_ = parseYaml("metadata: {name: p, namespace: ns, uid: u}\nspec: {restartPolicy: " + restartPolicy +
                         ", containers: [{name: main, image: any}]}",
                     "test")
               .value()
               .at(0)
               .value;
    worker_ = std::make_unique<PodWorker>(
        pod_, PodSite{}, runtime_, [](const std::string&) { return std::nullopt; }, CrashBackOff{}, now_);
  }
  void step(Duration after = Duration(0)) {
    now_ += after;
    wake_ = worker_->step(pod_, now_);
  }
  void markDeleted(int grace) {
    pod_.get_object()["metadata"].get_object()["deletionTimestamp"] = formatTime(now_);
    pod_.get_object()["metadata"].get_object()["deletionGracePeriodSeconds"] = grace;
  }
  const ContainerRecord& container() { return worker_->record().containers.at(0); }
  std::string phase() { return phaseOf(worker_->record()); }

  std::vector<ModelRun> runs_;  // by restart; the last one goes on
  ModelRuntime runtime_{[this](const ContainerSpec& spec, TimePoint) {
    return runs_.empty()
               ? ModelRun{}
               : runs_.at(std::min<std::size_t>(static_cast<std::size_t>(spec.restart), runs_.size() - 1));
  }};
  TimePoint now_{seconds(1000)};
  TimePoint wake_{};
  Json pod_;
  std::unique_ptr<PodWorker> worker_;
};

TEST_F(PodWorkerTest, IsPendingUntilItsContainerStarts) {
  makeWorker("Never");
  EXPECT_EQ(phase(), "Pending");
  step();
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(worker_->takeEvents().at(0).reason, "Started");
}

TEST_F(PodWorkerTest, EndsAsItsContainersDoWhenItNeverRestarts) {
  for (const int code : {0, 3}) {
    runs_ = {{.lasts = seconds(5), .exitCode = code, .message = "bye"}};
    makeWorker("Never");
    step();
    step(seconds(5));
    EXPECT_EQ(phase(), code == 0 ? "Succeeded" : "Failed");
    EXPECT_EQ(container().ended->code, code);
    EXPECT_EQ(container().ended->message, "bye");
    EXPECT_EQ(container().ended->reason, code == 0 ? "Completed" : "Error");
  }
}

TEST_F(PodWorkerTest, OnFailureRestartsAFailureAtOnceAndEndsWithSuccess) {
  runs_ = {{.lasts = seconds(5), .exitCode = 1}, {.lasts = seconds(5)}};
  makeWorker("OnFailure");
  step();
  step(seconds(5));
  EXPECT_EQ(container().state, ContainerRecord::State::kRunning);
  EXPECT_EQ(container().restarts, 1);
  EXPECT_EQ(container().ended->code, 1);
  EXPECT_EQ(phase(), "Running");
  step(seconds(5));
  EXPECT_EQ(phase(), "Succeeded");
}

TEST_F(PodWorkerTest, BacksOffFromTheSecondRestartOnTwiceAsLongEachTime) {
  runs_ = {{.lasts = seconds(1), .exitCode = 1}};
  makeWorker("OnFailure");
  step();
  step(seconds(1));  // fails, restarts at once
  for (const Duration pause :
       {seconds(10), seconds(20), seconds(40), seconds(80), seconds(160), seconds(300), seconds(300)}) {
    step(seconds(1));
    EXPECT_EQ(container().waitingReason, "CrashLoopBackOff");
    EXPECT_EQ(wake_ - now_, pause);
    EXPECT_EQ(phase(), "Running");
    step(pause);
    EXPECT_EQ(container().state, ContainerRecord::State::kRunning);
  }
  EXPECT_EQ(container().restarts, 8);
}

TEST_F(PodWorkerTest, ForgivesAContainerThatRanForLong) {
  runs_ = {{.lasts = seconds(1), .exitCode = 1}, {.lasts = seconds(1000), .exitCode = 1}, {}};
  makeWorker("Always");
  step();
  step(seconds(1));
  step(seconds(1000));
  EXPECT_EQ(container().state, ContainerRecord::State::kRunning);
}

TEST_F(PodWorkerTest, ADeletedPodIsAskedAndThenKilled) {
  runs_ = {{.afterTerm = std::nullopt}};
  makeWorker("Always");
  step();
  markDeleted(30);
  step();
  EXPECT_FALSE(worker_->quiet());
  EXPECT_EQ(wake_ - now_, seconds(30));
  step(seconds(30));
  EXPECT_TRUE(worker_->quiet());
  EXPECT_EQ(container().ended->code, 137);
}

TEST_F(PodWorkerTest, AnObedientContainerEndsWithItsOwnCode) {
  runs_ = {{.afterTerm = seconds(2)}};
  makeWorker("Always");
  step();
  markDeleted(30);
  step();
  step(seconds(2));
  EXPECT_TRUE(worker_->quiet());
  EXPECT_EQ(container().ended->code, 143);
}

TEST_F(PodWorkerTest, AShortenedGracePeriodKillsAtOnce) {
  runs_ = {{.afterTerm = std::nullopt}};
  makeWorker("Always");
  step();
  markDeleted(30);
  step();
  markDeleted(0);
  step(seconds(1));
  EXPECT_TRUE(worker_->quiet());
}

TEST_F(PodWorkerTest, RefusesInitContainers) {
  makeWorker("Always");
  pod_.get_object()["spec"].get_object()["initContainers"] = JsonArray{{{"name", "first"}}};
  PodWorker worker(
      pod_, PodSite{}, runtime_, [](const std::string&) { return std::nullopt; }, CrashBackOff{}, now_);
  EXPECT_EQ(worker.step(pod_, now_), kNever);
  EXPECT_EQ(findString(podStatus(worker.record(), nullptr, now_), "reason"), "InitContainersNotModelled");
}

TEST(PodStateTest, StatusNamesStateLastStateAndReadiness) {
  const TimePoint now{seconds(5000)};
  PodRecord record;
  record.podAddress = "127.1.2.3";
  record.started = now;
  ContainerRecord& container = record.containers.emplace_back();
  container.name = "main";
  container.state = ContainerRecord::State::kRunning;
  container.started = now;
  container.restarts = 2;
  container.ended = EndedContainer{7, "Error", "why", now, now};
  const Json status = podStatus(record, nullptr, now);
  const Json main = arrayAt(status, "containerStatuses").at(0);
  EXPECT_EQ(findString(status, "phase"), "Running");
  EXPECT_EQ(findString(status, "podIP"), "127.1.2.3");
  EXPECT_EQ(integerAt(main, "restartCount"), 2);
  EXPECT_EQ(findString(main, "state", "running", "startedAt"), "1970-01-01T01:23:20Z");
  EXPECT_EQ(integerAt(main, "lastState", "terminated", "exitCode"), 7);
  EXPECT_EQ(findString(arrayAt(status, "conditions").at(2), "status"), "True");

  const PodRecord back =
      readPodRecord({{"status", status}, {"spec", {{"containers", JsonArray{{{"name", "main"}}}}}}}, now);
  EXPECT_EQ(back.containers.at(0).restarts, 2);
  EXPECT_EQ(back.containers.at(0).ended->reason, "ContainerStatusUnknown");
}

}  // namespace
}  // namespace mainstay::local
