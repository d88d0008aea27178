#include "agent/options.h"

#include <gtest/gtest.h>
#include <linux/capability.h>

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;

const Environment kNoEnvironment = [](const std::string&) { return std::string(); };

Options parsed(std::vector<const char*> arguments) {
  Options options;
  Flags flags("mainstay-agent", "test");
  addFlags(flags, options);
  arguments.insert(arguments.begin(), "mainstay-agent");
  EXPECT_EQ(flags.parse(static_cast<int>(arguments.size()), arguments.data()), std::nullopt);
  return options;
}

std::string complaint(std::vector<const char*> arguments) {
  const Result<> checked = checkOptions(parsed(std::move(arguments)));
  return checked ? "" : checked.error().toString();
}

TEST(AgentOptionsTest, TakesTheCommandLineOfNodeProblemDetectorsDaemonSet) {
  const Options options =
      parsed({"--logtostderr", "--v=2", "--config.system-log-monitor=/config/a.json,/config/b.json",
              "--k8s-exporter-heartbeat-period=1m30s", "--port", "0", "--k8s-exporter-write-events=false"});
  EXPECT_EQ(options.systemLogMonitors, (std::vector<std::string>{"/config/a.json", "/config/b.json"}));
  EXPECT_EQ(options.heartbeatPeriod, 90s);
  EXPECT_EQ(options.port, 0);
  EXPECT_FALSE(options.writeEvents);
  EXPECT_TRUE(checkOptions(options));
  EXPECT_TRUE(checkOptions(parsed({"--system-log-monitors=/config/a.json"})));
  EXPECT_TRUE(checkOptions(parsed({"--config.system-stats-monitor=/config/a.json"})));
  EXPECT_TRUE(checkOptions(parsed({"--config.custom-plugin-monitor=/config/a.json"})));
  EXPECT_TRUE(checkOptions(parsed({"--custom-plugin-monitors=/config/a.json"})));
}

// Every flag that node-problem-detector registers, with its default where it has one.
TEST(AgentOptionsTest, TakesEveryFlagOfNodeProblemDetector) {
  parsed({"--config.system-log-monitor=a",
          "--config.custom-plugin-monitor=a",
          "--config.system-stats-monitor=a",
          "--system-log-monitors=a",
          "--custom-plugin-monitors=a",
          "--enable-k8s-exporter=true",
          "--event-namespace=",
          "--apiserver-override=",
          "--apiserver-wait-timeout=5m0s",
          "--apiserver-wait-interval=5s",
          "--k8s-exporter-heartbeat-period=5m0s",
          "--k8s-exporter-write-events=true",
          "--k8s-exporter-update-node-conditions=true",
          "--kube-api-qps=500",
          "--kube-api-burst=500",
          "--hostname-override=",
          "--address=127.0.0.1",
          "--port=20256",
          "--prometheus-address=127.0.0.1",
          "--prometheus-port=20257",
          "--exporter.stackdriver=",
          "--version=false",
          "--v=0",
          "--vmodule=a=1",
          "--logtostderr=true"});
  const Options defaults = parsed({});
  EXPECT_TRUE(defaults.enableK8sExporter);
  EXPECT_EQ(defaults.apiserverWaitTimeout, 5min);
  EXPECT_EQ(defaults.apiserverWaitInterval, 5s);
  EXPECT_EQ(defaults.heartbeatPeriod, 5min);
  EXPECT_TRUE(defaults.writeEvents);
  EXPECT_TRUE(defaults.updateNodeConditions);
  EXPECT_EQ(defaults.kubeApiQps, 500);
  EXPECT_EQ(defaults.kubeApiBurst, 500);
  EXPECT_EQ(defaults.port, 20256);
  EXPECT_EQ(defaults.prometheusAddress, "127.0.0.1");
  EXPECT_EQ(defaults.prometheusPort, 20257);
}

TEST(AgentOptionsTest, SaysWhatContradictsItselfOrIsMissing) {
  EXPECT_NE(complaint({}).find("no monitor is configured"), std::string::npos);
  EXPECT_NE(complaint({"--config.system-log-monitor=a", "--system-log-monitors=b"}).find("deprecated"),
            std::string::npos);
  EXPECT_NE(complaint({"--config.system-log-monitor=a", "--enable-k8s-exporter=false", "--prometheus-port=0"})
                .find("no exporter is on"),
            std::string::npos);
  EXPECT_NE(complaint({"--config.custom-plugin-monitor=a", "--custom-plugin-monitors=b"}).find("deprecated"),
            std::string::npos);
  EXPECT_NE(complaint({"--config.system-log-monitor=a", "--also-conditions=eks,hyperpot"})
                .find("there is no vocabulary \"hyperpot\", did you mean hyperpod?"),
            std::string::npos);
  EXPECT_NE(complaint({"--config.system-log-monitor=a", "--exporter.stackdriver=b"})
                .find("the Stackdriver exporter is not in this release"),
            std::string::npos);
  EXPECT_NE(complaint({"--config.system-log-monitor=a", "--kubeconfig=k", "--apiserver-override=http://x"})
                .find("only one of them"),
            std::string::npos);
}

