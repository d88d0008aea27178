#include "local/cluster/container_spec.h"

#include <gtest/gtest.h>

#include "base/yaml.h"
#include "local/api/json_access.h"

namespace mainstay::local {
namespace {

const PodSite kSite{"node-a", "127.5.0.1", "127.5.0.2", "/run/pods/p", "/run/host"};

Result<std::optional<std::string>> noNames(const std::string&) {
  return std::nullopt;
}

// The first container of a pod whose spec is `spec`.
Result<ContainerSpec> resolve(std::string_view spec,
                              const std::vector<std::string>& entryPoint = {"/bin/entry"},
                              const LookUpName& lookUp = noNames) {
  Json pod{{"metadata",
            {{"name", "p-0"},
             {"namespace", "ns"},
             {"uid", "u-1"},
             {"labels", {{"app", "x"}}},
             {"annotations", {{"a.b/c", "note"}}}}}};
  pod.get_object()["spec"] = parseYaml(spec, "test").value().at(0).value;
  return resolveContainer(pod, arrayAt(pod, "spec", "containers").at(0), kSite, entryPoint, lookUp);
}

TEST(ExpandVariablesTest, ReplacesKnownNamesAndLeavesTheRest) {
  const std::map<std::string, std::string> values = {{"A", "1"}, {"B", ""}};
  EXPECT_EQ(expandVariables("$(A)/$(B)/$(C)", values), "1//$(C)");
  EXPECT_EQ(expandVariables("$$(A) $A $(", values), "$(A) $A $(");
}

TEST(ResolveContainerTest, CommandReplacesTheEntryPointAndArgsFollow) {
  EXPECT_EQ(resolve("containers: [{name: c, args: [a]}]")->arguments,
            (std::vector<std::string>{"/bin/entry", "a"}));
  EXPECT_EQ(resolve("containers: [{name: c, command: [sh, -c], args: [x]}]")->arguments,
            (std::vector<std::string>{"sh", "-c", "x"}));
}

TEST(ResolveContainerTest, AnImagesOwnProgramIsFoundByItsName) {
  EXPECT_EQ(resolve("containers: [{name: c, command: [entry]}]")->arguments,
            std::vector<std::string>{"/bin/entry"});
}

TEST(ResolveContainerTest, EnvironmentKnowsEarlierVariablesAndFieldsOfThePod) {
  const auto spec = resolve(R"yaml(
containers:
  - name: c
    args: ["--node=$(NODE)", "$(BOTH)"]
    env:
      - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
      - {name: BOTH, value: "$(NODE):$(LATER)"}
      - {name: LATER, value: late}
      - {name: APP, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app']"}}}
      - {name: NOTE, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['a.b/c']"}}}
      - {name: UID_, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
      - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
)yaml");
  ASSERT_TRUE(spec) << spec.error().toString();
  EXPECT_EQ(spec->arguments, (std::vector<std::string>{"/bin/entry", "--node=node-a", "node-a:$(LATER)"}));
  EXPECT_EQ(spec->environment.at("APP"), "x");
  EXPECT_EQ(spec->environment.at("NOTE"), "note");
  EXPECT_EQ(spec->environment.at("UID_"), "u-1");
  EXPECT_EQ(spec->environment.at("IP"), "127.5.0.2");
  EXPECT_EQ(spec->environment.at("HOSTNAME"), "p-0");
}

TEST(ResolveContainerTest, PathsBelowAMountLeadToTheFolderMountedThere) {
  const auto spec = resolve(R"yaml(
volumes:
  - {name: shared, hostPath: {path: /checkpoints/, type: DirectoryOrCreate}}
  - {name: scratch, emptyDir: {}}
containers:
  - name: c
    workingDir: /data
    args: [/data, /data/x, /database, --dir=/data/inner/y, "see /data"]
    env: [{name: DIR, value: /data/inner}]
    volumeMounts:
      - {name: shared, mountPath: /data/}
      - {name: scratch, mountPath: /data/inner}
)yaml");
  ASSERT_TRUE(spec) << spec.error().toString();
  EXPECT_EQ(spec->arguments,
            (std::vector<std::string>{"/bin/entry", "/run/host/checkpoints", "/run/host/checkpoints/x",
                                      "/database", "--dir=/run/pods/p/volumes/scratch/y", "see /data"}));
  EXPECT_EQ(spec->environment.at("DIR"), "/run/pods/p/volumes/scratch");
  EXPECT_EQ(spec->workingFolder, "/run/host/checkpoints");
  EXPECT_EQ(spec->folders,
            (std::vector<std::string>{"/run/host/checkpoints", "/run/pods/p/volumes/scratch"}));
}

TEST(ResolveContainerTest, TheTerminationMessagePathIsAFileOfThePod) {
  const auto spec = resolve("containers: [{name: c, args: [/dev/termination-log]}]");
  EXPECT_EQ(spec->arguments.at(1), "/run/pods/p/c-termination-log");
  EXPECT_EQ(spec->terminationMessageFile, "/run/pods/p/c-termination-log");
}

TEST(ResolveContainerTest, AValueThatNamesAServiceBecomesItsAddress) {
  const LookUpName lookUp = [](const std::string& name) -> Result<std::optional<std::string>> {
    if (name == "job-master-0") {
      return "127.5.0.9";
    }
    if (name == "not-yet") {
      return fail(Code::kUnavailable, "no pod yet");
    }
    return std::nullopt;
  };
  const auto spec = resolve(R"yaml(
containers:
  - name: c
    args: [$(MASTER_ADDR)]
    env: [{name: MASTER_ADDR, value: job-master-0}, {name: MODE, value: fast}]
)yaml",
                            {"e"}, lookUp);
  EXPECT_EQ(spec->environment.at("MASTER_ADDR"), "127.5.0.9");
  EXPECT_EQ(spec->environment.at("MODE"), "fast");
  EXPECT_EQ(spec->arguments.at(1), "127.5.0.9");
  const auto early = resolve("containers: [{name: c, env: [{name: A, value: not-yet}]}]", {"e"}, lookUp);
  EXPECT_EQ(early.error().code(), Code::kUnavailable);
}

TEST(ResolveContainerTest, RefusesWhatIsNotModelledAndNamesIt) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"containers: [{name: c, envFrom: [{configMapRef: {name: x}}]}]", "envFrom is not modelled"},
      {"containers: [{name: c, env: [{name: A, valueFrom: {secretKeyRef: {name: x}}}]}]", "env A: valueFrom"},
      {"containers: [{name: c, env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.x}}}]}]", "spec.x"},
      {"{volumes: [{name: v, secret: {}}], containers: [{name: c, volumeMounts: [{name: v, mountPath: "
       "/x}]}]}",
       "volume \"v\""},
      {"containers: [{name: c, volumeMounts: [{name: v, mountPath: /x}]}]", "volume \"v\""},
  };
  for (const auto& [spec, message] : wrong) {
    const auto resolved = resolve(spec);
    ASSERT_FALSE(resolved) << spec;
    EXPECT_EQ(resolved.error().code(), Code::kInvalidArgument);
    EXPECT_NE(resolved.error().toString().find(message), std::string::npos) << resolved.error().toString();
  }
  EXPECT_FALSE(resolve("containers: [{name: c}]", {}));
}

}  // namespace
}  // namespace mainstay::local
