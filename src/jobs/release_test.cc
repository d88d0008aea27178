#include "jobs/release.h"

#include <gtest/gtest.h>

#include "jobs/test_cluster.h"

namespace mainstay::jobs {
namespace {

constexpr TimePoint kReleasedAt{std::chrono::hours(24)};

class ReleaseTest : public testing::Test {
 protected:
  void hold(ResumePhase phase) {
    const ResumeState state{.retry = 1, .incidents = {"i1"}, .phase = phase, .since = kReleasedAt};
    cluster.api.change(
        api::kPyTorchJobs, kKubeflow, "mini",
        JsonObject{{"metadata",
                    JsonObject{{"annotations", JsonObject{{api::kResumeAnnotation, encodeResume(state)}}}}},
                   {"spec", JsonObject{{"runPolicy", JsonObject{{"suspend", true}}}}}});
  }
  std::string release(const ReleaseOptions& options = {.reason = "I know better", .dryRun = false}) {
    const auto done = releaseJob(cluster.api, kKubeflow, "mini", options, kReleasedAt);
    return done ? *done : "error: " + done.error().toString();
  }
  TestCluster cluster;
};

TEST_F(ReleaseTest, StartsAJobThatWeHold) {
  for (const ResumePhase phase : {ResumePhase::kStopped, ResumePhase::kExhausted}) {
    hold(phase);
    EXPECT_EQ(release(), "kubeflow/mini released: suspend is false again");
    EXPECT_FALSE(cluster.suspended());
    EXPECT_EQ(cluster.state(),
              (ResumeState{
                  .retry = 1, .incidents = {"i1"}, .phase = ResumePhase::kReleased, .since = kReleasedAt}));
    EXPECT_EQ(findString(cluster.api.writes.back().body, "message"), "released by a person: I know better");
  }
}

TEST_F(ReleaseTest, LeavesWhatIsNotOurs) {
  EXPECT_EQ(release(), "kubeflow/mini is not suspended: nothing to release");
  cluster.suspend(true);
  EXPECT_NE(release().find("was suspended by somebody else"), std::string::npos);
  hold(ResumePhase::kReleased);
  EXPECT_NE(release().find("left alone"), std::string::npos);
  EXPECT_TRUE(cluster.suspended());
  EXPECT_TRUE(cluster.api.writes.empty());
}

TEST_F(ReleaseTest, ADryRunOnlySays) {
  hold(ResumePhase::kStopped);
  EXPECT_EQ(release({.reason = "", .dryRun = true}), "kubeflow/mini would be started (dry run)");
  EXPECT_TRUE(cluster.api.writes.empty());
}

TEST_F(ReleaseTest, ReadsAgainWhenSomebodyWroteInBetween) {
  hold(ResumePhase::kStopped);
  int conflicts = 2;
  cluster.api.beforeWrite = [&](const kube::ApiRequest& write) -> Result<> {
    if (write.method == "PATCH" && conflicts-- > 0) {
      cluster.api.change(api::kPyTorchJobs, kKubeflow, "mini",
                         TestCluster::json(R"({"metadata": {"labels": {"x": "y"}}})"));
    }
    return {};
  };
  EXPECT_EQ(release(), "kubeflow/mini released: suspend is false again");
}

TEST_F(ReleaseTest, NamesTheJobThatDoesNotExist) {
  const auto done = releaseJob(cluster.api, kKubeflow, "nobody", {}, kReleasedAt);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), Code::kNotFound);
  EXPECT_NE(done.error().toString().find("kubeflow/nobody"), std::string::npos);
}

TEST_F(ReleaseTest, AllReleasesOursOnly) {
  hold(ResumePhase::kStopped);
  Json foreign = cluster.job();
  foreign.as_object()["metadata"].as_object().erase("annotations");
  cluster.api.put(api::kPyTorchJobs, "team", "theirs", foreign);
  const auto all = releaseAllJobs(cluster.api, {}, kReleasedAt);
  ASSERT_TRUE(all) << all.error().toString();
  EXPECT_EQ(all->sentences, std::vector<std::string>{"kubeflow/mini released: suspend is false again"});
  EXPECT_FALSE(all->failed);
  EXPECT_FALSE(cluster.suspended());
}

TEST_F(ReleaseTest, AllLeavesNothingOfOursOnJobs) {
  for (const ResumePhase phase : {ResumePhase::kStopped, ResumePhase::kResumed, ResumePhase::kReleased}) {
    hold(phase);
    const auto all = releaseAllJobs(cluster.api, {}, kReleasedAt);
    ASSERT_TRUE(all) << all.error().toString();
    EXPECT_EQ(all->sentences.size(), 1u);
    EXPECT_EQ(findString(cluster.job(), "metadata", "annotations", api::kResumeAnnotation), "");
  }
  // The last one was somebody else's suspend.
  EXPECT_TRUE(cluster.suspended());
}

}  // namespace
}  // namespace mainstay::jobs
