#include "local/cluster/pytorch_job.h"

#include <gtest/gtest.h>

#include "base/yaml.h"
#include "local/api/json_access.h"
#include "local/cluster/pytorch_pods.h"

namespace mainstay::local {
namespace {

using std::chrono::seconds;

// A job "mini" (Master 1, Worker 2) that lives through plans whose steps are done at once.
class PyTorchJobTest : public testing::Test {
 protected:
  void SetUp() override {
    job_ = parseYaml(R"(
metadata: {name: mini, namespace: ns, uid: j-1}
spec:
  runPolicy: {}
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template: &t
        metadata: {labels: {mine: "1"}}
        spec: {restartPolicy: Always, containers: [{name: pytorch, env: [{name: X, value: y}]}, {name: side}]}
    Master: {template: *t}
)",
                     "test")
               .value()
               .at(0)
               .value;
  }

  JobPlan plan(Duration after = Duration(0)) {
    now_ += after;
    JobPlan plan = planPyTorchJob(job_, pods_, services_, now_);
    if (!plan.status.is_null()) {
      job_.get_object()["status"] = plan.status;
    }
    std::ranges::copy(plan.createPods, std::back_inserter(pods_));
    std::ranges::copy(plan.createServices, std::back_inserter(services_));
    for (const Json& gone : plan.deletePods) {
      std::erase_if(pods_, [&](const Json& pod) { return name(pod) == name(gone); });
    }
    for (const Json& gone : plan.deleteServices) {
      std::erase_if(services_, [&](const Json& service) { return name(service) == name(gone); });
    }
    return plan;
  }
  void setPolicy(std::string_view key, Json value) {
    job_.get_object()["spec"].get_object()["runPolicy"].get_object()[key] = std::move(value);
  }
  void setRestartPolicy(const std::string& policy) {
    for (auto& [type, replica] : job_.at_pointer("/spec/pytorchReplicaSpecs").get_object()) {
      replica.get_object()["restartPolicy"] = policy;
    }
  }
  void setPhase(const std::string& phase, const std::string& only = "") {
    for (Json& pod : pods_) {
      if (only.empty() || name(pod) == only) {
        pod.get_object()["status"] = JsonObject{{"phase", phase}};
      }
    }
  }
  void setExitCode(const std::string& pod, int code) {
    setPhase("Failed", pod);
    for (Json& each : pods_) {
      if (name(each) == pod) {
        each.at_pointer("/status").get_object()["containerStatuses"] =
            JsonArray{{{"name", "side"}, {"state", {{"terminated", {{"exitCode", 0}}}}}},
                      {{"name", "pytorch"}, {"state", {{"terminated", {{"exitCode", code}}}}}}};
      }
    }
  }
  static std::string name(const Json& object) { return findString(object, "metadata", "name"); }
  static std::vector<std::string> names(const std::vector<Json>& objects) {
    std::vector<std::string> all;
    for (const Json& object : objects) {
      all.push_back(name(object));
    }
    return all;
  }
  // "Created=True Running=False", in order.
  std::string conditions() {
    std::string text;
    for (const Json& each : arrayAt(job_, "status", "conditions")) {
      text += (text.empty() ? "" : " ") + findString(each, "type") + "=" + findString(each, "status");
    }
    return text;
  }
  std::string reasonOf(std::string_view type) {
    for (const Json& each : arrayAt(job_, "status", "conditions")) {
      if (findString(each, "type") == type) {
        return findString(each, "reason");
      }
    }
    return "";
  }
  static std::string env(const Json& pod, std::string_view variable) {
    for (const Json& each : arrayAt(arrayAt(pod, "spec", "containers").at(0), "env")) {
      if (findString(each, "name") == variable) {
        return findString(each, "value");
      }
    }
    return "(none)";
  }

