#include "kube/exec_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainstay::kube {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kExecVersion[] = "client.authentication.k8s.io/v1";
const TimePoint kNoon = parseTime("2026-11-29T12:00:00Z").value();

// Plugins are shell scripts that count their runs in a file.
class ExecSourceTest : public testing::Test {
 protected:
  ExecPlugin shell(const std::string& script) {
    return {.apiVersion = kExecVersion,
            .command = "/bin/sh",
            .arguments = {"-c", "echo run >> \"$RUNS\"\n" + script},
            .environment = {{"RUNS", path("runs")}}};
  }
  // Prints what lies in the file `answer`.
  ExecSource answering() { return {shell("cat " + path("answer")), "kubeconfig k"}; }
  void answer(const std::string& status) {
    const std::string text = "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" + std::string(kExecVersion) +
                             "\",\"status\":" + status + "}";
    ASSERT_TRUE(files_.write(path("answer"), text));
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::size_t runs() const { return files_.read(path("runs"), 4096).value_or("").size() / 4; }
  static std::string errorFrom(ExecSource& source) {
    const auto credential = source.current(kNoon);
    return credential ? "" : credential.error().toString();
  }

  TemporaryFolder folder_{"mainstay-exec-"};
  RealFileSystem files_;
};

TEST_F(ExecSourceTest, GivesTokenAndCertificateAndRunsOnceForThoseThatDoNotEnd) {
  answer(R"({"token":"t","clientCertificateData":"cert","clientKeyData":"key"})");
  ExecSource source = answering();
  const Credential expected{"t", "cert", "key"};
  EXPECT_EQ(source.current(kNoon).value(), expected);
  EXPECT_EQ(source.current(kNoon + hours(1000)).value(), expected);
  EXPECT_EQ(runs(), 1u);
}

TEST_F(ExecSourceTest, RunsAgainAMinuteBeforeTheEnd) {
  answer(R"({"token":"one","expirationTimestamp":"2026-11-29T12:14:00Z"})");
  ExecSource source = answering();
  EXPECT_EQ(source.current(kNoon).value().token, "one");
  answer(R"({"token":"two","expirationTimestamp":"2026-11-29T12:28:00Z"})");
  EXPECT_EQ(source.current(kNoon + minutes(13) - seconds(1)).value().token, "one");
  EXPECT_EQ(source.current(kNoon + minutes(13)).value().token, "two");
  EXPECT_EQ(runs(), 2u);
}

TEST_F(ExecSourceTest, ACredentialOfFewSecondsIsNotRenewedAtEachCall) {
  answer(R"({"token":"one","expirationTimestamp":"2026-11-29T12:00:20Z"})");
  ExecSource source = answering();
  source.current(kNoon).value();
  source.current(kNoon + seconds(15)).value();
  EXPECT_EQ(runs(), 1u);
}

TEST_F(ExecSourceTest, GoesOnWithWhatItHasWhileThePluginFailsUntilItsEnd) {
  answer(R"({"token":"one","expirationTimestamp":"2026-11-29T12:14:00Z"})");
  ExecSource source = answering();
  source.current(kNoon).value();
  ASSERT_TRUE(files_.write(path("answer"), "s3cret, not JSON"));
  EXPECT_EQ(source.current(kNoon + minutes(13)).value().token, "one");
  const auto late = source.current(kNoon + minutes(14));
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().toString(), AllOf(HasSubstr("not JSON"), Not(HasSubstr("s3cret"))));
}

TEST_F(ExecSourceTest, RunsAtOnceAfterARefusalAndSaysWhetherAnotherTryIsWorthIt) {
  answer(R"({"token":"one"})");
  ExecSource source = answering();
  const Credential one = source.current(kNoon).value();
  EXPECT_FALSE(source.refresh(one, kNoon + minutes(1))) << "the same again";
  EXPECT_EQ(runs(), 2u);
  answer(R"({"token":"two"})");
  EXPECT_TRUE(source.refresh(one, kNoon + minutes(2)));
  EXPECT_TRUE(source.refresh(one, kNoon + minutes(2))) << "another call has renewed it";
  EXPECT_EQ(runs(), 3u);
  EXPECT_EQ(source.current(kNoon + minutes(2)).value().token, "two");
}

TEST_F(ExecSourceTest, LeavesAPluginAloneForAWhileAfterARun) {
  ExecSource source(shell("exit 1"), "kubeconfig k");
  const std::string first = errorFrom(source);
  EXPECT_EQ(errorFrom(source), first);
  EXPECT_EQ(runs(), 1u);
  EXPECT_FALSE(source.current(kNoon + ExecSource::kPluginPause));
  EXPECT_EQ(runs(), 2u);
}

TEST_F(ExecSourceTest, NamesCommandExitCodeAndBoundedComplaintAndNeverTheToken) {
  ExecSource source(shell("echo s3cret; echo no session >&2; yes x | head -c 5000 >&2; exit 7"),
                    "kubeconfig k");
  const std::string error = errorFrom(source);
  EXPECT_THAT(error, AllOf(HasSubstr("/bin/sh of kubeconfig k"), HasSubstr("exit code 7: no session"),
                           Not(HasSubstr("s3cret"))));
  EXPECT_LT(error.size(), 1500u);
}

TEST_F(ExecSourceTest, PassesOnTheHintOfWhereToGetTheProgram) {
  ExecPlugin plugin = shell("");
  plugin.command = "no-such-plugin-of-anybody";
  plugin.installHint = "see https://install.test";
  ExecSource source(plugin, "kubeconfig k");
  EXPECT_THAT(errorFrom(source),
              AllOf(HasSubstr("no-such-plugin-of-anybody"), HasSubstr("https://install.test")));
}

TEST_F(ExecSourceTest, TellsThePluginWhoAsks) {
  ExecPlugin plugin = shell("printf %s \"$KUBERNETES_EXEC_INFO\" > \"$RUNS.info\"; exit 1");
  plugin.cluster = JsonObject{{"server", "https://a"}};
  ExecSource source(plugin, "kubeconfig k");
  EXPECT_NE(errorFrom(source), "");
  EXPECT_EQ(files_.read(path("runs.info"), 4096).value(),
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
            R"("spec":{"interactive":false,"cluster":{"server":"https://a"}}})");
}

TEST_F(ExecSourceTest, RefusesOutputThatIsNoCredentialWithoutShowingIt) {
  const char* const outputs[] = {
      "",
      "[]",
      "3",
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"})",
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"s3cret"}})",
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":["s3cret"]}})",
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"s3cret\nx"}})",
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"clientKeyData":"s3cret"}})"};
  for (const char* output : outputs) {
    ASSERT_TRUE(files_.write(path("answer"), output));
    ExecSource source = answering();
    EXPECT_THAT(errorFrom(source), AllOf(HasSubstr("credential plugin /bin/sh"), Not(HasSubstr("s3cret"))))
        << output;
  }
}

}  // namespace
}  // namespace mainstay::kube
