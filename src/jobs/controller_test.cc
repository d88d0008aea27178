#include "jobs/controller.h"

#include <gtest/gtest.h>

#include "api/names.h"
#include "jobs/records.h"
#include "jobs/test_cluster.h"

namespace mainstay::jobs {
namespace {

constexpr TimePoint kStart{std::chrono::hours(24)};

class JobControllerTest : public testing::Test {
 protected:
  // Steps until nothing more is written; a controller that never comes to rest fails the test.
  void settle() {
    for (int i = 0; i < 20; ++i) {
      const std::size_t before = cluster.api.writes.size();
      now += std::chrono::seconds(1);
      controller->step(now);
      if (cluster.api.writes.size() == before) {
        return;
      }
    }
    ADD_FAILURE() << "the controller writes without end";
  }
  void restart() {
    controller = std::make_unique<Controller>(cluster.api, "host", [this] { return leading; });
  }
  std::vector<std::string> patched() const {
    std::vector<std::string> paths;
    for (const kube::ApiRequest& write : cluster.api.writes) {
      if (write.method == "PATCH") {
        paths.push_back(write.path);
      }
    }
    return paths;
  }
  Json entry() const {
    const Json* jobs = find(cluster.api.at(api::kNodeRecoveries, "", "i1"), "status", "jobs");
    return jobs && !jobs->get_array().empty() ? jobs->get_array().at(0) : Json();
  }

  TestCluster cluster;
  bool leading = true;
  TimePoint now = kStart;
  std::unique_ptr<Controller> controller =
      std::make_unique<Controller>(cluster.api, "host", [this] { return leading; });
};

std::string jobPath() {
  return api::kPyTorchJobs.path(kKubeflow, "mini");
}

TEST_F(JobControllerTest, TakesAJobFromTheFaultToTheRestart) {
  settle();
  EXPECT_TRUE(cluster.api.writes.empty());

  cluster.openIncident("i1", "b");
  settle();
  EXPECT_TRUE(cluster.suspended());
  EXPECT_EQ(cluster.state().retry, 1);
  EXPECT_EQ(findString(entry(), "state"), kRecordStopped);
  EXPECT_EQ(toText(*find(entry(), "lost")), R"json(["mini-worker-0 (rank 1)"])json");

  cluster.runOperator();
  settle();
  EXPECT_TRUE(cluster.suspended());
  EXPECT_EQ(cluster.api.countOf(kJobWaitingForNodes), 1);

  cluster.addNode("d");
  settle();
  EXPECT_FALSE(cluster.suspended());
  EXPECT_EQ(cluster.state().phase, ResumePhase::kResumed);
  EXPECT_EQ(findString(entry(), "state"), kRecordResumed);
  EXPECT_FALSE(findString(entry(), "stopped").empty());
  EXPECT_FALSE(findString(entry(), "resumed").empty());
  cluster.runOperator();
  EXPECT_EQ(cluster.pods().size(), 3U);
  settle();
  EXPECT_EQ(cluster.api.eventReasons(),
            (std::vector<std::string>{kJobStopped, kJobWaitingForNodes, kJobResumed}));
}

TEST_F(JobControllerTest, TheStopIsOneGuardedPatchBeforeAnythingElse) {
  cluster.openIncident("i1", "b");
  settle();
  const kube::ApiRequest& stop = cluster.api.writes.front();
  EXPECT_EQ(stop.path, jobPath());
  EXPECT_EQ(stop.kind, kube::Body::kMergePatch);
  EXPECT_FALSE(findString(stop.body, "metadata", "resourceVersion").empty());
  EXPECT_EQ(toText(*find(stop.body, "spec", "runPolicy")), R"({"suspend":true})");
  EXPECT_NE(findString(stop.body, "metadata", "annotations", api::kResumeAnnotation), "");
  EXPECT_EQ(stop.query, (Query{{"fieldManager", api::kJobsManager}}));
}

TEST_F(JobControllerTest, AtTheLimitTheJobEndsFailed) {
  cluster.api.change(
      api::kPyTorchJobs, kKubeflow, "mini",
      JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{api::kMaxRetryAnnotation, "1"}}}}}});
  cluster.addNode("d");
  cluster.addNode("e");
  cluster.openIncident("i1", "b");
  settle();
  cluster.runOperator();
  settle();
  cluster.runOperator();
  cluster.openIncident("i2", "a");
  settle();
  EXPECT_TRUE(cluster.suspended());
  EXPECT_FALSE(cluster.finished());
  cluster.runOperator();
  settle();
  EXPECT_TRUE(cluster.finished());
  const std::string conditions = toText(*find(cluster.job(), "status", "conditions"));
  EXPECT_NE(conditions.find(R"("type":"Failed","status":"True","reason":"MainstayRetriesExhausted")"),
            std::string::npos)
      << conditions;
  EXPECT_NE(conditions.find(R"("type":"Running","status":"False")"), std::string::npos) << conditions;
  EXPECT_EQ(cluster.api.countOf(kRetriesExhausted), 1);
  EXPECT_EQ(cluster.state().retry, 1);
}

