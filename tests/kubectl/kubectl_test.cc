// Drives the kubectl that is on PATH against the local cluster's API server: what a person types must work and look right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <set>

#include "api/core.h"
#include "base/file_system.h"
#include "base/loop.h"
#include "base/subprocess.h"
#include "kube/events.h"
#include "kube/watch_cache.h"
#include "local/api/direct_api.h"
#include "local/api/http_front.h"

namespace mainstay::local {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// Stands in for kubelets: confirms the end of every pod that is asked to stop.
class PodEnder final : public Loop {
 public:
  explicit PodEnder(kube::Api& api) : api_(api), pods_(api, api::kPods, api::decodePod, signal()) {}
  std::string_view name() const override { return "pod-ender"; }
  TimePoint step(TimePoint now) override {
    const TimePoint wake = pods_.sync(now);
    for (const auto& [key, pod] : pods_.objects()) {
      if (pod->meta.deleted) {
        ignore(kube::remove(api_, api::kPods, pod->meta.ns, pod->meta.name, pod->meta.uid, 0),
               "it may be gone already");
      }
    }
    return wake;
  }

 private:
  kube::Api& api_;
  kube::WatchCache<api::Pod> pods_;
};

class FixedLog final : public LogSource {
 public:
  Result<Chunk> read(const Json&, const std::string& container, bool, std::uint64_t offset) override {
    const std::string text = "first line\nsecond line of " + container + "\n";
    return Chunk{offset < text.size() ? text.substr(offset) : "", text.size(), true};
  }
};

class KubectlTest : public testing::Test {
 protected:
  struct Said {
    int code = -1;
    std::string text;  // both streams
  };

  void SetUp() override {
    server_.serveLogs(logs_);
    housekeeper_ = server_.housekeeper();
    driver_.start(housekeeper_);
    driver_.start(std::make_shared<PodEnder>(api_));
    auto http = HttpServer::listen({}, [this](const HttpRequest& request, HttpReply& reply) {
      countWatch(request);
      front_.handle(request, reply);
    });
    ASSERT_TRUE(http) << http.error().toString();
    http_ = *std::move(http);
    const std::string url = "http://127.0.0.1:" + std::to_string(http_->port());
    const Json config = JsonObject{
        {"apiVersion", "v1"},
        {"kind", "Config"},
        {"current-context", "local"},
        {"clusters", JsonArray{JsonObject{{"name", "local"}, {"cluster", JsonObject{{"server", url}}}}}},
        {"users", JsonArray{JsonObject{{"name", "me"}, {"user", JsonObject()}}}},
        {"contexts", JsonArray{JsonObject{{"name", "local"},
                                          {"context", JsonObject{{"cluster", "local"}, {"user", "me"}}}}}}};
    ASSERT_TRUE(RealFileSystem().write(folder_.path() + "/kubeconfig", toText(config)));
    createNode("node-a");
    createNode("node-b");
  }

  void countWatch(const HttpRequest& request) {
    if (request.target.find("watch=true") != std::string::npos) {
      const std::lock_guard lock(mutex_);
      ++watches_;
      changed_.notify_all();
    }
  }
  std::size_t watches() {
    const std::lock_guard lock(mutex_);
    return watches_;
  }

  Said kubectl(const std::vector<std::string>& arguments) {
    Command command;
    command.arguments = {"kubectl", "--kubeconfig", folder_.path() + "/kubeconfig"};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.environment = safeEnvironment();
    command.environment["HOME"] = folder_.path();  // kubectl keeps its caches there
    auto output = run(command, Deadline::after(std::chrono::seconds(60)));
    if (!output) {
      ADD_FAILURE() << "this test needs kubectl on PATH (Debian: apt install kubernetes-client): "
                    << output.error().toString();
      return {};
    }
    return {output->status.code, output->text};
  }
  // What it says when it succeeds.
  std::string said(const std::vector<std::string>& arguments) {
    const Said result = kubectl(arguments);
    EXPECT_EQ(result.code, 0) << result.text;
    return result.text;
  }

  // Of the client: 32 of "v1.32.4".
  int minorVersion() {
    const std::string text = said({"version", "--client"});
    const std::size_t at = text.find("v1.");
    return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + 3);
  }

