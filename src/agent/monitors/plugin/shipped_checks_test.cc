// What rules/npd ships for custom plugins: the configs load, the scripts say what they are to say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "agent/monitors/plugin/plugin_config.h"
#include "base/subprocess.h"

namespace mainstay::agent {
namespace {

// Where the files below say that programs are: everywhere.
class AnyFile final : public FileSystem {
 public:
  Result<std::string> read(const std::string& path, std::size_t limit) const override {
    return RealFileSystem().read(path, limit);
  }
  Result<> write(const std::string&, std::string_view) override { return fail(Code::kInternal, "read only"); }
  Result<std::vector<std::string>> list(const std::string& folder) const override {
    return RealFileSystem().list(folder);
  }
  bool exists(const std::string&) const override { return true; }
};

TEST(ShippedChecksTest, LoadWithoutWarningsInCanonicalForm) {
  const AnyFile files;
  const std::string folder = MAINSTAY_SOURCE_DIR "/rules/npd";
  std::map<std::string, std::size_t> rules;
  const auto names = files.list(folder);
  for (const std::string& name : *names) {
    const std::string path = folder + "/" + name;
    const auto text = name.ends_with(".json") ? files.read(path, 1 << 20) : Result<std::string>("");
    const Json document = parseJson(*text).value_or(nullptr);
    if (findString(document, "plugin") != "custom") {
      continue;
    }
    const auto config = parsePluginConfig(*text, path, files);
    ASSERT_TRUE(config) << config.error().toString();
    EXPECT_TRUE(config->warnings.empty()) << config->warnings.front();
    EXPECT_EQ(*text, toPrettyText(document) + "\n") << path;
    rules[name] = config->rules.size();
    for (const PluginRule& rule : config->rules) {
      const bool ours = rule.path.starts_with("./config/plugin/");
      EXPECT_TRUE(ours || rule.path.starts_with("/home/kubernetes/bin/")) << rule.path;
      EXPECT_TRUE(!ours || ::access((folder + rule.path.substr(8)).c_str(), X_OK) == 0) << rule.path;
    }
  }
  EXPECT_EQ(rules, (std::map<std::string, std::size_t>{{"custom-plugin-monitor.json", 2},
                                                       {"docker-monitor-counter.json", 1},
                                                       {"health-checker-containerd.json", 1},
                                                       {"health-checker-docker.json", 1},
                                                       {"health-checker-kubelet.json", 1},
                                                       {"iptables-mode-monitor.json", 1},
                                                       {"kernel-monitor-counter.json", 1},
                                                       {"network-problem-monitor.json", 2},
                                                       {"systemd-monitor-counter.json", 3}}));
}

// The scripts with nothing on their PATH but what the test puts there.
class ShippedScriptTest : public ::testing::Test {
 protected:
  ShippedScriptTest() {
    for (const char* tool : {"cat", "grep"}) {
      EXPECT_EQ(::symlink((std::string("/bin/") + tool).c_str(), (folder.path() + "/" + tool).c_str()), 0);
    }
  }
  void program(const std::string& name, const std::string& body) {
    const std::string file = folder.path() + "/" + name;
    std::ofstream(file) << "#!/bin/sh\n" << body << "\n";
    ::chmod(file.c_str(), 0755);
  }
  // "<exit code> <output>"
  std::string run(const std::string& script) {
    const auto output = mainstay::run({.arguments = {MAINSTAY_SOURCE_DIR "/rules/npd/plugin/" + script},
                                       .environment = {{"PATH", folder.path()}, {"PROC", folder.path()}}},
                                      Deadline::after(std::chrono::seconds(20)));
    return output ? std::to_string(output->status.code) + " " + output->text : output.error().toString();
  }

  TemporaryFolder folder{"mainstay-test-"};
};

TEST_F(ShippedScriptTest, CheckNtp) {
  EXPECT_EQ(run("check_ntp.sh").front(), '2');
  program("systemctl", "[ \"$*\" = '-q is-active ntp.service' ]");
  EXPECT_EQ(run("check_ntp.sh"), "0 ntp.service is running\n");
  program("systemctl", "exit 3");
  EXPECT_EQ(run("check_ntp.sh"), "1 ntp.service is not running\n");
}

TEST_F(ShippedScriptTest, DnsProblem) {
  EXPECT_EQ(run("dns_problem.sh").front(), '2');
  program("getent", "[ \"$*\" = 'hosts kubernetes.default' ]");
  EXPECT_EQ(run("dns_problem.sh").front(), '0');
  program("getent", "exit 2");
  EXPECT_EQ(run("dns_problem.sh"), "1 DNS lookup to kubernetes.default is not working\n");
}

TEST_F(ShippedScriptTest, NetworkProblem) {
  EXPECT_EQ(run("network_problem.sh"), "2 ");
  for (const std::string table : {"ipv4/netfilter/ip_conntrack", "netfilter/nf_conntrack"}) {
    const std::string file = folder.path() + "/sys/net/" + table;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file + "_max") << "15\n";
    std::ofstream(file + "_count") << "13\n";
    EXPECT_EQ(run("network_problem.sh"), "0 Conntrack table usage: 13 out of 15\n")
        << "13 of 13.5, cut to 13";
    std::ofstream(file + "_count") << "14\n";
    EXPECT_EQ(run("network_problem.sh"), "1 Conntrack table usage over 90%: 14 out of 15\n");
  }
}

TEST_F(ShippedScriptTest, IptablesMode) {
  EXPECT_EQ(run("iptables_mode.sh").front(), '2');
  const auto tool = [&](const std::string& kind, const std::string& rules) {
    program("iptables-" + kind + "-save", "echo '*filter'" + rules);
  };
  tool("nft", "");
  EXPECT_EQ(run("iptables_mode.sh"), "0 iptables rules: 0 legacy, 0 nft\n");
  tool("legacy", "; echo '-A INPUT -j ACCEPT'");
  EXPECT_EQ(run("iptables_mode.sh"), "0 iptables rules: 1 legacy, 0 nft\n");
  tool("nft", "; echo '-A INPUT -j DROP'; echo '-A OUTPUT -j DROP'");
  EXPECT_EQ(run("iptables_mode.sh"), "1 iptables rules: 1 legacy, 2 nft\n");
}

}  // namespace
}  // namespace mainstay::agent
