#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "borders.h"

namespace mainstay::fuzz {
namespace {

// Plays each file of the border's corpus, and each of its prefixes and single-byte damages.
void replay(const std::string& border, void (*play)(std::string_view)) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(MAINSTAY_SOURCE_DIR "/tests/fuzz/corpus/" + border)) {
    SCOPED_TRACE(entry.path());
    std::ifstream stream(entry.path(), std::ios::binary);
    std::string input{std::istreambuf_iterator<char>(stream), {}};
    play(input);
    const std::size_t step = input.size() / 64 + 1;
    for (std::size_t i = 0; i < input.size(); i += step) {
      play(std::string_view(input).substr(0, i));
      for (const char damage : {'\0', '"', '\xff'}) {
        const char original = std::exchange(input[i], damage);
        play(input);
        input[i] = original;
      }
    }
    ++files;
  }
  EXPECT_GE(files, 3) << "the corpus of " << border << " is missing";
}

TEST(FuzzCorpusTest, KmsgRecord) {
  replay("kmsgRecord", kmsgRecord);
}
TEST(FuzzCorpusTest, RuleFile) {
  replay("ruleFile", ruleFile);
}
TEST(FuzzCorpusTest, LogLines) {
  replay("logLines", logLines);
}
TEST(FuzzCorpusTest, Json) {
  replay("json", json);
}
TEST(FuzzCorpusTest, MetricsText) {
  replay("metricsText", metricsText);
}
TEST(FuzzCorpusTest, StatsText) {
  replay("statsText", statsText);
}
TEST(FuzzCorpusTest, Findings) {
  replay("findings", findings);
}
TEST(FuzzCorpusTest, AgentState) {
  replay("agentState", agentState);
}
TEST(FuzzCorpusTest, AwsAnswer) {
  replay("awsAnswer", awsAnswer);
}
TEST(FuzzCorpusTest, AwsProfiles) {
  replay("awsProfiles", awsProfiles);
}
TEST(FuzzCorpusTest, NvmlAnswer) {
  replay("nvmlAnswer", nvmlAnswer);
}
TEST(FuzzCorpusTest, MountLine) {
  replay("mountLine", mountLine);
}
TEST(FuzzCorpusTest, AtaAnswer) {
  replay("ataAnswer", ataAnswer);
}
TEST(FuzzCorpusTest, RulePack) {
  replay("rulePack", rulePack);
}
TEST(FuzzCorpusTest, PackedLine) {
  replay("packedLine", packedLine);
}
TEST(FuzzCorpusTest, PluginConfig) {
  replay("pluginConfig", pluginConfig);
}
TEST(FuzzCorpusTest, PluginOutput) {
  replay("pluginOutput", pluginOutput);
}

}  // namespace
}  // namespace mainstay::fuzz
