#include "sidecar/problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainstay::sidecar {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// As node-problem-detector v0.8.20 serves it.
constexpr char kPage[] =
    "# HELP problem_counter Number of times a specific type of problem have occurred.\n"
    "# TYPE problem_counter counter\n"
    "problem_counter{reason=\"NeuronHasError_DMA_ERROR\"} 1\n"
    "problem_counter{reason=\"NeuronHasError_SRAM_UNCORRECTABLE_ERROR\"} 0\n"
    "problem_counter{reason=\"OOMKilling\"} 7\n"
    "# HELP problem_gauge Whether a specific type of problem is affecting the node or not.\n"
    "# TYPE problem_gauge gauge\n"
    "problem_gauge{reason=\"NeuronHasError_DMA_ERROR\",type=\"NeuronHealth\"} 1\n"
    "problem_gauge{reason=\"NeuronHasError_SRAM_UNCORRECTABLE_ERROR\",type=\"NeuronHealth\"} 0\n";

const std::set<std::string> kReasons = {"A", "NeuronHasError_DMA_ERROR", "NeuronHasError_HBM_UNCORRECTABLE_ERROR",
                                        "NeuronHasError_SRAM_UNCORRECTABLE_ERROR"};

TEST(ProblemsTest, TellsSeenFromNotSeenFromUnknown) {
  const Problems problems = readProblems(kPage, kReasons);
  EXPECT_THAT(problems.seen, ElementsAre(Pair("NeuronHasError_DMA_ERROR", true),
                                         Pair("NeuronHasError_SRAM_UNCORRECTABLE_ERROR", false)));
  EXPECT_EQ(problems.wrongLines, 0u);
}

TEST(ProblemsTest, EitherMetricIsEnough) {
  EXPECT_THAT(readProblems("problem_gauge{reason=\"A\"} 1\nproblem_counter{reason=\"A\"} 0\n", kReasons).seen,
              ElementsAre(Pair("A", true)));
  EXPECT_THAT(readProblems("problem_counter{reason=\"A\"} 2\nproblem_gauge{reason=\"A\"} 0\n", kReasons).seen,
              ElementsAre(Pair("A", true)));
}

TEST(ProblemsTest, ReadsEveryFormOfALine) {
  for (const char* line : {
           "problem_counter{reason=\"A\"} 1",
           "  problem_counter {reason=\"A\",} 1 1700000000000",
           "problem_counter{ other = \"x\" , reason = \"A\" }\t+1.5e0  ",
           "problem_counter{other=\"a\\\"},b\\\\\\n\",reason=\"A\"} 1",
       }) {
    const Problems problems = readProblems(line, kReasons);
    EXPECT_THAT(problems.seen, ElementsAre(Pair("A", true))) << line;
    EXPECT_EQ(problems.wrongLines, 0u) << line;
  }
}

TEST(ProblemsTest, CountsWrongLinesAndReadsOn) {
  for (const char* line : {
           "problem_counter{reason=\"A\"}", "problem_counter{reason=\"A\"} x", "problem_counter{reason=\"A\" 1",
           "problem_counter{reason=\"A} 1", "problem_counter{reason=A} 1", "problem_counter{reason} 1",
           "problem_counter{=\"A\"} 1", "problem_counter{reason=\"A\"} 1 2 3", "problem_counter{reason=\"A\"} 1 x",
           "{reason=\"A\"} 1", "1x 1", "x\xff 1", "problem_counter{reason=\"A\\", "problem_counter{reason=\"A\"} 0x1",
           "problem_counter{reason=\"A\"} 1\r", "<html>",
       }) {
    const Problems problems = readProblems(std::string(line) + "\nproblem_counter{reason=\"A\"} 0\n", kReasons);
    EXPECT_THAT(problems.seen, ElementsAre(Pair("A", false))) << line;
    EXPECT_EQ(problems.wrongLines, 1u) << line;
  }
}

TEST(ProblemsTest, ANumberThatCountsNothingIsNoEvidence) {
  for (const char* value : {"NaN", "+Inf", "-Inf"}) {
    const Problems problems = readProblems("problem_counter{reason=\"A\"} " + std::string(value) + "\n", kReasons);
    EXPECT_THAT(problems.seen, IsEmpty()) << value;
  }
  EXPECT_THAT(readProblems("problem_counter{reason=\"A\"} -1\n", kReasons).seen, ElementsAre(Pair("A", false)));
}

TEST(ProblemsTest, KeepsOnlyWhatWasAskedFor) {
  std::string flood;
  for (int i = 0; i < 10000; ++i) {
    flood += "problem_counter{reason=\"R" + std::to_string(i) + "\"} 1\n";
  }
  EXPECT_THAT(readProblems(flood + "problem_counter{reason=\"A\"} 1", kReasons).seen, ElementsAre(Pair("A", true)));
  EXPECT_THAT(readProblems("other{reason=\"A\"} 1\nproblem_counter 1\n", kReasons).seen, IsEmpty());
}

}  // namespace
}  // namespace mainstay::sidecar
