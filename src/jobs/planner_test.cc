#include "jobs/planner.h"

#include <gtest/gtest.h>

#include "jobs/records.h"
#include "jobs/test_world.h"

namespace mainstay::jobs {
namespace {

using Kind = Step::Kind;

class JobPlanTest : public testing::Test {
 protected:
  JobPlanTest() { world.addMini(); }

  // As after a stop for incident i1 on b, with all pods gone.
  void stopped(ResumePhase phase = ResumePhase::kStopped) {
    world.addIncident("i1", "b");
    world.isolate("b");
    world.annotate("mini", {.retry = 1, .incidents = {"i1"}, .phase = phase, .since = kNoon}, true);
    world.pods.clear();
  }
  // Nothing is written to the job.
  void expectHandsOff() {
    for (const Step& step : world.plan()) {
      EXPECT_TRUE(step.kind == Kind::kEvent || step.kind == Kind::kRecord) << step.reason << ": " << step.why;
    }
  }

  World world;
};

TEST_F(JobPlanTest, DoesNothingWhileAllNodesAreWell) {
  EXPECT_TRUE(world.plan().empty());
}

TEST_F(JobPlanTest, StopsTheGroupInOneStepWithItsRetryWhenANodeIsIsolated) {
  world.addIncident("i1", "b");
  const auto steps = world.plan();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].kind, Kind::kStop);
  EXPECT_EQ(steps[0].resume,
            (ResumeState{.retry = 1, .incidents = {"i1"}, .phase = ResumePhase::kStopped, .since = kNoon}));
  EXPECT_EQ(steps[0].why,
            "stopped as one group (3 pods): mini-worker-0 (rank 1) ran on b (NeuronHasError_DMA_ERROR, "
            "incident i1); "
            "retry 1 of 2");
}

TEST_F(JobPlanTest, StopsFromIsolatedOnAndNotBefore) {
  using api::Phase;
  for (const Phase phase : {Phase::kNew, Phase::kHeld, Phase::kResolved, Phase::kStale}) {
    world.addIncident("i1", "b", phase);
    EXPECT_TRUE(world.plan().empty()) << api::phaseName(phase);
  }
  for (const Phase phase :
       {Phase::kIsolated, Phase::kDraining, Phase::kReplacing, Phase::kValidating, Phase::kEscalated}) {
    world.addIncident("i1", "b", phase);
    EXPECT_EQ(only(world.plan(), Kind::kStop).size(), 1U) << api::phaseName(phase);
  }
}

TEST_F(JobPlanTest, TwoIncidentsAtOnceCostOneRetryAndAreBothCounted) {
  world.addIncident("i1", "b");
  world.addIncident("i2", "c");
  const auto steps = world.plan();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].resume.retry, 1);
  EXPECT_EQ(steps[0].resume.incidents, (std::vector<std::string>{"i1", "i2"}));
}

TEST_F(JobPlanTest, AnIncidentCountsOnce) {
  world.addIncident("i1", "b");
  world.annotate("mini", {.retry = 1, .incidents = {"i1"}, .phase = ResumePhase::kResumed, .since = kNoon},
                 false);
  expectHandsOff();
  world.addIncident("i2", "c");
  EXPECT_EQ(only(world.plan(), Kind::kStop).at(0).resume.retry, 2);
}

TEST_F(JobPlanTest, APodThatIsBeingDeletedStillBelongsToTheGroup) {
  world.addIncident("i1", "b");
  world.addPod("mini", 1, "b").meta.deleted = kNoon;
  EXPECT_EQ(only(world.plan(), Kind::kStop).size(), 1U);
}

TEST_F(JobPlanTest, AFinishedPodOnTheNodeHurtsNobody) {
  world.addIncident("i1", "b");
  world.addPod("mini", 1, "b").phase = "Succeeded";
  EXPECT_TRUE(world.plan().empty());
}

TEST_F(JobPlanTest, ANodeThatCameBackUnderTheSameNameIsAnotherOne) {
  world.addIncident("i1", "b");
  world.addNode("b").meta.uid = "another";
  EXPECT_TRUE(world.plan().empty());
}

