#include "agent/tools/health_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "base/http_server.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Environment environmentWith(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto variable = variables.find(name);
    return variable == variables.end() ? std::string() : variable->second;
  };
}

TEST(HealthEndpointTest, IsOverriddenByTheEnvironment) {
  const struct {
    std::map<std::string, std::string> environment;
    const char* kubelet;
    const char* kubeProxy;
  } kCases[] = {
      {{}, "http://localhost:10248/healthz", "http://localhost:10256/livez"},
      {{{"HOST_ADDRESS", "samplehost.testdomain.com"}},
       "http://samplehost.testdomain.com:10248/healthz",
       "http://samplehost.testdomain.com:10256/livez"},
      {{{"HOST_ADDRESS", "10.0.5.4"}}, "http://10.0.5.4:10248/healthz", "http://10.0.5.4:10256/livez"},
      {{{"HOST_ADDRESS", "80:f4:16::1"}},
       "http://[80:f4:16::1]:10248/healthz",
       "http://[80:f4:16::1]:10256/livez"},
      {{{"KUBELET_PORT", "12345"}}, "http://localhost:12345/healthz", "http://localhost:10256/livez"},
      {{{"KUBEPROXY_PORT", "12345"}}, "http://localhost:10248/healthz", "http://localhost:12345/livez"},
      {{{"HOST_ADDRESS", "10.0.10.1"}, {"KUBELET_PORT", "12345"}, {"KUBEPROXY_PORT", "12346"}},
       "http://10.0.10.1:12345/healthz",
       "http://10.0.10.1:12346/livez"}};
  for (const auto& test : kCases) {
    EXPECT_EQ(healthEndpoint("kubelet", environmentWith(test.environment)), test.kubelet);
    EXPECT_EQ(healthEndpoint("kube-proxy", environmentWith(test.environment)), test.kubeProxy);
  }
}

// A machine whose programs are scripts of the test, each of which notes that it was called and how.
class HealthCheckerTest : public ::testing::Test {
 protected:
  HealthCheckerTest() : path_(std::getenv("PATH")) {
    ::setenv("PATH", (folder.path() + ":/usr/bin:/bin").c_str(), 1);
    uptime(20s);  // as long as the machine itself is up for sure
    options.cooldownTime = 10s;
  }
  ~HealthCheckerTest() override { ::setenv("PATH", path_.c_str(), 1); }

  void program(const std::string& name, const std::string& body) {
    const std::string file = folder.path() + "/" + name;
    std::ofstream(file) << "#!/bin/sh\necho \"" << name << " $*\" >> " << folder.path() << "/calls\n"
                        << body << "\n";
    ::chmod(file.c_str(), 0755);
  }
  // systemctl answers that the service was started so long ago.
  void uptime(Duration span) {
    const auto now = std::chrono::floor<Duration>(std::chrono::steady_clock::now().time_since_epoch());
    program("systemctl", "[ \"$1\" != show ] || echo InactiveExitTimestampMonotonic=" +
                             std::to_string((now - span).count()));
  }
  // What kubelet answers to GET /healthz.
  Environment kubelet(int status) {
    auto answer = [status](const HttpRequest& request, HttpReply& reply) {
      reply.send({.status = request.target == "/healthz" ? status : 404});
    };
    server_ = *HttpServer::listen({}, answer);
    return environmentWith(
        {{"HOST_ADDRESS", "127.0.0.1"}, {"KUBELET_PORT", std::to_string(server_->port())}});
  }
  HealthReport check(const std::string& component, const Environment& environment = environmentWith({})) {
    options.component = component;
    return checkHealth(options, environment, kNow);
  }
  // What was called and changes something.
  std::vector<std::string> repairs() const {
    std::vector<std::string> lines;
    std::ifstream stream(folder.path() + "/calls");
    for (std::string line; std::getline(stream, line);) {
      if (line.starts_with("pkill") || line.starts_with("systemctl kill")) {
        lines.push_back(line);
      }
    }
    return lines;
  }
  std::string calls() const { return RealFileSystem().read(folder.path() + "/calls", 1 << 20).value_or(""); }

  static inline const TimePoint kNow = *parseTime("2026-11-29T20:00:00Z");
  TemporaryFolder folder{"mainstay-test-"};
  HealthCheckerOptions options;

 private:
  std::string path_;
  std::unique_ptr<HttpServer> server_;
};

using Calls = std::vector<std::string>;