  std::string taintKeys(const std::string& name) {
    std::set<std::string> keys;
    const Json found = node(name);
    for (const Json& taint : found.at("spec").at("taints").as_array()) {
      keys.insert(findString(taint, "key"));
    }
    std::string text;
    for (const std::string& key : keys) {
      text += key + " ";
    }
    return text;
  }

  void create(const api::Resource& resource, const std::string& ns, std::string_view body) {
    const auto object = parseJson(body);
    ASSERT_TRUE(object) << object.error().toString();
    const auto made = kube::create(api_, resource, ns, *object, "test");
    ASSERT_TRUE(made) << made.error().toString();
  }
  void createNode(const std::string& name) {
    create(api::kNodes, "", R"({"metadata":{"name":")" + name + R"("},"status":{
        "conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","message":"kubelet is posting ready status"}],
        "addresses":[{"type":"InternalIP","address":"127.1.0.1"}],"nodeInfo":{"kubeletVersion":"v1.34.0"},
        "allocatable":{"cpu":"8"},"capacity":{"cpu":"8"}}})");
  }
  void createPod(const std::string& name, const std::string& node, const std::string& labels = "{}") {
    create(api::kPods, "default",
           R"({"metadata":{"name":")" + name + R"(","labels":)" + labels + R"(},
        "spec":{"nodeName":")" +
               node + R"(","containers":[{"name":"main","image":"trainer"}]}})");
    const auto status =
        parseJson(R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],
        "containerStatuses":[{"name":"main","ready":true,"restartCount":0,"state":{"running":{}}}]}})");
    ASSERT_TRUE(
        kube::patch(api_, api::kPods, "default", name, kube::Body::kMergePatch, *status, "test", "status"));
  }
  Json node(const std::string& name) {
    const auto found = kube::get(api_, api::kNodes, "", name);
    return found ? *found : Json();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t watches_ = 0;  // guarded by mutex_: how many have been asked for over HTTP
  TemporaryFolder folder_{"mainstay-kubectl"};
  SteadyWallClock clock_;
  ApiServer server_{clock_, {}};
  DirectApi api_{server_};
  HttpFront front_{server_, clock_};
  FixedLog logs_;
  std::shared_ptr<Loop> housekeeper_;
  RealDriver driver_{clock_};         // stops its loops before what they use goes
  std::unique_ptr<HttpServer> http_;  // and no request is under way by then
};

TEST_F(KubectlTest, GetShowsTheColumnsThatPeopleExpect) {
  createPod("trainer-0", "node-a");
  EXPECT_THAT(said({"get", "nodes"}), AllOf(ContainsRegex("NAME +STATUS +ROLES +AGE +VERSION"),
                                            ContainsRegex("node-a +Ready +<none> +[0-9]+s +v1.34.0")));
  EXPECT_THAT(said({"get", "nodes", "-o", "wide"}), ContainsRegex("INTERNAL-IP.*\n.*127\\.1\\.0\\.1"));
  EXPECT_THAT(said({"get", "pods", "-A", "-o", "wide"}),
              ContainsRegex("default +trainer-0 +1/1 +Running +0 +[0-9]+s +<none> +node-a"));
  EXPECT_THAT(said({"get", "ns"}), ContainsRegex("kube-system +Active"));
  EXPECT_THAT(said({"get", "pods", "-l", "app=none"}), HasSubstr("No resources found in default namespace"));
  EXPECT_THAT(said({"get", "node", "node-a", "-o", "jsonpath={.status.allocatable.cpu}"}), HasSubstr("8"));
}

TEST_F(KubectlTest, GetShowsEventsAndLeases) {
  create(api::kEvents, "default", R"({"metadata":{"name":"e"},"type":"Warning","reason":"NeuronHealth",
      "message":"DMA error","involvedObject":{"kind":"Node","name":"node-a"},"lastTimestamp":"2026-01-01T00:00:00Z"})");
  create(api::kLeases, "kube-node-lease",
         R"({"metadata":{"name":"node-a"},"spec":{"holderIdentity":"node-a"}})");
  EXPECT_THAT(said({"get", "events"}), ContainsRegex("Warning +NeuronHealth +node/node-a +DMA error"));
  EXPECT_THAT(said({"get", "leases", "-n", "kube-node-lease"}), ContainsRegex("node-a +node-a +[0-9]+s"));
}