TEST_F(JobPlanTest, StopsWhenTheNodeObjectIsGoneButThePodIsNot) {
  world.addIncident("i1", "b");
  world.nodes.erase("b");
  EXPECT_EQ(only(world.plan(), Kind::kStop).size(), 1U);
}

TEST_F(JobPlanTest, LeavesJobsThatDidNotOptIn) {
  world.addIncident("i1", "b");
  for (const char* value : {"", "false"}) {
    world.job("mini").meta.annotations[api::kAutoResumeAnnotation] = value;
    EXPECT_TRUE(world.plan().empty()) << value;
  }
}

TEST_F(JobPlanTest, BadOptInValuesAreToldAndNotActedOn) {
  world.addIncident("i1", "b");
  for (const char* value : {"", "0", "-1", "two", "2x", "99999999999"}) {
    world.job("mini").meta.annotations[api::kMaxRetryAnnotation] = value;
    const auto steps = world.plan();
    ASSERT_EQ(steps.size(), 1U) << value;
    EXPECT_EQ(steps[0].reason, kJobAnnotationInvalid);
    EXPECT_NE(steps[0].why.find(api::kMaxRetryAnnotation), std::string::npos);
  }
  world.job("mini").meta.annotations[api::kAutoResumeAnnotation] = "yes";
  EXPECT_EQ(world.plan().at(0).why,
            "annotation sagemaker.amazonaws.com/enable-job-auto-resume is \"yes\", expected \"true\" or "
            "\"false\"; the "
            "job is not resumed automatically until it is mended");
}

TEST_F(JobPlanTest, AnUnreadableResumeAnnotationMeansHandsOff) {
  world.addIncident("i1", "b");
  for (const char* text :
       {"{", "[]", R"({"retry": -1})", R"({"retry": 0, "incidents": [], "phase": "Paused"})"}) {
    world.job("mini").meta.annotations[api::kResumeAnnotation] = text;
    for (const bool suspended : {false, true}) {
      world.job("mini").suspended = suspended;
      EXPECT_NE(withReason(world.plan(), kJobAnnotationInvalid), nullptr) << text;
      expectHandsOff();
    }
  }
}

TEST_F(JobPlanTest, LeavesFinishedAndDeletingJobs) {
  world.addIncident("i1", "b");
  world.job("mini").finished = true;
  EXPECT_TRUE(world.plan().empty());
  world.job("mini").finished = false;
  world.job("mini").meta.deleted = kNoon;
  EXPECT_TRUE(world.plan().empty());
}

TEST_F(JobPlanTest, LeavesAForeignSuspendWhateverWeDidBefore) {
  world.addIncident("i1", "b");
  world.job("mini").suspended = true;
  EXPECT_TRUE(world.plan().empty());
  for (const ResumePhase phase : {ResumePhase::kResumed, ResumePhase::kReleased, ResumePhase::kUnsupported}) {
    world.annotate("mini", {.retry = 1, .incidents = {"i0"}, .phase = phase, .since = kNoon}, true);
    expectHandsOff();
  }
}

TEST_F(JobPlanTest, KueueJobsAreToldAndLeft) {
  world.addIncident("i1", "b");
  world.job("mini").meta.labels[api::kKueueQueueLabel] = "team-a";
  EXPECT_NE(withReason(world.plan(), kJobLeftToKueue), nullptr);
  expectHandsOff();
  stopped();
  world.job("mini").meta.labels[api::kKueueQueueLabel] = "team-a";
  world.addNode("d");
  EXPECT_NE(withReason(world.plan(), kJobLeftToKueue), nullptr);
  expectHandsOff();
}

TEST_F(JobPlanTest, AJobThatRestartsByExitCodeIsStoppedAsAnyOther) {
  world.addIncident("i1", "b");
  world.job("mini").replicas[1].restartPolicy = "ExitCode";
  EXPECT_EQ(only(world.plan(), Kind::kStop).size(), 1U);
}

