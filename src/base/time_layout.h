// TimeLayout: Go's reference-time layouts ("Jan _2 15:04:05"), in which configs of node-problem-detector say how a log
// writes its times.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace mainstay {

class TimeLayout {
 public:
  // Every text is a layout: what is no element of the reference time has to stand in the time as it is.
  explicit TimeLayout(std::string_view layout);

  // As Go's time.ParseInLocation reads it, to the microsecond; nullopt when the text does not fit. Without a zone it is
  // local time. Without a year it is the latest such time that is not more than a day after `now`: a line of December
  // that is read in January is last year's.
  std::optional<TimePoint> parse(std::string_view text, TimePoint now) const;

 private:
  struct Part {
    std::string literal;   // in front of the element
    std::size_t element;   // of the reference time ("2006", "Jan", "_2"): a row of the table
    std::string spelling;  // as the layout has it
  };
  std::vector<Part> parts_;
  std::string rest_;  // what stands behind the last of them
};

}  // namespace mainstay