TEST_F(KubectlTest, GetShowsThePrinterColumnsOfACustomKind) {
  create(api::kCustomResourceDefinitions, "",
         R"({"metadata":{"name":"probes.example.com"},"spec":{"group":"example.com",
      "scope":"Cluster","names":{"plural":"probes","kind":"Probe","shortNames":["pb"]},"versions":[{"name":"v1",
      "served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},
      "additionalPrinterColumns":[{"name":"Phase","type":"string","jsonPath":".spec.phase"}]}]}})");
  create({"example.com", "v1", "probes", "Probe", false}, "",
         R"({"apiVersion":"example.com/v1","kind":"Probe","metadata":{"name":"p"},"spec":{"phase":"Held"}})");
  EXPECT_THAT(said({"get", "pb"}), ContainsRegex("NAME +PHASE\np +Held"));
  EXPECT_THAT(said({"get", "crds"}), HasSubstr("probes.example.com"));
}

TEST_F(KubectlTest, DescribeNodeShowsConditionsPodsAndEvents) {
  createPod("trainer-0", "node-a");
  create(api::kEvents, "default",
         R"({"metadata":{"name":"e"},"type":"Warning","reason":"Drained","message":"all gone",
      "involvedObject":{"kind":"Node","name":"node-a","uid":"node-a"},"source":{"component":"mainstay"}})");
  EXPECT_THAT(said({"describe", "node", "node-a"}),
              AllOf(ContainsRegex("Ready +True .*KubeletReady"), ContainsRegex("default +trainer-0"),
                    HasSubstr("Unschedulable:"), ContainsRegex("Warning +Drained .*all gone")));
}

TEST_F(KubectlTest, ShowsTheEventsOfANodeThatOurRecorderWrites) {
  const std::string uid = findString(node("node-a"), "metadata", "uid");
  ASSERT_FALSE(uid.empty());
  kube::EventRecorder recorder(api_, "kernel-monitor", "node-a");
  ASSERT_TRUE(recorder.record({"v1", "Node", "", "node-a", uid}, "Warning", "OOMKilling", "100% of it",
                              clock_.now()));
  ASSERT_TRUE(recorder.record({"v1", "Node", "kube-system", "node-a", uid}, "Warning", "TaskHung",
                              "task sh:1", clock_.now()));
  EXPECT_THAT(said({"describe", "node", "node-a"}),
              ContainsRegex("Warning +OOMKilling +[0-9]+s +kernel-monitor +100% of it"));
  EXPECT_THAT(said({"describe", "node", "node-b"}), Not(HasSubstr("OOMKilling")));
  if (minorVersion() >= 26) {  // the command is younger than Debian's kubectl
    EXPECT_THAT(said({"events", "--for=node/node-a"}),
                ContainsRegex("Warning +OOMKilling +Node/node-a +100% of it"));
    EXPECT_THAT(said({"events", "--for=node/node-a", "-n", "kube-system"}), HasSubstr("TaskHung"));
    EXPECT_THAT(said({"events", "--for=node/node-b"}), Not(HasSubstr("OOMKilling")));
  }
}

TEST_F(KubectlTest, LabelsAnnotatesAndTaints) {
  EXPECT_THAT(said({"label", "node", "node-a", "zone=z1"}), HasSubstr("node/node-a labeled"));
  EXPECT_THAT(said({"annotate", "node", "node-a", "note=x"}), HasSubstr("node/node-a annotated"));
  EXPECT_THAT(said({"taint", "node", "node-a", "a=b:NoSchedule", "c=d:NoExecute"}),
              HasSubstr("node/node-a tainted"));
  EXPECT_EQ(findString(node("node-a"), "metadata", "labels", "zone"), "z1");
  EXPECT_EQ(findString(node("node-a"), "metadata", "annotations", "note"), "x");
  EXPECT_EQ(taintKeys("node-a"), "a c node.kubernetes.io/not-ready ");
  EXPECT_THAT(said({"taint", "node", "node-a", "a-"}), HasSubstr("untainted"));
  EXPECT_EQ(taintKeys("node-a"), "c node.kubernetes.io/not-ready ");
  EXPECT_THAT(said({"label", "node", "node-a", "zone-"}), HasSubstr("node/node-a"));
  EXPECT_EQ(find(node("node-a"), "metadata", "labels", "zone"), nullptr);
}