TEST_F(HealthCheckerTest, OnlyStatus200IsHealthy) {
  const HealthReport healthy = check("kubelet", kubelet(200));
  EXPECT_EQ(healthy.exitCode, 0);
  EXPECT_EQ(healthy.text, "");
  for (const int status : {204, 301, 404, 500}) {
    const HealthReport report = check("kubelet", kubelet(status));
    EXPECT_EQ(report.exitCode, 1) << status;
    EXPECT_EQ(report.text, "kubelet:kubelet was found unhealthy; repair flag : true");
  }
  EXPECT_EQ(
      check("kube-proxy", environmentWith({{"HOST_ADDRESS", "127.0.0.1"}, {"KUBEPROXY_PORT", "1"}})).text,
      "kube-proxy:kube-proxy was found unhealthy; repair flag : true")
      << "nobody listens";
}

TEST_F(HealthCheckerTest, RepairsWhatIsUnhealthyAndHasRunForLongEnough) {
  const Calls kKilled = {"systemctl kill --kill-who=main kubelet"};
  const struct {
    int status;
    bool enableRepair;
    Duration cooldown;
    Calls repairs;
  } kCases[] = {{200, true, 10s, {}}, {500, false, 10s, {}}, {500, true, 1h, {}}, {500, true, 10s, kKilled}};
  for (const auto& test : kCases) {
    std::remove((folder.path() + "/calls").c_str());
    options.cooldownTime = test.cooldown;
    options.enableRepair = test.enableRepair;
    const HealthReport report = check("kubelet", kubelet(test.status));
    EXPECT_EQ(report.exitCode, test.status == 200 ? 0 : 1);
    EXPECT_EQ(repairs(), test.repairs) << test.status << test.enableRepair;
  }
  options.enableRepair = false;
  EXPECT_EQ(check("kubelet", kubelet(500)).text, "kubelet:kubelet was found unhealthy; repair flag : false");
}

TEST_F(HealthCheckerTest, WithoutAKnownUptimeNothingIsKilled) {
  for (const char* answer : {"exit 1", "echo InactiveExitTimestampMonotonic=0", "echo odd", ""}) {
    program("systemctl", std::string("[ \"$1\" = kill ] || { ") + (*answer ? answer : ":") + "; }");
    EXPECT_EQ(check("kubelet", kubelet(500)).exitCode, 1);
  }
  EXPECT_TRUE(repairs().empty());
}

TEST_F(HealthCheckerTest, DockerIsAskedAndItsStacksAreDumpedBeforeItIsKilled) {
  program("docker", "[ \"$1\" = ps ]");
  program("pkill", "");
  EXPECT_EQ(check("docker").exitCode, 0);
  program("docker", "echo no daemon >&2; exit 1");
  EXPECT_EQ(check("docker").text, "docker:docker was found unhealthy; repair flag : true");
  EXPECT_EQ(repairs(), (Calls{"pkill -SIGUSR1 dockerd", "systemctl kill --kill-who=main docker"}));
}

TEST_F(HealthCheckerTest, ACommandThatHangsIsUnhealthy) {
  program("docker", "exec sleep 1000");
  options.healthCheckTimeout = 50ms;
  options.enableRepair = false;
  EXPECT_EQ(check("docker").exitCode, 1);
}

TEST_F(HealthCheckerTest, CriIsAskedByCrictl) {
  program("my-crictl", "");
  options.crictlPath = folder.path() + "/my-crictl";
  options.criTimeout = 10s;
  EXPECT_EQ(check("cri").exitCode, 0);
  EXPECT_THAT(calls(),
              HasSubstr("my-crictl --timeout=10s "
                        "--runtime-endpoint=unix:///var/run/containerd/containerd.sock pods --latest\n"));
  program("my-crictl", "exit 1");
  EXPECT_EQ(check("cri").text, "cri:containerd was found unhealthy; repair flag : true");
  EXPECT_EQ(repairs(), (Calls{"systemctl kill --kill-who=main containerd"}));
  options.service = "crio";
  EXPECT_EQ(check("cri").text, "cri:crio was found unhealthy; repair flag : true");
}

TEST_F(HealthCheckerTest, AComponentThatCannotBeAskedIsNotKilled) {
  options.crictlPath = folder.path() + "/gone";
  const HealthReport report = check("cri");
  EXPECT_EQ(report.exitCode, 2);
  EXPECT_THAT(report.text, StartsWith("error checking cri health: starting " + options.crictlPath));
  EXPECT_TRUE(repairs().empty());
  EXPECT_EQ(check("kubelet", environmentWith({{"HOST_ADDRESS", "no host"}})).exitCode, 2);
}

