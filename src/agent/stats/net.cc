#include <array>

#include "agent/proc_text.h"
#include "agent/stats/collectors.h"
#include "fault/text.h"

namespace mainstay::agent::stats {
namespace {

// The columns after an interface's name.
constexpr std::array<std::string_view, 16> kNetColumns = {
    "net/rx_bytes", "net/rx_packets",    "net/rx_errors",     "net/rx_dropped",
    "net/rx_fifo",  "net/rx_frame",      "net/rx_compressed", "net/rx_multicast",
    "net/tx_bytes", "net/tx_packets",    "net/tx_errors",     "net/tx_dropped",
    "net/tx_fifo",  "net/tx_collisions", "net/tx_carrier",    "net/tx_compressed"};

constexpr std::size_t kHeaderLines = 2;

}  // namespace

Result<Samples> netSamples(std::string_view netDev, const fault::Pattern* exclude) {
  const auto lines = linesOf(netDev);
  if (lines.size() < kHeaderLines) {
    return notAsExpected("net/dev", "two lines of heading", netDev);
  }
  Samples samples;
  for (std::size_t i = kHeaderLines; i < lines.size(); ++i) {
    const std::size_t colon = lines[i].rfind(':');  // "eth0:253380002" may stand without a blank
    const auto words = wordsOf(lines[i].substr(std::min(colon, lines[i].size() - 1) + 1));
    if (colon == std::string_view::npos || words.size() < kNetColumns.size()) {
      return notAsExpected("net/dev", "an interface, a colon and 16 numbers", lines[i]);
    }
    const std::string name(fault::trim(lines[i].substr(0, colon)));
    if (exclude && exclude->find(name) != std::string_view::npos) {
      continue;
    }
    for (std::size_t column = 0; column < kNetColumns.size(); ++column) {
      if (const auto value = numberOf(words[column])) {
        samples.push_back({kNetColumns[column], {{"interface_name", name}}, *value});
      }
    }
  }
  return samples;
}

}  // namespace mainstay::agent::stats
