#include "trainer/settings.h"

#include <gtest/gtest.h>

#include <map>

#include "trainer/failure.h"

namespace trainer {
namespace {

Environment environmentOf(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string refusalOf(const std::vector<std::string>& arguments,
                      std::map<std::string, std::string> variables) {
  try {
    readSettings(arguments, environmentOf(std::move(variables)));
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code, Exit::kSettings);
    return failure.what();
  }
  return "";
}

TEST(SettingsTest, ReadsTheGroupAsTorchrunGivesIt) {
  const Settings settings = readSettings({}, environmentOf({{"RANK", "2"},
                                                            {"WORLD_SIZE", "3"},
                                                            {"MASTER_ADDR", "llama-mini-master-0"},
                                                            {"MASTER_PORT", "23456"},
                                                            {"POD_IP", "10.0.0.7"},
                                                            {"CHECKPOINT_DIR", "/checkpoints"}}));
  EXPECT_EQ(settings.rank, 2);
  EXPECT_EQ(settings.world, 3);
  EXPECT_EQ(settings.masterAddress, "llama-mini-master-0");
  EXPECT_EQ(settings.masterPort, 23456);
  EXPECT_EQ(settings.ownAddress, "10.0.0.7");
  EXPECT_EQ(settings.checkpointFolder, "/checkpoints");
}

TEST(SettingsTest, FlagWinsOverItsVariable) {
  const Settings settings = readSettings({"--steps=7"}, environmentOf({{"TRAINER_STEPS", "9"}}));
  EXPECT_EQ(settings.steps, 7);
}

TEST(SettingsTest, CheckpointsAtListedStepsAndAtEachMultiple) {
  const Settings settings = readSettings(
      {"--checkpoint-dir=x", "--checkpoint-every=11", "--checkpoint-steps=5,80"}, environmentOf({}));
  EXPECT_TRUE(settings.checkpointAt(77));
  EXPECT_TRUE(settings.checkpointAt(80));
  EXPECT_TRUE(settings.checkpointAt(5));
  EXPECT_FALSE(settings.checkpointAt(86));
}

TEST(SettingsTest, WritesNoCheckpointWithoutAFolder) {
  const Settings settings = readSettings({"--checkpoint-every=1"}, environmentOf({}));
  EXPECT_FALSE(settings.checkpointAt(1));
}

TEST(SettingsTest, RefusalNamesTheVariableAndWhatItHeld) {
  EXPECT_EQ(refusalOf({}, {{"WORLD_SIZE", "3"}, {"RANK", "3"}}),
            "RANK: expected an integer from 0 to 2, found \"3\"");
  EXPECT_EQ(refusalOf({}, {{"MASTER_PORT", "http"}}),
            "MASTER_PORT: expected an integer from 1 to 65535, found \"http\"");
  EXPECT_EQ(refusalOf({"--output=xml"}, {}), "--output: expected text or json, found \"xml\"");
}

TEST(SettingsTest, RefusesAnUnknownFlagAndShowsTheKnownOnes) {
  const std::string refusal = refusalOf({"--stepz=3"}, {});
  EXPECT_NE(refusal.find("unknown argument \"--stepz=3\""), std::string::npos);
  EXPECT_NE(refusal.find("--steps=..."), std::string::npos);
}

}  // namespace
}  // namespace trainer
