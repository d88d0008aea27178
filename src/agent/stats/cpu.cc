#include <array>

#include "agent/proc_text.h"
#include "agent/stats/collectors.h"

namespace mainstay::agent::stats {
namespace {

// The columns of a cpu line. node-problem-detector calls them differently in its two metrics.
struct CpuColumn {
  const char* state;  // of cpu/usage_time
  const char* stage;  // of system/cpu_stat
};
constexpr std::array<CpuColumn, 10> kCpuColumns = {{{"user", "user"},
                                                    {"nice", "nice"},
                                                    {"system", "system"},
                                                    {"idle", "idle"},
                                                    {"iowait", "iowait"},
                                                    {"irq", "iRQ"},
                                                    {"softirq", "softIRQ"},
                                                    {"steal", "steal"},
                                                    {"guest", "guest"},
                                                    {"guest_nice", "guestNice"}}};

struct CounterLine {
  std::string_view word;
  std::string_view metric;
};
constexpr std::array<CounterLine, 4> kCounterLines = {{{"intr", "system/interrupts_total"},
                                                       {"processes", "system/processes_total"},
                                                       {"procs_running", "system/procs_running"},
                                                       {"procs_blocked", "system/procs_blocked"}}};

// "cpu  104488 11002 ..." and "cpu0 52018 ...".
void addCpuLine(const std::vector<std::string_view>& words, double usageTicks, Samples& samples) {
  for (std::size_t i = 0; i < kCpuColumns.size() && i + 1 < words.size(); ++i) {
    const auto ticks = numberOf(words[i + 1]);
    if (ticks && words[0] == "cpu") {
      samples.push_back({"cpu/usage_time", {{"state", kCpuColumns[i].state}}, *ticks / usageTicks});
    } else if (ticks) {
      samples.push_back({"system/cpu_stat",
                         {{"cpu", std::string(words[0])}, {"stage", kCpuColumns[i].stage}},
                         *ticks / kTicksPerSecond});
    }
  }
}

}  // namespace

Result<Samples> loadSamples(std::string_view loadavg) {
  const auto words = wordsOf(loadavg);
  std::array<double, 3> loads{};
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto load = i < words.size() ? numberOf(words[i]) : std::nullopt;
    if (!load) {
      return notAsExpected("loadavg", "three numbers", loadavg);
    }
    loads[i] = *load;
  }
  return Samples{{"cpu/runnable_task_count", {}, loads[0]},
                 {"cpu/load_1m", {}, loads[0]},
                 {"cpu/load_5m", {}, loads[1]},
                 {"cpu/load_15m", {}, loads[2]}};
}

Result<Samples> cpuSamples(std::string_view stat, double usageTicks) {
  Samples samples;
  for (const std::string_view line : linesOf(stat)) {
    // The interrupts of a large machine are thousands of numbers, of which the first is their sum.
    const auto words = wordsOf(line.substr(0, 512));
    if (words.size() < 2 || !numberOf(words[1])) {
      return notAsExpected("stat", "a word and numbers in each line", line);
    }
    if (words[0].starts_with("cpu")) {
      addCpuLine(words, usageTicks, samples);
    }
    for (const CounterLine& counter : kCounterLines) {
      if (words[0] == counter.word) {
        samples.push_back({counter.metric, {}, *numberOf(words[1])});
      }
    }
  }
  return samples.empty() ? notAsExpected("stat", "lines that begin with cpu", stat)
                         : Result<Samples>(std::move(samples));
}

}  // namespace mainstay::agent::stats