TEST_F(JobPlanTest, AJobThatAnExitCodeEndedFirstIsToldAndLeft) {
  world.addIncident("i1", "b");
  Job& job = world.job("mini");
  job.replicas[1].restartPolicy = "ExitCode";
  job.finished = job.failed = true;
  for (int rank = 0; rank < 3; ++rank) {
    world.addPod("mini", rank, std::string(1, static_cast<char>('a' + rank))).phase = "Failed";
  }
  const auto steps = world.plan();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].reason, kJobNotResumable);
  EXPECT_NE(steps[0].why.find("before it could be stopped for b"), std::string::npos) << steps[0].why;
  EXPECT_NE(steps[0].why.find("exit with 128 or more"), std::string::npos) << steps[0].why;
  world.recoveries.clear();
  EXPECT_TRUE(world.plan().empty()) << "it failed by itself";
  world.addIncident("i1", "b");
  world.job("mini").replicas[1].restartPolicy = "OnFailure";
  EXPECT_TRUE(world.plan().empty());
}

TEST_F(JobPlanTest, ARestartPolicyThatNeverRestartsIsToldAndLeft) {
  world.addIncident("i1", "b");
  world.job("mini").replicas[1].restartPolicy = "Never";
  const auto steps = world.plan();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].reason, kJobNotResumable);
  EXPECT_NE(steps[0].why.find("restartPolicy of Worker is Never"), std::string::npos) << steps[0].why;
}

TEST_F(JobPlanTest, ObserveStopsNothing) {
  world.addIncident("i1", "b");
  world.policies.clear();
  EXPECT_TRUE(world.plan().empty());
  world.addPolicy().mode = api::Mode::kObserve;
  EXPECT_TRUE(world.plan().empty());
  world.addPolicy().resume = false;
  EXPECT_TRUE(world.plan().empty());
  world.addPolicy();
  world.addIncident("i1", "b").status.mode = api::Mode::kObserve;
  EXPECT_TRUE(world.plan().empty());
}

TEST_F(JobPlanTest, AtTheLimitTheGroupIsStoppedForGoodWithoutAnotherRetry) {
  world.addIncident("i3", "b");
  world.annotate("mini", {.retry = 2, .incidents = {"i1", "i2"}, .phase = ResumePhase::kResumed, .since = {}},
                 false);
  const auto stop = only(world.plan(), Kind::kStop);
  ASSERT_EQ(stop.size(), 1U);
  EXPECT_EQ(stop[0].resume.phase, ResumePhase::kExhausted);
  EXPECT_EQ(stop[0].resume.retry, 2);
  EXPECT_NE(stop[0].why.find("all 2 retries are used"), std::string::npos) << stop[0].why;
}

TEST_F(JobPlanTest, ThePolicyCapsTheRetries) {
  world.addPolicy().maxRetries = 1;
  world.addIncident("i2", "b");
  world.annotate("mini", {.retry = 1, .incidents = {"i1"}, .phase = ResumePhase::kResumed, .since = {}},
                 false);
  EXPECT_EQ(only(world.plan(), Kind::kStop).at(0).resume.phase, ResumePhase::kExhausted);
}

TEST_F(JobPlanTest, AnExhaustedJobFailsOnceItsPodsAreGone) {
  stopped(ResumePhase::kExhausted);
  world.addPod("mini", 0, "a");
  expectHandsOff();
  world.pods.clear();
  const auto fail = only(world.plan(), Kind::kFail);
  ASSERT_EQ(fail.size(), 1U);
  EXPECT_EQ(fail[0].reason, kRetriesExhausted);
  world.job("mini").finished = true;
  expectHandsOff();
}

TEST_F(JobPlanTest, StartsTheWholeGroupInOneStepWhenItFits) {
  stopped();
  world.addNode("d");
  const auto start = only(world.plan(kNoon + std::chrono::seconds(3)), Kind::kStart);
  ASSERT_EQ(start.size(), 1U);
  EXPECT_EQ(start[0].resume, (ResumeState{.retry = 1,
                                          .incidents = {"i1"},
                                          .phase = ResumePhase::kResumed,
                                          .since = kNoon + std::chrono::seconds(3)}));
}

TEST_F(JobPlanTest, WaitsForRoomWithoutUsingARetry) {
  stopped();
  const auto steps = world.plan();
  const Step* waiting = withReason(steps, kJobWaitingForNodes);
  ASSERT_NE(waiting, nullptr);
  EXPECT_EQ(waiting->why,
            "waits for room for the whole group: 1 of 2 Worker pods (each 16 of aws.amazon.com/neuron) fit "
            "on the 2 "
            "Schedulable, Ready nodes; no retry is used while it waits");
  expectHandsOff();
}