TEST_F(KubectlTest, CordonsDrainsAndUncordons) {
  createPod("trainer-0", "node-a");
  createPod("trainer-1", "node-b");
  EXPECT_THAT(said({"drain", "node-a", "--force", "--timeout=40s"}),
              AllOf(HasSubstr("node/node-a cordoned"), HasSubstr("pod/trainer-0 evicted")));
  EXPECT_THAT(said({"get", "nodes"}), ContainsRegex("node-a +Ready,SchedulingDisabled"));
  EXPECT_THAT(said({"get", "pods"}), AllOf(HasSubstr("trainer-1"), Not(HasSubstr("trainer-0"))));
  EXPECT_THAT(said({"uncordon", "node-a"}), HasSubstr("node/node-a uncordoned"));
}

TEST_F(KubectlTest, DrainTellsWhichBudgetHoldsAPod) {
  createPod("trainer-0", "node-a", R"({"app":"x"})");
  create(api::kPodDisruptionBudgets, "default",
         R"({"metadata":{"name":"keep"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"x"}}}})");
  const Said drain = kubectl({"drain", "node-a", "--force", "--timeout=1s"});
  EXPECT_NE(drain.code, 0);
  EXPECT_THAT(drain.text, HasSubstr("Cannot evict pod as it would violate the pod's disruption budget"));
  EXPECT_THAT(said({"get", "pdb"}), ContainsRegex("keep +1 +N/A +0 "));
}

TEST_F(KubectlTest, DeletesAndWaits) {
  createPod("trainer-0", "node-a");
  EXPECT_THAT(said({"delete", "pod", "trainer-0", "--timeout=40s"}), HasSubstr("pod \"trainer-0\" deleted"));
  EXPECT_THAT(said({"delete", "node", "node-b"}), HasSubstr("node \"node-b\" deleted"));
  EXPECT_THAT(said({"wait", "--for=condition=Ready", "node/node-a", "--timeout=40s"}),
              HasSubstr("condition met"));
  const Said missing = kubectl({"get", "node", "node-b"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.text, HasSubstr("Error from server (NotFound): nodes \"node-b\" not found"));
}

// A wait that is under way when what it waits for comes about.
class KubectlWaitTest : public KubectlTest {
 protected:
  // Begins `kubectl wait ARGUMENTS`, and returns when it watches.
  void beginWait(std::vector<std::string> arguments) {
    const std::size_t before = watches();
    arguments.insert(arguments.begin(), "wait");
    arguments.emplace_back("--timeout=40s");
    waiting_ = std::async(std::launch::async, [this, arguments] { return kubectl(arguments); });
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(40), [&] { return watches_ > before; }));
  }
  std::string waited() {
    const Said result = waiting_.get();
    EXPECT_EQ(result.code, 0) << result.text;
    return result.text;
  }
  void patchStatus(const api::Resource& resource, const std::string& ns, const std::string& name,
                   const std::string& status) {
    const auto patch = parseJson(R"({"status":)" + status + "}");
    ASSERT_TRUE(kube::patch(api_, resource, ns, name, kube::Body::kMergePatch, *patch, "test", "status"));
  }

 private:
  std::future<Said> waiting_;
};

TEST_F(KubectlWaitTest, ForAConditionThatComesLater) {
  patchStatus(api::kNodes, "", "node-a", R"({"conditions":[{"type":"Ready","status":"False"}]})");
  beginWait({"--for=condition=Ready", "node/node-a"});
  patchStatus(api::kNodes, "", "node-a", R"({"conditions":[{"type":"Ready","status":"True"}]})");
  EXPECT_THAT(waited(), HasSubstr("node/node-a condition met"));
}

TEST_F(KubectlWaitTest, ForAFieldThatComesLater) {
  createPod("trainer-0", "node-a");
  beginWait({"--for=jsonpath={.status.phase}=Succeeded", "pod/trainer-0"});
  patchStatus(api::kPods, "default", "trainer-0", R"({"phase":"Succeeded"})");
  EXPECT_THAT(waited(), HasSubstr("pod/trainer-0 condition met"));
}

TEST_F(KubectlWaitTest, ForAnEnd) {
  beginWait({"--for=delete", "node/node-b"});
  ASSERT_TRUE(kube::remove(api_, api::kNodes, "", "node-b", ""));
  EXPECT_THAT(waited(), HasSubstr("node/node-b condition met"));
}