TEST_F(JobControllerTest, AnApiServerThatDropsSuspendMeansHandsOffAndNoRetry) {
  cluster.api.prunesSuspend = true;
  cluster.openIncident("i1", "b");
  settle();
  EXPECT_EQ(cluster.state().phase, ResumePhase::kUnsupported);
  EXPECT_EQ(cluster.state().retry, 0);
  EXPECT_EQ(cluster.api.eventReasons(), std::vector<std::string>{"JobCannotBeStopped"});
  EXPECT_EQ(cluster.pods().size(), 3U);
}

TEST_F(JobControllerTest, ReadsAgainAndStopsWhenSomebodyWroteInBetween) {
  settle();
  cluster.openIncident("i1", "b");
  int conflicts = 0;
  cluster.api.beforeWrite = [&](const kube::ApiRequest& write) -> Result<> {
    if (write.path == jobPath() && conflicts++ == 0) {
      cluster.api.change(api::kPyTorchJobs, kKubeflow, "mini",
                         TestCluster::json(R"({"metadata": {"labels": {"x": "y"}}})"));
    }
    return {};
  };
  now += std::chrono::seconds(1);
  controller->step(now);
  EXPECT_TRUE(cluster.suspended());
  EXPECT_EQ(cluster.state().retry, 1);
  EXPECT_EQ(cluster.api.countOf(kJobStopped), 1);
}

TEST_F(JobControllerTest, AJobThatFinishedInBetweenIsNotStopped) {
  settle();
  cluster.openIncident("i1", "b");
  cluster.api.beforeWrite = [&](const kube::ApiRequest& write) -> Result<> {
    if (write.path == jobPath() && !cluster.finished()) {
      cluster.api.change(api::kPyTorchJobs, kKubeflow, "mini",
                         TestCluster::json(R"({"status": {"completionTime": "2026-01-01T00:00:00Z",
                                               "conditions": [{"type": "Succeeded", "status": "True"}]}})"));
    }
    return {};
  };
  settle();
  EXPECT_FALSE(cluster.suspended());
  EXPECT_FALSE(cluster.touched());
}

TEST_F(JobControllerTest, AFailedWriteIsTriedAgainAfterAPause) {
  settle();
  cluster.openIncident("i1", "b");
  int failures = 2;
  cluster.api.beforeWrite = [&](const kube::ApiRequest& write) -> Result<> {
    if (write.path == jobPath() && failures-- > 0) {
      return fail(Code::kUnavailable, "no API server");
    }
    return {};
  };
  const TimePoint first = controller->step(now);
  EXPECT_GT(first, now);
  controller->step(now);  // too early: nothing is sent
  EXPECT_EQ(failures, 1);
  const TimePoint second = controller->step(first);
  EXPECT_GT(second - first, first - now);
  controller->step(second);
  EXPECT_TRUE(cluster.suspended());
}

TEST_F(JobControllerTest, DoesNothingWithoutLeadership) {
  leading = false;
  cluster.openIncident("i1", "b");
  settle();
  EXPECT_TRUE(cluster.api.writes.empty());
  leading = true;
  settle();
  EXPECT_TRUE(cluster.suspended());
}

TEST_F(JobControllerTest, ARestartedControllerGoesOnFromTheAnnotation) {
  cluster.openIncident("i1", "b");
  settle();
  restart();
  cluster.runOperator();
  cluster.addNode("d");
  settle();
  EXPECT_FALSE(cluster.suspended());
  EXPECT_EQ(cluster.state().retry, 1);
  EXPECT_EQ(std::ranges::count(patched(), jobPath()), 2);
}

TEST_F(JobControllerTest, TheSameEventIsToldOnce) {
  cluster.api.change(
      api::kPyTorchJobs, kKubeflow, "mini",
      JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{api::kMaxRetryAnnotation, "no"}}}}}});
  settle();
  cluster.addNode("d");
  settle();
  EXPECT_EQ(cluster.api.eventReasons(), std::vector<std::string>{kJobAnnotationInvalid});
}

TEST_F(JobControllerTest, AJobThatCannotBeReadIsToldAndTheOthersGoOn) {
  cluster.api.put(api::kPyTorchJobs, kKubeflow, "odd",
                  TestCluster::json(R"({"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": "two"}}}})"));
  cluster.openIncident("i1", "b");
  settle();
  EXPECT_EQ(cluster.api.countOf("JobUnreadable"), 1);
  EXPECT_TRUE(cluster.suspended());
}

}  // namespace
}  // namespace mainstay::jobs