TEST_F(HealthCheckerTest, TooManyLinesOfItsLogAreUnhealthy) {
  program("journalctl", "printf 'kubelet[1]: PLEG is not healthy\\nkubelet[1]: pleg is NOT healthy\\n'");
  options.enableRepair = false;
  const Environment healthy = kubelet(200);
  options.logPatterns = {"3:pleg is not"};
  EXPECT_EQ(check("kubelet", healthy).exitCode, 0);
  options.logPatterns = {"3:pleg is not", "2:PLEG"};
  EXPECT_EQ(check("kubelet", healthy).exitCode, 1);
  options.logPatterns = {"1:x\" ; touch " + folder.path() + "/harm ; \""};
  EXPECT_EQ(check("kubelet", healthy).exitCode, 0);
  EXPECT_FALSE(RealFileSystem().exists(folder.path() + "/harm")) << "no shell";
}

TEST_F(HealthCheckerTest, SearchesTheLogSinceTheStartOrTheLookback) {
  program("journalctl", "");
  options.logPatterns = {"1:x"};
  const Environment healthy = kubelet(200);
  const auto expectSince = [&](Duration back) {
    std::remove((folder.path() + "/calls").c_str());
    EXPECT_EQ(check("kubelet", healthy).exitCode, 0);
    const auto since = (kNow - back).time_since_epoch() / 1s;
    EXPECT_TRUE(calls().find("journalctl --quiet --unit kubelet --since @" + std::to_string(since)) !=
                    std::string::npos ||
                calls().find("--since @" + std::to_string(since - 1)) != std::string::npos)
        << calls();
  };
  expectSince(20s);
  options.loopbackTime = 10s;
  expectSince(10s);
  options.loopbackTime = 2h;
  expectSince(20s);
}

TEST_F(HealthCheckerTest, ALogThatCannotBeReadIsNotHealthy) {
  options.logPatterns = {"1:x"};
  const Environment healthy = kubelet(200);
  program("journalctl", "echo No journal files were found. >&2; exit 1");
  const HealthReport report = check("kubelet", healthy);
  EXPECT_EQ(report.exitCode, 2);
  EXPECT_EQ(report.text,
            "error checking kubelet health: journalctl ended with 1: No journal files were found.");
  program("systemctl", "exit 1");
  EXPECT_EQ(check("kubelet", healthy).text, "error checking kubelet health: systemctl ended with 1");
  EXPECT_EQ(check("kubelet", kubelet(500)).exitCode, 1) << "it is unhealthy whatever its log says";
}

TEST_F(HealthCheckerTest, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(check("kubelets").exitCode, 2);
  EXPECT_THAT(check("kubelets").text, HasSubstr("found \"kubelets\""));
  options.logPatterns = {"0:x"};
  EXPECT_EQ(check("kubelet").exitCode, 2);
  options = {};
  options.crictlPath = "";
  EXPECT_EQ(check("cri").exitCode, 2);
}

TEST(HealthCheckerFlagsTest, AreThoseOfNodeProblemDetector) {
  HealthCheckerOptions options;
  Flags flags("health-checker", "test");
  addFlags(flags, options);
  EXPECT_EQ(options.enableRepair, true);
  EXPECT_EQ(options.crictlPath, "/usr/bin/crictl");
  EXPECT_EQ(options.criTimeout, 2s);
  EXPECT_EQ(options.cooldownTime, 2min);
  EXPECT_EQ(options.loopbackTime, 0s);
  EXPECT_EQ(options.healthCheckTimeout, 10s);
  const std::vector<const char*> arguments = {"health-checker",          "--component=cri",
                                              "--systemd-service=crio",  "--enable-repair=false",
                                              "--crictl-path=/c",        "--cri-socket-path=unix:///s",
                                              "--cri-timeout=10s",       "--cooldown-time=1m",
                                              "--loopback-time=0",       "--health-check-timeout=60s",
                                              "--log-pattern=10:a,20:b", "--log-pattern=30:c:d"};
  EXPECT_EQ(flags.parse(static_cast<int>(arguments.size()), arguments.data()), std::nullopt);
  EXPECT_EQ(options.component, "cri");
  EXPECT_EQ(options.oldService, "crio");
  EXPECT_FALSE(options.enableRepair);
  EXPECT_EQ(options.criSocketPath, "unix:///s");
  EXPECT_EQ(options.cooldownTime, 1min);
  EXPECT_EQ(options.healthCheckTimeout, 1min);
  EXPECT_EQ(options.logPatterns, (std::vector<std::string>{"10:a", "20:b", "30:c:d"}));
}

}  // namespace
}  // namespace mainstay::agent
