#include "fault/matcher.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <random>

namespace mainstay::fault {
namespace {

std::vector<Pattern> compileAll(const std::vector<std::string>& texts) {
  std::vector<Pattern> patterns;
  for (const std::string& text : texts) {
    auto pattern = Pattern::compile(text);
    EXPECT_TRUE(pattern) << text << ": " << pattern.error().toString();
    patterns.push_back(*std::move(pattern));
  }
  return patterns;
}

Record line(const std::string& text) {
  Record record;
  record.text = text;
  return record;
}

// The lines that one pattern reports after the last of `lines`.
std::vector<std::string> matchLast(const std::string& pattern, const std::vector<std::string>& lines,
                                   std::size_t bufferSize) {
  Matcher matcher(compileAll({pattern}), bufferSize);
  std::vector<Matcher::Match> matches;
  for (const std::string& text : lines) {
    matches = matcher.push(line(text));
  }
  std::vector<std::string> reported;
  if (!matches.empty()) {
    for (std::size_t i = matcher.window().size() - matches[0].lines; i < matcher.window().size(); ++i) {
      reported.push_back(matcher.window()[i].text);
    }
  }
  return reported;
}

using Lines = std::vector<std::string>;

TEST(MatcherTest, MatchesASuffixOfTheNewestLines) {
  const Lines two = {"a1", "b2"};
  EXPECT_EQ(matchLast("a1", two, 4), Lines{});
  EXPECT_EQ(matchLast("b1", two, 4), Lines{});
  EXPECT_EQ(matchLast("b2", two, 4), Lines{"b2"});
  EXPECT_EQ(matchLast(R"(\w{2})", two, 4), Lines{"b2"});
  EXPECT_EQ(matchLast("a1\nb2", two, 4), (Lines{"a1", "b2"}));
  EXPECT_EQ(matchLast("a1b2", two, 4), Lines{});
}

TEST(MatcherTest, ForgetsLinesThatLeftTheRing) {
  const Lines five = {"a1", "b2", "c3", "d4", "e5"};
  EXPECT_EQ(matchLast("(?s)a1.+", five, 4), Lines{});
  EXPECT_EQ(matchLast(R"([a-z]\d\n[a-z]\d)", five, 4), (Lines{"d4", "e5"}));
  EXPECT_EQ(matchLast(R"([a-z]\d)", five, 4), Lines{"e5"});
}

TEST(MatcherTest, TheRingHoldsTheLastLinesOldestFirst) {
  for (std::size_t size = 1; size <= 4; ++size) {
    Matcher matcher(compileAll({"x"}), size);
    Lines pushed;
    for (const char* text : {"a", "b", "", "c\nd", "e"}) {
      pushed.emplace_back(text);
      matcher.push(line(text));
      Lines held;
      for (const Record& record : matcher.window()) {
        held.push_back(record.text);
      }
      EXPECT_EQ(held, Lines(pushed.end() - static_cast<std::ptrdiff_t>(std::min(size, pushed.size())),
                            pushed.end()));
    }
  }
}

TEST(MatcherTest, OnlyTheLastBranchOfALooseAlternationIsAnchored) {
  const Lines lines = {"kernel: oom-kill:constraint=CONSTRAINT_NONE", "kubelet: node ready"};
  EXPECT_EQ(matchLast("oom-kill|Out of memory", lines, 2), lines);
  EXPECT_EQ(matchLast("(oom-kill|Out of memory)", lines, 2), Lines{});
}

TEST(MatcherTest, AnEmptyMatchAtTheEndIsNone) {
  EXPECT_EQ(matchLast("a*", {"b"}, 2), Lines{});
  EXPECT_EQ(matchLast("", {"b"}, 2), Lines{});
  EXPECT_EQ(matchLast("a*", {"baa"}, 2), Lines{"baa"});
}

TEST(MatcherTest, ReportsEveryRuleInTheOrderOfTheFile) {
  Matcher matcher(compileAll({"b", "(?s)a.*b", "x", ".b", "b"}), 3);
  matcher.push(line("a"));
  const auto matches = matcher.push(line("bb"));
  ASSERT_EQ(matches.size(), 4u);
  EXPECT_EQ(matches[0].rule, 0u);
  EXPECT_EQ(matches[1].rule, 1u);
  EXPECT_EQ(matches[1].lines, 2u);
  EXPECT_EQ(matches[2].rule, 3u);
  EXPECT_EQ(matches[3].rule, 4u);
}

TEST(MatcherTest, NeuronLines) {
  const std::string hbm = ".* NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR .*";
  const std::string dma = ".* NEURON_HW_ERR=DMA_ERROR .*";
  const std::string dmaEcs = ".*NEURON_HW_ERR=DMA_ERROR.*";
  const std::string first =
      "2024-07-01T00:00:00Z NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR instance-id=i-0 nd-id=0";
  EXPECT_EQ(matchLast(hbm, {first}, 10), Lines{first});
  for (const char* bare : {"NEURON_HW_ERR=DMA_ERROR instance-id=i-0", "x NEURON_HW_ERR=DMA_ERROR",
                           "x NEURON_HW_ERR=DMA_ERROR_V2 y"}) {
    EXPECT_EQ(matchLast(dma, {bare}, 10), Lines{}) << bare;
    EXPECT_EQ(matchLast(dmaEcs, {bare}, 10), Lines{bare});
  }
  EXPECT_EQ(
      matchLast(".* NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR .*",
                {parseKernelRecord("3,104,5,-;x NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR y\n SUBSYSTEM=neuron")
                     ->text},
                10),
      Lines{"x NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR y"});
}

// --- Equality with the definition ---

const std::vector<std::string> kPatterns = {
    "EXT4-fs error .*",
    R"(task [\S ]+:\w+ blocked for more than \w+ seconds\.)",
    R"(Killed process \d+ (.+) total-vm:\d+kB)",
    ".* NEURON_HW_ERR=DMA_ERROR .*",
    "(?s)first.*second",
    "^only line",
    R"((?m)^line \w+$)",
    "alpha\nbeta",
    R"(alpha[\s\S]*beta)",
    R"(alpha[\x00-\x7f]+beta)",
    R"(\Aalpha)",
    "alpha|beta",
    "abort|abandon",
    "alpha|",
    R"(\balpha\b)",
    "alpha$",
    "a*",
    "",
    "(alpha|beta) gamma",
    "[^x]+",
    R"([^x\n]+)",
    R"(\Qalpha)",
    R"(\W)",
    "(?i)ALPHA",
    R"((?<word>alpha) gamma)",
};
const std::vector<std::string> kLines = {
    "EXT4-fs error (device sda1)",
    "task docker:20744 blocked for more than 120 seconds.",
    "Killed process 1012 (heapster) total-vm:327128kB",
    "x NEURON_HW_ERR=DMA_ERROR nd-id=3 y",
    "first",
    "second",
    "only line",
    "line two",
    "alpha",
    "beta",
    "alpha gamma",
    "gamma alpha",
    "abort now",
    "x",
    "",
    "alpha\nbeta",
};

std::size_t naiveLines(const std::string& pattern, const std::vector<std::string>& pushed, std::size_t size) {
  std::vector<std::string> ring(size);
  for (std::size_t i = 0; i < pushed.size(); ++i) {
    ring.erase(ring.begin());
    ring.push_back(pushed[i]);
  }
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    text += (i > 0 ? "\n" : "") + ring[i];
  }
  std::string spelled = pattern;
  if (const auto at = spelled.find("(?<"); at != std::string::npos) {
    spelled.insert(at + 2, "P");
  }
  re2::StringPiece match;
  if (!RE2(spelled + "\\z").Match(text, 0, text.size(), RE2::UNANCHORED, &match, 1)) {
    return 0;
  }
  const auto start = static_cast<std::size_t>(match.data() - text.data());
  const std::size_t oldest = size - std::min(size, pushed.size());
  std::size_t lines = 0;
  std::size_t begin = text.size() + 1;
  for (std::size_t i = size; i > oldest && start < text.size() && start + 1 < begin; --i) {
    begin -= ring[i - 1].size() + 1;
    ++lines;
  }
  return lines;
}

void expectEqualToDefinition(std::size_t setMemory, int trials) {
  std::mt19937 random(20240718);
  for (const std::size_t size : {1u, 2u, 3u, 5u, 10u}) {
    for (int trial = 0; trial < trials; ++trial) {
      Matcher matcher(compileAll(kPatterns), size, setMemory);
      std::vector<std::string> pushed;
      for (int i = 0; i < 12; ++i) {
        pushed.push_back(kLines[random() % kLines.size()]);
        std::vector<std::size_t> found(kPatterns.size());
        for (const auto& match : matcher.push(line(pushed.back()))) {
          found[match.rule] = match.lines;
        }
        for (std::size_t rule = 0; rule < kPatterns.size(); ++rule) {
          ASSERT_EQ(found[rule], naiveLines(kPatterns[rule], pushed, size))
              << "pattern \"" << kPatterns[rule] << "\", ring of " << size << ", last line \""
              << pushed.back() << '"';
        }
      }
    }
  }
}

TEST(MatcherEquivalenceTest, EqualsTheNaiveDefinition) {
  expectEqualToDefinition(kSetMemory, 10);
}

TEST(MatcherEquivalenceTest, EqualsTheNaiveDefinitionWhenSetsHaveToBeSplitOrGivenUp) {
  expectEqualToDefinition(1 << 10, 1);
  expectEqualToDefinition(8 << 10, 1);
}

TEST(PrefilterTest, ASetWithoutMemoryStillNamesEveryRule) {
  const auto patterns = compileAll({"a{1,200}b{1,200}", "x[ab]{500}", "q"});
  Prefilter prefilter(patterns, {0, 1, 2}, 1 << 12);
  std::vector<std::size_t> candidates;
  prefilter.candidates("aab", candidates);
  EXPECT_NE(std::find(candidates.begin(), candidates.end(), 0u), candidates.end());
}

TEST(PatternTest, KnowsWhichPatternsNeverLeaveTheNewestLine) {
  for (const char* text : {"EXT4-fs error .*", R"(task \S+ blocked)", "alpha$", R"(\balpha\b)", R"([^x\n]+)",
                           "(alpha|beta)+ gamma", "(alpha|beta) gamma", R"(\Qa|b\E)", R"(x\|y)", "[|]",
                           R"([[:alpha:]]\.\x41)", "(?i)abc", "(?P<n>a|b)c", R"(\[\d+\] [\S ]+)"}) {
    EXPECT_TRUE(Pattern::compile(text)->newestLineOnly()) << text;
  }
  for (const char* text : {"[^x]+",
                           "(?s)alpha.*beta",
                           "^alpha",
                           R"(\Aalpha)",
                           "(?m)^alpha$",
                           "alpha\nbeta",
                           R"(alpha\nbeta)",
                           R"(alpha[\s\S]*beta)",
                           R"(alpha[\x00-\x7f]beta)",
                           R"(alpha[\n]beta)",
                           R"(alpha(beta|\n))",
                           R"(alpha{1,3}[\t-\r]beta)",
                           "alpha|beta",
                           "abort|abandon",
                           "a|",
                           R"(\s)",
                           R"(\W)",
                           R"(\D)",
                           "[[:space:]]",
                           R"(\x0a)",
                           R"(\x{a})",
                           R"(\012)",
                           R"(\PL)",
                           "(?s:a.b)",
                           R"(\Qabc)",
                           "[^[:alpha:]]"}) {
    EXPECT_FALSE(Pattern::compile(text)->newestLineOnly()) << text;
  }
}

TEST(PatternTest, AcceptsGoSyntaxAndNothingElse) {
  EXPECT_EQ(Pattern::compile(R"((?<gpu>Xid) \(?<x [(?<y>])")->effective(), R"((?P<gpu>Xid) \(?<x [(?<y>]\z)");
  for (const char* text : {"(", "a)", "[a", R"(\C)", "(?<=a)b", "(?!a)", "a**", "\\", R"(\8)", "x{2000}"}) {
    EXPECT_FALSE(Pattern::compile(text)) << text;
  }
  EXPECT_TRUE(Pattern::compile("a|b")->looseAlternation());
  EXPECT_FALSE(Pattern::compile("(a|b)[|]\\|")->looseAlternation());
}

TEST(ExtractorTest, GivesTheGroup) {
  const auto extractor = Extractor::compile(R"(\bnd-id=(\d+))");
  ASSERT_TRUE(extractor);
  EXPECT_EQ(extractor->extract("x nd-id=13 nc-id=2"), "13");
  EXPECT_EQ(extractor->extract("x and-id=13"), "");
  EXPECT_FALSE(Extractor::compile("nd-id="));
  EXPECT_FALSE(Extractor::compile("(a)(b)"));
  EXPECT_FALSE(Extractor::compile("("));
}

}  // namespace
}  // namespace mainstay::fault
