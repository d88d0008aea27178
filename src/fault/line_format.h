// LineFormat: how a text log writes its lines, in the words of node-problem-detector's filelog plugin.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time_layout.h"
#include "fault/pattern.h"
#include "fault/record.h"

namespace mainstay::fault {

class LineFormat {
 public:
  // The keys of its pluginConfig, all three of which it wants.
  static constexpr char kTimestamp[] = "timestamp";         // regular expression
  static constexpr char kMessage[] = "message";             // regular expression
  static constexpr char kTimeLayout[] = "timestampFormat";  // Go's reference time

  // A missing key is an empty text, as node-problem-detector takes it. Lines that hold one of the texts of `skipList`
  // are nobody's business.
  static Result<LineFormat> create(const std::map<std::string, std::string>& pluginConfig,
                                   std::vector<std::string> skipList);

  bool skips(std::string_view line) const;
  // A line without its line feed. The error says what of it is not in this format. `now` tells the year where the log
  // does not.
  Result<Record> read(std::string_view line, TimePoint now) const;

 private:
  LineFormat(LastGroup timestamp, LastGroup message, TimeLayout layout, std::vector<std::string> skipList);

  LastGroup timestamp_;
  LastGroup message_;
  TimeLayout layout_;
  std::vector<std::string> skipList_;
};

}  // namespace mainstay::fault
