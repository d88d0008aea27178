#include "api/pytorch_job.h"

#include <gtest/gtest.h>

namespace mainstay::api {
namespace {

Json jobOf(const std::string& text) {
  return parseJson(text).value();
}

const char kMiniJob[] = R"({
  "metadata": {"name": "mini", "namespace": "kubeflow", "resourceVersion": "7"},
  "spec": {"runPolicy": {"suspend": true}, "pytorchReplicaSpecs": {
    "Worker": {"replicas": 2, "template": {"spec": {"nodeSelector": {"pool": "a"}, "containers": [
      {"name": "pytorch", "resources": {"limits": {"aws.amazon.com/neuron": 16}}}]}}},
    "Master": {"restartPolicy": "Never", "template": {"spec": {"containers": []}}}}},
  "status": {"conditions": [{"type": "Created", "status": "True"}, {"type": "Running", "status": "True"}]}})";

TEST(PyTorchJobTest, ReadsReplicasInTheOrderOfTheirRanks) {
  const PyTorchJob job = decodePyTorchJob(jobOf(kMiniJob)).value();
  EXPECT_TRUE(job.suspend);
  ASSERT_EQ(job.replicas.size(), 2U);
  EXPECT_EQ(job.replicas[0].type, "Master");
  EXPECT_EQ(job.replicas[0].count, 1);
  EXPECT_EQ(job.replicas[0].restartPolicy, "Never");
  EXPECT_EQ(job.replicas[1].count, 2);
  EXPECT_EQ(job.replicas[1].restartPolicy, "OnFailure");
  EXPECT_EQ(job.replicas[1].pod.nodeAffinity.nodeSelector.at("pool"), "a");
  EXPECT_EQ(job.replicas[1].pod.requests.at("aws.amazon.com/neuron"), 16000);
}

TEST(PyTorchJobTest, IsFinishedWhenSucceededOrFailed) {
  PyTorchJob job;
  job.conditions = {{"Running", "True"}, {"Failed", "False"}};
  EXPECT_FALSE(job.finished());
  job.conditions["Succeeded"] = "True";
  EXPECT_TRUE(job.finished());
}

TEST(PyTorchJobTest, WrongFieldsAreNamed) {
  const auto job = decodePyTorchJob(jobOf(
      R"({"metadata": {"name": "mini", "namespace": "n"}, "spec": {"runPolicy": {"suspend": "yes"},
          "pytorchReplicaSpecs": {"Worker": {"replicas": -1, "template": {}}}}})"));
  ASSERT_FALSE(job);
  const std::string text = job.error().toString();
  EXPECT_NE(text.find("spec.runPolicy.suspend"), std::string::npos) << text;
  EXPECT_NE(text.find("spec.pytorchReplicaSpecs.Worker.replicas"), std::string::npos) << text;
}

TEST(PyTorchJobTest, FailingKeepsForeignConditionsAndGuardsByVersion) {
  Json job = jobOf(kMiniJob);
  const Json patch = failPyTorchJob(job, "MainstayRetriesExhausted", "why", TimePoint{});
  EXPECT_EQ(findString(patch, "metadata", "resourceVersion"), "7");
  mergePatch(job, patch);
  const PyTorchJob failed = decodePyTorchJob(job).value();
  EXPECT_EQ(failed.conditions, (std::map<std::string, std::string>{
                                   {"Created", "True"}, {"Running", "False"}, {"Failed", "True"}}));
  EXPECT_EQ(findString(job, "status", "completionTime"), "1970-01-01T00:00:00Z");
}

}  // namespace
}  // namespace mainstay::api