  Json job_;
  std::vector<Json> pods_;
  std::vector<Json> services_;
  TimePoint now_{seconds(100000)};
};

TEST_F(PyTorchJobTest, MakesPodsAndServicesAsTheOperatorNamesAndLabelsThem) {
  const JobPlan first = plan();
  EXPECT_EQ(names(first.createPods),
            (std::vector<std::string>{"mini-master-0", "mini-worker-0", "mini-worker-1"}));
  EXPECT_EQ(names(first.createServices), names(first.createPods));
  const Json& master = first.createPods[0];
  EXPECT_EQ(toText(*find(master, "metadata", "labels")),
            R"({"mine":"1","training.kubeflow.org/operator-name":"pytorchjob-controller",)"
            R"("training.kubeflow.org/job-name":"mini","training.kubeflow.org/replica-type":"master",)"
            R"("training.kubeflow.org/replica-index":"0","training.kubeflow.org/job-role":"master"})");
  EXPECT_EQ(findString(master, "spec", "restartPolicy"), "OnFailure");
  const Json& owner = arrayAt(master, "metadata", "ownerReferences").at(0);
  EXPECT_EQ(findString(owner, "kind") + " " + findString(owner, "uid"), "PyTorchJob j-1");
  EXPECT_EQ(findString(first.createServices[2], "spec", "clusterIP"), "None");
  EXPECT_EQ(findString(first.createServices[2], "spec", "selector", "training.kubeflow.org/replica-index"),
            "1");
  EXPECT_EQ(integerAt(arrayAt(first.createServices[0], "spec", "ports").at(0), "port"), 23456);
}

TEST_F(PyTorchJobTest, GivesEveryContainerTheRendezvousEnvironment) {
  const JobPlan first = plan();
  const Json& worker = first.createPods[2];
  EXPECT_EQ(env(worker, "X"), "y");
  EXPECT_EQ(env(worker, "PYTHONUNBUFFERED"), "1");
  EXPECT_EQ(env(worker, "MASTER_ADDR"), "mini-master-0");
  EXPECT_EQ(env(worker, "MASTER_PORT"), "23456");
  EXPECT_EQ(env(worker, "WORLD_SIZE"), "3");
  EXPECT_EQ(env(worker, "RANK"), "2");
  EXPECT_EQ(env(worker, "PET_NNODES"), "3");
  EXPECT_EQ(env(first.createPods[0], "RANK"), "0");
  EXPECT_FALSE(arrayAt(arrayAt(worker, "spec", "containers").at(1), "env").empty());
}

TEST_F(PyTorchJobTest, RunsAndSucceedsWithItsMaster) {
  plan();
  EXPECT_EQ(conditions(), "Created=True");
  setPhase("Running");
  plan();
  EXPECT_EQ(conditions(), "Created=True Running=True");
  EXPECT_EQ(integerAt(job_, "status", "replicaStatuses", "Worker", "active"), 2);
  EXPECT_TRUE(plan().status.is_null());
  setPhase("Succeeded", "mini-master-0");
  plan(seconds(7));
  EXPECT_EQ(conditions(), "Created=True Running=False Succeeded=True");
  EXPECT_EQ(reasonOf("Succeeded"), "PyTorchJobSucceeded");
  EXPECT_EQ(findString(job_, "status", "completionTime"), formatTime(now_));
  plan();
  EXPECT_EQ(integerAt(job_, "status", "replicaStatuses", "Worker", "succeeded"), 2);
  EXPECT_EQ(integerAt(job_, "status", "replicaStatuses", "Worker", "active"), std::nullopt);
  EXPECT_EQ(pods_.size(), 3u);
}

TEST_F(PyTorchJobTest, CleanPodPolicyTakesThePodsAfterTheEnd) {
  for (const auto& [policy, left] :
       std::map<std::string, std::size_t>{{"None", 3}, {"Running", 1}, {"All", 0}}) {
    SetUp();
    pods_.clear();
    services_.clear();
    setPolicy("cleanPodPolicy", Json(policy));
    plan();
    setPhase("Running");
    setPhase("Succeeded", "mini-master-0");
    plan();
    plan();
    EXPECT_EQ(pods_.size(), left) << policy;
    EXPECT_EQ(services_.size(), left) << policy;
  }
}

TEST_F(PyTorchJobTest, SuspendTakesAllPodsAndResumeStartsTheClockAgain) {
  plan();
  setPhase("Running");
  plan();
  setPolicy("suspend", true);
  const JobPlan stopping = plan(seconds(5));
  EXPECT_EQ(stopping.deletePods.size(), 3u);
  EXPECT_EQ(stopping.deleteServices.size(), 3u);
  EXPECT_EQ(conditions(), "Created=True Running=False Suspended=True");
  EXPECT_EQ(reasonOf("Running"), "PyTorchJobSuspended");
  EXPECT_EQ(stopping.events.size(), 1u);
  EXPECT_TRUE(plan().status.is_null());
  setPolicy("suspend", false);
  plan(seconds(50));
  EXPECT_EQ(reasonOf("Suspended"), "PyTorchJobResumed");
  EXPECT_EQ(findString(job_, "status", "startTime"), formatTime(now_));
  EXPECT_EQ(pods_.size(), 3u);
}

TEST_F(PyTorchJobTest, AFailedPodIsMadeAgainUnlessTheJobNeverRestarts) {
  plan();
  setPhase("Running");
  setPhase("Failed", "mini-worker-0");
  const JobPlan restarting = plan();
  EXPECT_EQ(names(restarting.deletePods), std::vector<std::string>{"mini-worker-0"});
  EXPECT_TRUE(restarting.deleteServices.empty());
  EXPECT_EQ(conditions(), "Created=True Restarting=True");
  EXPECT_EQ(names(plan().createPods), std::vector<std::string>{"mini-worker-0"});
  setPhase("Running");
  plan();
  EXPECT_EQ(conditions(), "Created=True Running=True");

  setRestartPolicy("Never");
  setPhase("Failed", "mini-worker-0");
  plan();
  EXPECT_EQ(conditions(), "Created=True Running=False Failed=True");
  EXPECT_EQ(reasonOf("Failed"), "PyTorchJobFailed");
}

TEST_F(PyTorchJobTest, WithExitCodesASignalRestartsThePodAndAnythingElseFailsTheJob) {
  setRestartPolicy("ExitCode");
  EXPECT_EQ(findString(plan().createPods.at(1), "spec", "restartPolicy"), "Never");
  setPhase("Running");
  setExitCode("mini-worker-0", 137);
  EXPECT_EQ(names(plan().deletePods), std::vector<std::string>{"mini-worker-0"});
  EXPECT_EQ(conditions(), "Created=True Restarting=True");
  EXPECT_EQ(names(plan().createPods), std::vector<std::string>{"mini-worker-0"});
  setPhase("Running");
  plan();
  setPhase("Failed", "mini-worker-0");
  EXPECT_EQ(plan().deletePods.size(), 1u) << "evicted: no exit code";
  plan();
  setPhase("Running");
  plan();
  setExitCode("mini-worker-1", 1);
  const JobPlan failing = plan();
  EXPECT_TRUE(failing.deletePods.empty());
  EXPECT_EQ(conditions(), "Created=True Running=False Failed=True");
  EXPECT_EQ(arrayAt(job_, "status", "conditions").back().at("message"),
            R"(job "mini" is failing because "Worker" replica(s) failed.)");
  EXPECT_EQ(findString(job_, "status", "completionTime"), "");
  EXPECT_TRUE(plan().createPods.empty());
}

TEST_F(PyTorchJobTest, APodThatIsBeingDeletedCanStillFailAJobByItsExitCode) {
  setRestartPolicy("ExitCode");
  plan();
  setPhase("Running");
  setExitCode("mini-worker-0", 1);
  pods_[1].get_object()["metadata"].get_object()["deletionTimestamp"] = formatTime(now_);
  plan();
  EXPECT_EQ(reasonOf("Failed"), "PyTorchJobFailed");
}

TEST_F(PyTorchJobTest, ASuspendedJobDoesNotLookAtExitCodes) {
  setRestartPolicy("ExitCode");
  plan();
  setPhase("Running");
  plan();
  setPolicy("suspend", true);
  setExitCode("mini-worker-0", 1);
  plan();
  EXPECT_EQ(conditions(), "Created=True Running=False Suspended=True");
}

TEST_F(PyTorchJobTest, APodOfALostNodeCountsAsFailedAndStays) {
  plan();
  setPhase("Running");
  pods_[1].get_object()["metadata"].get_object()["deletionTimestamp"] = formatTime(now_);
  const JobPlan lost = plan();
  EXPECT_TRUE(lost.deletePods.empty());
  EXPECT_TRUE(lost.createPods.empty());
  EXPECT_EQ(conditions(), "Created=True Restarting=True");
  EXPECT_TRUE(plan(seconds(10)).status.is_null());
}

TEST_F(PyTorchJobTest, ContainerRestartsUseUpTheBackoffLimit) {
  setPolicy("backoffLimit", 2);
  plan();
  setPhase("Running");
  for (int i : {1, 2}) {
    pods_[static_cast<std::size_t>(i)].at_pointer("/status").get_object()["containerStatuses"] =
        JsonArray{{{"restartCount", 1}}};
    plan();
    EXPECT_EQ(conditions(), i == 1 ? "Created=True Running=True" : "Created=True Running=False Failed=True");
  }
  EXPECT_TRUE(pods_.empty());
  EXPECT_EQ(arrayAt(job_, "status", "conditions").back().at("message"),
            "Job mini has failed because it has reached the specified backoff limit");
}

TEST_F(PyTorchJobTest, ItsDeadlineFailsIt) {
  setPolicy("activeDeadlineSeconds", 60);
  EXPECT_EQ(plan().wake, now_ + seconds(60));
  plan(seconds(60));
  EXPECT_EQ(conditions(), "Created=True Failed=True");
}

TEST_F(PyTorchJobTest, IsDeletedWhenItsTimeToLiveIsOver) {
  setPolicy("ttlSecondsAfterFinished", 30);
  plan();
  setPhase("Succeeded");
  plan();
  EXPECT_EQ(plan().wake, now_ + seconds(30));
  EXPECT_TRUE(plan(seconds(30)).deleteJob);
}

TEST_F(PyTorchJobTest, WithoutAMasterAllWorkersMustSucceed) {
  job_.at_pointer("/spec/pytorchReplicaSpecs").get_object().erase("Master");
  const JobPlan first = plan();
  EXPECT_EQ(env(first.createPods[0], "MASTER_ADDR"), "(none)");
  setPhase("Succeeded", "mini-worker-0");
  plan();
  EXPECT_EQ(conditions(), "Created=True");
  setPhase("Succeeded");
  plan();
  EXPECT_EQ(conditions(), "Created=True Succeeded=True");
}

TEST_F(PyTorchJobTest, FewerReplicasTakeTheHighestAway) {
  plan();
  job_.at_pointer("/spec/pytorchReplicaSpecs/Worker").get_object()["replicas"] = 1;
  EXPECT_EQ(names(plan().deletePods), std::vector<std::string>{"mini-worker-1"});
}

TEST_F(PyTorchJobTest, AWrongSpecFailsTheJobWithTheReason) {
  for (const char* wrong : {"{}", "{Chief: {template: {spec: {containers: [{name: pytorch}]}}}}",
                            "{Master: {template: {spec: {containers: [{name: other}]}}}}", "{Master: null}",
                            "{Master: {template: {spec: {containers: [{name: pytorch}, 7]}}}}"}) {
    SetUp();
    job_.at_pointer("/spec").get_object()["pytorchReplicaSpecs"] =
        parseYaml(wrong, "test").value().at(0).value;
    const JobPlan plan = planPyTorchJob(job_, {}, {}, now_);
    job_.get_object()["status"] = plan.status;
    EXPECT_EQ(reasonOf("Failed"), "PyTorchJobFailedValidation") << wrong;
    EXPECT_TRUE(plan.createPods.empty());
  }
}

TEST_F(PyTorchJobTest, AFailedJobsConditionsStand) {
  job_.get_object()["status"] =
      parseYaml("conditions: [{type: Failed, status: 'True', reason: MainstayRetriesExhausted}]", "t")
          .value()
          .at(0)
          .value;
  EXPECT_TRUE(plan().createPods.empty());
  EXPECT_EQ(conditions(), "Failed=True");
}

}  // namespace
}  // namespace mainstay::local