TEST_F(KubectlTest, WaitEndsWithAnErrorWhenItsTimeIsOver) {
  const Said late = kubectl({"wait", "--for=condition=Other", "node/node-a", "--timeout=1s"});
  EXPECT_EQ(late.code, 1);
  EXPECT_THAT(late.text, HasSubstr("timed out waiting for the condition on nodes/node-a"));
}

TEST_F(KubectlTest, ReadsLogs) {
  createPod("trainer-0", "node-a");
  EXPECT_EQ(said({"logs", "trainer-0"}), "first line\nsecond line of main\n");
  EXPECT_EQ(said({"logs", "trainer-0", "--tail=1"}), "second line of main\n");
  EXPECT_EQ(said({"logs", "-f", "trainer-0", "-c", "main"}), "first line\nsecond line of main\n");
  EXPECT_THAT(kubectl({"logs", "trainer-0", "-c", "other"}).text,
              HasSubstr("container other is not valid for pod"));
}

class KubectlApplyTest : public KubectlTest {
 protected:
  // `kubectl apply -f` of a file with this content.
  std::vector<std::string> apply(const std::string& content, const std::vector<std::string>& more = {}) {
    const std::string file = folder_.path() + "/applied.yaml";
    EXPECT_TRUE(RealFileSystem().write(file, content));
    // Older ones ask for OpenAPI v2 in protobuf, which is not served, before they send anything.
    const std::string validate = minorVersion() < 27 ? "--validate=false" : "--validate=true";
    std::vector<std::string> arguments{"apply", validate, "-f", file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static std::string map(const std::string& value) {
    return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: " + value + "}\n";
  }
  std::string value() { return said({"get", "configmap", "m", "-o", "jsonpath={.data.a}"}); }
};

TEST_F(KubectlApplyTest, AppliesAFileTwice) {
  EXPECT_THAT(said(apply(map("one"))), HasSubstr("configmap/m created"));
  EXPECT_THAT(said(apply(map("one"))), HasSubstr("configmap/m unchanged"));
  EXPECT_THAT(said(apply(map("two"))), HasSubstr("configmap/m configured"));
  EXPECT_EQ(value(), "two");
}

TEST_F(KubectlApplyTest, RemovesWhatTheFileNoLongerSaysAndKeepsWhatOthersWrote) {
  said(apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: one, b: two}\n"));
  said({"annotate", "configmap", "m", "note=x"});
  said(apply(map("one")));
  EXPECT_EQ(said({"get", "configmap", "m", "-o", "jsonpath={.data}"}), R"({"a":"one"})");
  EXPECT_EQ(said({"get", "configmap", "m", "-o", "jsonpath={.metadata.annotations.note}"}), "x");
}

TEST_F(KubectlApplyTest, AppliesOnTheServerAndTellsWhomItWouldOverrule) {
  EXPECT_THAT(said(apply(map("one"), {"--server-side"})), HasSubstr("configmap/m serverside-applied"));
  const Said refused = kubectl(apply(map("two"), {"--server-side", "--field-manager=other"}));
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.text, HasSubstr("conflict with \"kubectl\": .data.a"));
  EXPECT_EQ(value(), "one");
  said(apply(map("two"), {"--server-side", "--field-manager=other", "--force-conflicts"}));
  EXPECT_EQ(value(), "two");
}

TEST_F(KubectlApplyTest, WaitsForACustomKindAndAppliesAnObjectOfIt) {
  EXPECT_THAT(said(apply(R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: probes.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: probes, kind: Probe}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object,
     properties: {phase: {type: string}}}}}}}
)")),
              HasSubstr("created"));
  EXPECT_THAT(said({"wait", "--for=condition=Established", "crd/probes.example.com", "--timeout=40s"}),
              HasSubstr("condition met"));
  const std::string probe = "apiVersion: example.com/v1\nkind: Probe\nmetadata: {name: p}\nspec: {phase: ";
  EXPECT_THAT(said(apply(probe + "Held}\n")), HasSubstr("probe.example.com/p created"));
  EXPECT_THAT(said(apply(probe + "Open}\n")), HasSubstr("probe.example.com/p configured"));
  EXPECT_EQ(said({"get", "probe", "p", "-o", "jsonpath={.spec.phase}"}), "Open");
}

}  // namespace
}  // namespace mainstay::local