TEST_F(JobPlanTest, WaitsForTheLastOldPod) {
  stopped();
  world.addNode("d");
  world.addPod("mini", 2, "c").meta.deleted = kNoon;
  expectHandsOff();
  EXPECT_EQ(withReason(world.plan(), kJobWaitingForNodes), nullptr);  // that is no lack of nodes
}

TEST_F(JobPlanTest, WaitsUntilTheLostNodeAnswersOrIsConfirmedGone) {
  stopped();
  world.addNode("d");
  world.nodes.erase("b");
  expectHandsOff();
  api::NodeRecovery& incident = world.addIncident("i1", "b", api::Phase::kReplacing);
  incident.status.provider.gone = kNoon;
  EXPECT_EQ(only(world.plan(), Kind::kStart).size(), 1U);
}

TEST_F(JobPlanTest, ANodeThatIsNotReadyDoesNotAnswer) {
  stopped();
  world.addNode("d");
  world.addNode("b").conditions[0].status = "Unknown";
  expectHandsOff();
}

TEST_F(JobPlanTest, StartsAfterTheIncidentIsClosedOrForgotten) {
  stopped();
  world.addNode("d");
  world.nodes.erase("b");
  world.addIncident("i1", "b", api::Phase::kResolved);
  EXPECT_EQ(only(world.plan(), Kind::kStart).size(), 1U);
  world.recoveries.clear();
  EXPECT_EQ(only(world.plan(), Kind::kStart).size(), 1U);
}

TEST_F(JobPlanTest, ObserveGivesStoppedJobsBackEvenWithoutRoom) {
  for (const ResumePhase phase : {ResumePhase::kStopped, ResumePhase::kExhausted}) {
    stopped(phase);
    world.addPolicy().mode = api::Mode::kObserve;
    const auto steps = world.plan();
    const auto start = only(steps, Kind::kStart);
    ASSERT_EQ(start.size(), 1U);
    EXPECT_EQ(start[0].resume.phase, ResumePhase::kReleased);
    EXPECT_EQ(start[0].resume.retry, 1);
    EXPECT_TRUE(only(steps, Kind::kFail).empty());
  }
}

TEST_F(JobPlanTest, WhatSomebodyElseStartedIsMarkedAndLeftRunning) {
  stopped();
  world.job("mini").suspended = false;
  world.addPod("mini", 1, "b");
  const auto steps = world.plan();
  const auto mark = only(steps, Kind::kMark);
  ASSERT_EQ(mark.size(), 1U);
  EXPECT_EQ(mark[0].resume.phase, ResumePhase::kResumed);
  EXPECT_TRUE(only(steps, Kind::kStop).empty());
}

TEST_F(JobPlanTest, TwoGroupsDoNotStartIntoTheSameRoom) {
  stopped();
  world.addNode("d");
  world.addJob("other");
  world.annotate(
      "other",
      {.retry = 1, .incidents = {"i1"}, .phase = ResumePhase::kStopped, .since = kNoon - Duration(1)}, true);
  const auto start = only(world.plan(), Kind::kStart);
  ASSERT_EQ(start.size(), 1U);
  EXPECT_EQ(start[0].job->meta.name, "other");  // stopped first
}

TEST_F(JobPlanTest, RoomIsKeptForAGroupWhosePodsAreStillToCome) {
  stopped();
  world.addNode("d");
  world.addJob("other");
  world.annotate("other", {.retry = 1, .incidents = {"i0"}, .phase = ResumePhase::kResumed, .since = kNoon},
                 false);
  world.addPod("other", 0, "a");  // two more to come
  EXPECT_TRUE(only(world.plan(), Kind::kStart).empty());
  world.addNode("e");
  world.addNode("f");
  EXPECT_TRUE(only(world.plan(), Kind::kStart).empty());
  world.addNode("g");
  EXPECT_EQ(only(world.plan(), Kind::kStart).size(), 1U);
}

