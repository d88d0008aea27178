#include "sidecar/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainstay::sidecar {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

Environment enableRecovery(const std::string& value) {
  return [value](const std::string& name) { return name == "ENABLE_RECOVERY" ? value : std::string(); };
}

// The complaint about these options; "" when there is none.
std::string complaint(const Options& options, const std::string& recovery = "") {
  const auto settings = settingsOf(options, enableRecovery(recovery));
  return settings ? "" : settings.error().toString();
}

TEST(SidecarOptionsTest, UnderstandsTheCommandLineOfTheChart) {
  Options options;
  Flags flags("mainstay-recovery", "");
  addFlags(flags, options);
  const std::vector<const char*> words = {"check-health.py", "--startup-delay", "60", "--counters",
                                          "NeuronHasError_DMA_ERROR", "NeuronHasError_NC_UNCORRECTABLE_ERROR"};
  ASSERT_EQ(flags.parse(static_cast<int>(words.size()), words.data()), std::nullopt);
  EXPECT_EQ(startupDelayOf(options), seconds(60));
  EXPECT_THAT(settingsOf(options, enableRecovery("true"))->counters,
              ElementsAre("NeuronHasError_DMA_ERROR", "NeuronHasError_NC_UNCORRECTABLE_ERROR"));
}

TEST(SidecarOptionsTest, MarksOnlyWhenRecoveryIsSwitchedOn) {
  EXPECT_FALSE(settingsOf({}, enableRecovery(""))->recover);
  EXPECT_FALSE(settingsOf({}, enableRecovery("false"))->recover);
  EXPECT_TRUE(settingsOf({}, enableRecovery("true"))->recover);
  EXPECT_TRUE(settingsOf({}, enableRecovery("True"))->recover);
  EXPECT_THAT(complaint({}, "yes"), HasSubstr("ENABLE_RECOVERY must be"));
}

TEST(SidecarOptionsTest, KnowsTheFiveNeuronReasonsByItself) {
  EXPECT_EQ(settingsOf({}, enableRecovery(""))->counters.size(), 5u);
}

TEST(SidecarOptionsTest, TakesTheDelayInSecondsAndAsADuration) {
  Options options;
  for (const auto& [text, delay] : std::map<std::string, Duration>{
           {"60", seconds(60)}, {"0", seconds(0)}, {"1m30s", seconds(90)}, {"0.5", std::chrono::milliseconds(500)}}) {
    options.startupDelay = text;
    EXPECT_EQ(startupDelayOf(options), delay) << text;
  }
  for (const char* text : {"", "x", "-1", "100000", "1m 3s"}) {
    options.startupDelay = text;
    EXPECT_FALSE(startupDelayOf(options)) << text;
  }
}

TEST(SidecarOptionsTest, RefusesWhatCannotBeMeant) {
  Options options;
  options.counters = {"A", ""};
  EXPECT_THAT(complaint(options), HasSubstr("--counters"));
  options = {};
  options.maxUnhealthy = 0;
  EXPECT_THAT(complaint(options), HasSubstr("ENABLE_RECOVERY"));
  options = {};
  options.interval = Duration(1);
  EXPECT_THAT(complaint(options), HasSubstr("at least 100ms"));
  options = {};
  options.dimensions = {"InstanceId", "Zone"};
  EXPECT_THAT(complaint(options), HasSubstr("\"Zone\""));
}

}  // namespace
}  // namespace mainstay::sidecar
