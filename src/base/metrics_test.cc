#include "base/metrics.h"

#include <limits>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainstay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(MetricsTest, ShowsProblemMetricsAsNodeProblemDetectorDoes) {
  Metrics metrics;
  const std::string counterHelp = "Number of times a specific type of problem have occurred.";
  const std::string gaugeHelp = "Whether a specific type of problem is affecting the node or not.";
  metrics.count("problem_counter", counterHelp, {{"reason", "NeuronHasError_DMA_ERROR"}});
  metrics.count("problem_counter", counterHelp, {{"reason", "OOMKilling"}}, 0);
  metrics.set("problem_gauge", gaugeHelp, {{"type", "NeuronHealth"}, {"reason", "NeuronHasError_DMA_ERROR"}},
              1);
  EXPECT_EQ(metrics.text(),
            "# HELP problem_counter Number of times a specific type of problem have occurred.\n"
            "# TYPE problem_counter counter\n"
            "problem_counter{reason=\"NeuronHasError_DMA_ERROR\"} 1\n"
            "problem_counter{reason=\"OOMKilling\"} 0\n"
            "# HELP problem_gauge Whether a specific type of problem is affecting the node or not.\n"
            "# TYPE problem_gauge gauge\n"
            "problem_gauge{reason=\"NeuronHasError_DMA_ERROR\",type=\"NeuronHealth\"} 1\n");
}

TEST(MetricsTest, AddsAndReplaces) {
  Metrics metrics;
  metrics.count("c", "", {}, 2);
  metrics.count("c", "", {}, 3);
  metrics.set("g", "", {}, 2);
  metrics.set("g", "", {}, -1.5);
  EXPECT_THAT(metrics.text(), AllOf(HasSubstr("\nc 5\n"), HasSubstr("\ng -1.5\n")));
}

TEST(MetricsTest, SortsSecondsIntoBuckets) {
  Metrics metrics;
  metrics.observe("duration_seconds", "Time.", {{"phase", "Draining"}}, 0.002);
  metrics.observe("duration_seconds", "Time.", {{"phase", "Draining"}}, 5000);
  EXPECT_THAT(metrics.text(),
              AllOf(HasSubstr("duration_seconds_count{phase=\"Draining\"} 2\n"),
                    HasSubstr("duration_seconds_bucket{phase=\"Draining\",le=\"0.001\"} 0\n"),
                    HasSubstr("duration_seconds_bucket{phase=\"Draining\",le=\"0.003\"} 1\n"),
                    HasSubstr("duration_seconds_bucket{phase=\"Draining\",le=\"1800\"} 1\n"),
                    HasSubstr("duration_seconds_bucket{phase=\"Draining\",le=\"+Inf\"} 2\n")));
}

TEST(MetricsTest, EscapesLabelValues) {
  Metrics metrics;
  metrics.count("c", "", {{"reason", "a\"b\\c\nd"}});
  EXPECT_THAT(metrics.text(), HasSubstr(R"(c{reason="a\"b\\c\nd"} 1)"));
}

TEST(MetricsTest, KeepsTheRestWhenOneIsImpossible) {
  Metrics metrics;
  metrics.count("not a name", "", {});
  metrics.count("c", "", {});
  metrics.set("c", "", {}, 7);  // it is a counter
  EXPECT_THAT(metrics.text(),
              AllOf(HasSubstr("\nc 1\n"), Not(HasSubstr("not a name")), Not(HasSubstr("c 7"))));
}

TEST(MetricsTest, BoundsTheSeriesOfOneMetric) {
  Metrics metrics;
  for (int i = 0; i < 20'001; ++i) {
    metrics.count("c", "", {{"reason", std::to_string(i)}});
  }
  metrics.count("c", "", {{"reason", "7"}});
  metrics.count("d", "", {});
  EXPECT_THAT(metrics.text(), AllOf(HasSubstr("c{reason=\"19999\"} 1\n"), Not(HasSubstr("reason=\"20000\"")),
                                    HasSubstr("c{reason=\"7\"} 2\n"), HasSubstr("\nd 1\n")));
}

TEST(MetricsTest, ShowsACounterOfTheKernelAsItStandsThere) {
  Metrics metrics;
  metrics.setTotal("bytes", "", {}, 253380002);
  EXPECT_THAT(metrics.text(), HasSubstr("# TYPE bytes counter\nbytes 253380002\n"));
  metrics.setTotal("bytes", "", {}, 253380003.5);
  EXPECT_THAT(metrics.text(), HasSubstr("\nbytes 253380003.5\n"));
  metrics.setTotal("bytes", "", {}, 7);  // the device was plugged in again
  EXPECT_THAT(metrics.text(), HasSubstr("\nbytes 7\n"));
}

TEST(MetricsTest, ASeriesThatIsRemovedIsNotShownAndMayComeBack) {
  Metrics metrics;
  metrics.setTotal("c", "", {{"disk", "a"}}, 5);
  metrics.setTotal("c", "", {{"disk", "b"}}, 6);
  metrics.set("g", "", {}, 1);
  metrics.observe("h", "", {}, 1);
  metrics.remove("c", {{"disk", "a"}});
  metrics.remove("c", {{"disk", "never"}});
  metrics.remove("g", {});
  metrics.remove("h", {});
  metrics.remove("never", {});
  EXPECT_EQ(metrics.text(), "# TYPE c counter\nc{disk=\"b\"} 6\n");
  metrics.count("c", "", {{"disk", "a"}}, 1);
  EXPECT_THAT(metrics.text(), HasSubstr("c{disk=\"a\"} 1\n"));
}

TEST(MetricsTest, ShowsAnEmptyLabelAsNodeProblemDetectorDoes) {
  Metrics metrics;
  metrics.set("system_os_feature", "h", {{"os_feature", "KTD"}, {"value", ""}}, 0);
  EXPECT_THAT(metrics.text(), HasSubstr("system_os_feature{os_feature=\"KTD\",value=\"\"} 0\n"));
}

TEST(MetricsTest, CountsFromManyThreads) {
  Metrics metrics;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 250; ++i) {
          metrics.count("c", "", {});
        }
      });
    }
  }
  EXPECT_THAT(metrics.text(), HasSubstr("\nc 1000\n"));
}

}  // namespace
}  // namespace mainstay