TEST_F(JobPlanTest, RecordsWhatTheIncidentDidToTheJob) {
  world.addIncident("i1", "b");
  world.annotate("mini", {.retry = 1, .incidents = {"i1"}, .phase = ResumePhase::kStopped, .since = kNoon},
                 true);
  const auto record = only(world.plan(), Kind::kRecord);
  ASSERT_EQ(record.size(), 1U);
  EXPECT_EQ(record[0].recovery, "i1");
  ASSERT_EQ(record[0].touched.size(), 1U);
  const api::TouchedJob& entry = record[0].touched[0];
  EXPECT_EQ(entry.name, "mini");
  EXPECT_EQ(entry.kind, "PyTorchJob");
  EXPECT_EQ(entry.state, kRecordStopped);
  EXPECT_EQ(entry.retry, 1);
  EXPECT_EQ(entry.stopped, kNoon);
  EXPECT_EQ(entry.lost, std::vector<std::string>{"mini-worker-0 (rank 1)"});
  EXPECT_EQ(entry.message, "waits for 3 old pod(s) to end, first mini-master-0");
}

TEST_F(JobPlanTest, TheRecordKeepsTheStopAndTheLossWhenTheJobIsResumed) {
  const TimePoint later = kNoon + std::chrono::seconds(5);
  api::NodeRecovery& incident = world.addIncident("i1", "b");
  incident.status.jobs = {{.ns = "kubeflow",
                           .name = "mini",
                           .kind = "PyTorchJob",
                           .uid = "mini-uid",
                           .retry = 1,
                           .state = kRecordStopped,
                           .message = "waits",
                           .lost = {"mini-worker-0 (rank 1)"},
                           .stopped = kNoon,
                           .resumed = {}}};
  world.annotate("mini", {.retry = 1, .incidents = {"i1"}, .phase = ResumePhase::kResumed, .since = later},
                 false);
  const auto record = only(world.plan(), Kind::kRecord);
  ASSERT_EQ(record.size(), 1U);
  const api::TouchedJob& entry = record[0].touched.at(0);
  EXPECT_EQ(entry.state, kRecordResumed);
  EXPECT_EQ(entry.stopped, kNoon);
  EXPECT_EQ(entry.resumed, later);
  EXPECT_EQ(entry.message, "retry 1 of 2");
  EXPECT_EQ(entry.lost.size(), 1U);

  // Written down it is final: the next incident's stop is not this one's.
  incident.status.jobs = record[0].touched;
  EXPECT_TRUE(world.plan().empty());
  world.addIncident("i2", "c");
  world.annotate(
      "mini", {.retry = 2, .incidents = {"i1", "i2"}, .phase = ResumePhase::kStopped, .since = later}, true);
  for (const Step& step : only(world.plan(), Kind::kRecord)) {
    EXPECT_EQ(step.recovery, "i2");
  }
}

TEST_F(JobPlanTest, ADeletedJobEndsItsRecord) {
  stopped();
  const auto whenStopped = only(world.plan(), Kind::kRecord).at(0).touched;
  world.addIncident("i1", "b").status.jobs = whenStopped;
  world.jobs.clear();
  const auto record = only(world.plan(), Kind::kRecord);
  ASSERT_EQ(record.size(), 1U);
  EXPECT_EQ(record[0].touched.at(0).state, kRecordDeleted);
}

TEST_F(JobPlanTest, TheListOfTouchedJobsIsBounded) {
  api::NodeRecovery& incident = world.addIncident("i1", "b");
  incident.status.jobs.assign(api::kMaxTouchedJobs, {.ns = "n",
                                                     .name = "x",
                                                     .kind = "PyTorchJob",
                                                     .uid = "x",
                                                     .retry = 1,
                                                     .state = kRecordResumed,
                                                     .message = "",
                                                     .lost = {},
                                                     .stopped = {},
                                                     .resumed = {}});
  world.annotate("mini", {.retry = 1, .incidents = {"i1"}, .phase = ResumePhase::kStopped, .since = kNoon},
                 true);
  EXPECT_TRUE(only(world.plan(), Kind::kRecord).empty());
}

}  // namespace
}  // namespace mainstay::jobs
