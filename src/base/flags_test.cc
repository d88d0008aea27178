#include "base/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainstay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Outcome {
  std::optional<int> code;
  std::string out;
  std::string err;
};

Outcome parseWords(Flags& flags, std::vector<const char*> words) {
  words.insert(words.begin(), "program");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = flags.parse(static_cast<int>(words.size()), words.data());
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

// One flag of each kind, as node-problem-detector names them.
struct AllKinds {
  std::string text = "default";
  int number = 20256;
  double share = 0.5;
  bool on = true;
  bool off = false;
  Duration period = minutes(5);
  std::vector<std::string> list = {"a"};
  std::string choice = "logfmt";
  std::string hidden = {};
  int verbosity = 0;
  Flags flags{"mainstay-agent", "Detects."};

  AllKinds() {
    flags.add("hostname-override", text, "name of the node")
        .add("port", number, "status port")
        .add("share", share, "a share")
        .add("enable-k8s-exporter", on, "exports")
        .add("logtostderr", off, "logs")
        .add("k8s-exporter-heartbeat-period", period, "heartbeat")
        .add("config.system-log-monitor", list, "monitors")
        .addChoice("f,log-format", choice, {"logfmt", "json"}, "form of the log")
        .addHidden("vmodule", hidden)
        .add("v", verbosity, "verbosity");
  }
};

TEST(FlagsTest, KeepsDefaultsWhenNothingIsGiven) {
  AllKinds f;
  EXPECT_EQ(parseWords(f.flags, {}).code, std::nullopt);
  EXPECT_EQ(f.text, "default");
  EXPECT_EQ(f.number, 20256);
  EXPECT_TRUE(f.on);
  EXPECT_FALSE(f.off);
  EXPECT_EQ(f.period, minutes(5));
  EXPECT_THAT(f.list, ElementsAre("a"));
}

TEST(FlagsTest, ReadsValuesAfterASpaceOrAnEqualsSign) {
  AllKinds f;
  const auto outcome =
      parseWords(f.flags, {"--hostname-override", "node-b", "--port=-1", "--share", "1e-2",
                           "--log-format=json", "--k8s-exporter-heartbeat-period=1m30s", "--vmodule=x=2"});
  ASSERT_EQ(outcome.code, std::nullopt) << outcome.err;
  EXPECT_EQ(f.text, "node-b");
  EXPECT_EQ(f.number, -1);
  EXPECT_EQ(f.share, 0.01);
  EXPECT_EQ(f.choice, "json");
  EXPECT_EQ(f.period, seconds(90));
  EXPECT_EQ(f.hidden, "x=2");
}

TEST(FlagsTest, ReadsBooleansAsGoDoes) {
  AllKinds f;
  EXPECT_EQ(parseWords(f.flags, {"--logtostderr", "--enable-k8s-exporter=false"}).code, std::nullopt);
  EXPECT_TRUE(f.off);
  EXPECT_FALSE(f.on);
  AllKinds g;
  EXPECT_EQ(parseWords(g.flags, {"--enable-k8s-exporter=F", "--logtostderr=1", "--logtostderr=0"}).code,
            std::nullopt);
  EXPECT_FALSE(g.on);
  EXPECT_FALSE(g.off);
  AllKinds h;
  EXPECT_EQ(parseWords(h.flags, {"--logtostderr", "false"}).code, 2) << "never takes the next word";
  EXPECT_EQ(parseWords(h.flags, {"--logtostderr=maybe"}).code, 2);
}

TEST(FlagsTest, GathersListsFromCommasAndRepetition) {
  AllKinds f;
  const auto outcome = parseWords(f.flags, {"--config.system-log-monitor=/c/kernel.json,/c/docker.json",
                                            "--config.system-log-monitor", "/c/x.json"});
  ASSERT_EQ(outcome.code, std::nullopt) << outcome.err;
  EXPECT_THAT(f.list, ElementsAre("/c/kernel.json", "/c/docker.json", "/c/x.json"));
  AllKinds g;
  EXPECT_EQ(parseWords(g.flags, {"--config.system-log-monitor", "a", "b"}).code, 2)
      << "one word for each flag";
}

TEST(FlagsTest, GathersAllTheWordsThatFollowWhereAskedTo) {
  std::vector<std::string> words = {"default"};
  int number = 0;
  Flags flags("program", "Does.");
  flags.addWords("counters", words, "reasons").add("n", number, "a number");
  const auto outcome = parseWords(flags, {"--counters", "A", "B,C", "--n=3", "--counters=D"});
  ASSERT_EQ(outcome.code, std::nullopt) << outcome.err;
  EXPECT_THAT(words, ElementsAre("A", "B", "C", "D"));
  EXPECT_EQ(number, 3);
  EXPECT_EQ(parseWords(flags, {"--counters"}).code, 2);
}

TEST(FlagsTest, TakesTheLastOfARepeatedFlagAndEmptyValues) {
  AllKinds f;
  const auto outcome = parseWords(f.flags, {"--port=1", "--port=2", "--hostname-override=", "--v=3"});
  ASSERT_EQ(outcome.code, std::nullopt) << outcome.err;
  EXPECT_EQ(f.number, 2);
  EXPECT_EQ(f.text, "");
  EXPECT_EQ(f.verbosity, 3);
  EXPECT_EQ(parseWords(f.flags, {"-v=4"}).code, std::nullopt);
  EXPECT_EQ(f.verbosity, 4);
}

TEST(FlagsTest, TakesALetterForALongNameInEveryForm) {
  for (const std::vector<const char*>& words :
       {std::vector<const char*>{"-f", "json"}, {"-f=json"}, {"-fjson"}, {"--log-format=json"}}) {
    AllKinds f;
    const auto outcome = parseWords(f.flags, words);
    EXPECT_EQ(outcome.code, std::nullopt) << outcome.err;
    EXPECT_EQ(f.choice, "json") << words.front();
  }
}

TEST(FlagsTest, SaysWhatIsWrongAndReturnsTwo) {
  AllKinds f;
  EXPECT_THAT(parseWords(f.flags, {"--port=many"}).err,
              AllOf(HasSubstr("mainstay-agent: --port: expected a whole number, found \"many\"\n"),
                    HasSubstr("Usage: mainstay-agent"), HasSubstr("Run \"mainstay-agent --help\"")));
  EXPECT_THAT(parseWords(f.flags, {"--port=99999999999"}).err, HasSubstr("expected a whole number"));
  EXPECT_THAT(parseWords(f.flags, {"--k8s-exporter-heartbeat-period=5"}).err,
              HasSubstr("expected a duration such as 300ms, 90s or 1h30m, found \"5\""));
  EXPECT_THAT(parseWords(f.flags, {"--log-format=xml"}).err,
              HasSubstr("--log-format: expected one of logfmt, json, found \"xml\""));
  EXPECT_THAT(parseWords(f.flags, {"-f=xml"}).err, HasSubstr("found \"xml\""));
  EXPECT_THAT(parseWords(f.flags, {"--hostname-overide=x"}).err,
              HasSubstr("unknown flag --hostname-overide, did you mean --hostname-override?"));
  EXPECT_THAT(parseWords(f.flags, {"stray"}).err, HasSubstr("unexpected argument stray"));
  EXPECT_THAT(parseWords(f.flags, {"--port"}).err, HasSubstr("--port"));
  EXPECT_EQ(parseWords(f.flags, {"--port"}).code, 2);
}

TEST(FlagsTest, HelpShowsDefaultsButNotWhatIsHidden) {
  AllKinds f;
  const auto outcome = parseWords(f.flags, {"--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("Detects."), HasSubstr("20256"), HasSubstr("5m0s"), HasSubstr("logfmt|json"),
                    HasSubstr("exports (on by default)"), Not(HasSubstr("vmodule"))));
}

TEST(FlagsTest, PrintsTheVersion) {
  AllKinds f;
  const auto outcome = parseWords(f.flags, {"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "mainstay-agent " MAINSTAY_VERSION "\n");
}

// mainstay node release NODE --reason, mainstay why node NAME
struct Commands {
  std::string kubeconfig = {};
  std::string node = {};
  std::string reason = {};
  std::string extra = {};
  std::string ran = {};
  Flags flags{"mainstay", "Keeps jobs running."};

  Commands() {
    flags.add("kubeconfig", kubeconfig, "how to reach the cluster");
    Flags& nodeCommand = flags.command("node", "Acts on nodes.");
    nodeCommand.command("release", "Calls a node healthy.", [this] { return note("release", 0); })
        .addArgument("NODE", node, "its name")
        .addArgument("EXTRA", extra, "more", true)
        .add("reason", reason, "why");
    flags.command("why", "Explains.")
        .command("node", "Explains a node.", [this] { return note("why node", 7); })
        .addArgument("NODE", node, "its name");
  }

  int note(const std::string& what, int code) {
    ran = what;
    return code;
  }
};

TEST(FlagsTest, RunsTheChosenCommandWithItsArguments) {
  Commands c;
  const auto outcome = parseWords(c.flags, {"node", "release", "node-b", "--reason", "looks fine"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(c.ran, "release");
  EXPECT_EQ(c.node, "node-b");
  EXPECT_EQ(c.reason, "looks fine");
  EXPECT_EQ(c.extra, "");
  Commands d;
  EXPECT_EQ(parseWords(d.flags, {"why", "node", "node"}).code, 7);
  EXPECT_EQ(d.ran, "why node");
  EXPECT_EQ(d.node, "node") << "a node may be called like a command";
}

TEST(FlagsTest, TakesCommonFlagsBeforeAndAfterTheCommand) {
  Commands c;
  EXPECT_EQ(parseWords(c.flags, {"--kubeconfig=a", "node", "release", "x"}).code, 0);
  EXPECT_EQ(c.kubeconfig, "a");
  Commands d;
  EXPECT_EQ(parseWords(d.flags, {"node", "release", "x", "--kubeconfig", "b"}).code, 0);
  EXPECT_EQ(d.kubeconfig, "b");
}

TEST(FlagsTest, ExplainsWrongCommands) {
  Commands c;
  EXPECT_THAT(parseWords(c.flags, {"nod"}).err,
              HasSubstr("mainstay: unknown command nod, did you mean node?"));
  EXPECT_THAT(parseWords(c.flags, {}).err, HasSubstr("mainstay: a command is missing, one of: node, why"));
  EXPECT_THAT(parseWords(c.flags, {"node"}).err,
              HasSubstr("mainstay node: a command is missing, one of: release"));
  EXPECT_THAT(parseWords(c.flags, {"node", "release"}).err,
              AllOf(HasSubstr("mainstay node release: NODE is required"),
                    HasSubstr("Usage: mainstay node release [OPTIONS] NODE")));
  EXPECT_THAT(parseWords(c.flags, {"node", "release", "a", "b", "c"}).err,
              HasSubstr("unexpected argument c"));
  EXPECT_THAT(parseWords(c.flags, {"node", "release", "a", "--resaon=x"}).err,
              HasSubstr("mainstay node release: unknown flag --resaon, did you mean --reason?"));
  EXPECT_EQ(c.ran, "");
}

TEST(FlagsTest, PrintsTheHelpOfACommand) {
  Commands c;
  const auto outcome = parseWords(c.flags, {"node", "release", "--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("Calls a node healthy."), HasSubstr("mainstay node release [OPTIONS] NODE"),
                    HasSubstr("--reason"), HasSubstr("Common options"), HasSubstr("--kubeconfig")));
}

}  // namespace
}  // namespace mainstay
