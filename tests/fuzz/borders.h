// The borders where bytes of others come in. Each takes any input, must not crash, and checks what has to
// hold of what was accepted; libFuzzer drives them (preset fuzz), and replay_test.cc plays their corpora in
// every build.
#pragma once

#include <string_view>

namespace mainstay::fuzz {

void kmsgRecord(std::string_view input);
void ruleFile(std::string_view input);
void logLines(std::string_view input);
void json(std::string_view input);
void findings(std::string_view input);
void agentState(std::string_view input);
void awsAnswer(std::string_view input);
void awsProfiles(std::string_view input);
void metricsText(std::string_view input);
void nvmlAnswer(std::string_view input);
void mountLine(std::string_view input);
void ataAnswer(std::string_view input);
void pluginConfig(std::string_view input);
void pluginOutput(std::string_view input);
void statsText(std::string_view input);
void rulePack(std::string_view input);
void packedLine(std::string_view input);

}  // namespace mainstay::fuzz