TEST(AgentOptionsTest, ServesPlainTextOnLoopbackUnlessGivenACertificate) {
  const Options plain = parsed({});
  EXPECT_EQ(statusServer(plain).address, "127.0.0.1");
  EXPECT_EQ(metricsServer(plain).tls.certificate, "");
  const Options secured =
      parsed({"--config.system-log-monitor=a", "--tls-cert-file=c", "--tls-private-key-file=k",
              "--tls-client-ca-file=ca", "--prometheus-address=0.0.0.0"});
  EXPECT_TRUE(checkOptions(secured));
  EXPECT_EQ(metricsServer(secured).tls.clientCa, "ca");
  EXPECT_EQ(statusServer(secured).tls.certificate, "c");
  EXPECT_EQ(statusServer(secured).tls.clientCa, "") << "the kubelet's probes show no certificate";
  EXPECT_NE(complaint({"--config.system-log-monitor=a", "--tls-private-key-file=k"}).find("--tls-cert-file"),
            std::string::npos);
}

TEST(AgentOptionsTest, NodeNameComesFromFlagThenEnvironmentThenHost) {
  const Environment environment = [](const std::string& name) {
    return name == "NODE_NAME" ? std::string("from-environment") : std::string();
  };
  EXPECT_EQ(nodeName(parsed({"--hostname-override=from-flag"}), environment), "from-flag");
  EXPECT_EQ(nodeName(parsed({}), environment), "from-environment");
  EXPECT_FALSE(nodeName(parsed({}), kNoEnvironment).empty());
}

constexpr char kKubeconfig[] =
    "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
    "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
    "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]\n"
    "users: [{name: u, user: {token: secret}}]\n";

TEST(ApiConfigTest, AnExplicitConfigNeverFallsBack) {
  const FakeFileSystem files({{"/good", kKubeconfig}, {"/bad", "rubbish: ["}});
  const Environment inPod = [](const std::string& name) {
    return name == "KUBERNETES_SERVICE_HOST" ? std::string("10.0.0.1") : std::string();
  };
  const auto good = apiConfig(parsed({"--kubeconfig=/good"}), inPod, files);
  ASSERT_TRUE(good) << good.error().toString();
  EXPECT_EQ(good->server, "http://127.0.0.1:1");
  EXPECT_FALSE(apiConfig(parsed({"--kubeconfig=/bad"}), inPod, files));
  EXPECT_FALSE(apiConfig(parsed({"--kubeconfig=/none"}), inPod, files));
}

TEST(ApiConfigTest, OutsideAClusterTheServerMustBeNamed) {
  const FakeFileSystem files;
  const auto config = apiConfig(parsed({}), kNoEnvironment, files);
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().toString().find("--kubeconfig"), std::string::npos);
}

TEST(ApiConfigTest, OverrideIsThatOfNodeProblemDetector) {
  const FakeFileSystem files(std::map<std::string, std::string>{{"/good", kKubeconfig}});
  const auto override = [&](const std::string& uri) {
    Options options;
    options.apiserverOverride = uri;
    return apiConfig(options, kNoEnvironment, files);
  };
  EXPECT_EQ(override("http://127.0.0.1:8080?inClusterConfig=false")->server, "http://127.0.0.1:8080");
  const auto withAuth = override("https://x:6443/?inClusterConfig=false&insecure=true&auth=/good");
  ASSERT_TRUE(withAuth) << withAuth.error().toString();
  EXPECT_EQ(withAuth->server, "https://x:6443");
  EXPECT_EQ(withAuth->token, "secret");
  EXPECT_FALSE(withAuth->verifyTls);
  EXPECT_FALSE(
      override("http://127.0.0.1:8080?inClusterConfig=false&useServiceAccount=true")->tokenFile.empty());
  for (const char* bad : {"127.0.0.1:8080", "http://", "http://x?insecure=yes", "?inClusterConfig=false",
                          "http://x?auth=/good", "http://x"}) {
    EXPECT_FALSE(override(bad)) << bad;
  }
}

TEST(AgentOptionsTest, AsksForNoMoreRightsThanItsSourcesTake) {
  const Capabilities reading = capability(CAP_DAC_READ_SEARCH);
  EXPECT_EQ(neededCapabilities(parsed({"--config.system-stats-monitor=/a.json"})), reading);
  for (const char* log :
       {"--rule-packs=shipped", "--config.system-log-monitor=/a.json", "--system-log-monitors=/a.json"}) {
    EXPECT_EQ(neededCapabilities(parsed({log})), reading | capability(CAP_SYSLOG)) << log;
  }
  EXPECT_EQ(neededCapabilities(parsed({"--probes=storage"})),
            reading | capability(CAP_SYS_ADMIN) | capability(CAP_SYS_PTRACE) | capability(CAP_SYS_RAWIO));
  EXPECT_EQ(neededCapabilities(parsed({"--port=80"})), reading | capability(CAP_NET_BIND_SERVICE));
  for (const char* plugin : {"--config.custom-plugin-monitor=/a.json", "--custom-plugin-monitors=/a.json"}) {
    EXPECT_EQ(neededCapabilities(parsed({plugin})), kAllCapabilities) << plugin;
  }
}

}  // namespace
}  // namespace mainstay::agent
