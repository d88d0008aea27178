// KmsgReader: the kernel log as a source. Reads what is there, tells gaps in the sequence numbers, and opens
// a log that failed again and again with growing pauses, without reading a record twice.
#pragma once

#include <optional>

#include "agent/sources/kernel_log.h"
#include "agent/sources/retry_pause.h"
#include "agent/sources/source.h"

namespace mainstay::agent {

class KmsgReader final : public WaitableSource {
 public:
  // `logClock` is the present reading of the clock that stamps the log's records. Records between `told` (of an
  // earlier run) and the oldest one left are lost; those before it are given, like all others.
  KmsgReader(OpenKernelLog open, std::function<Duration()> logClock,
             std::optional<LogMark> told = std::nullopt);

  // At most kBatch records; nextPoll() is then at once.
  std::vector<SourceNews> poll(TimePoint now) override;
  TimePoint nextPoll() const override { return next_; }
  int descriptor() const override { return log_ ? log_->descriptor() : -1; }

  static constexpr int kBatch = 256;

 private:
  void open(TimePoint now, std::vector<SourceNews>& news);
  void readBatch(TimePoint now, std::vector<SourceNews>& news);
  void take(const std::string& raw, TimePoint now, std::vector<SourceNews>& news);
  void tellGap(std::uint64_t seq, std::vector<SourceNews>& news) const;
  void goBlind(const Error& error, TimePoint now, std::vector<SourceNews>& news);

  const OpenKernelLog open_;
  const std::function<Duration()> logClock_;
  const std::optional<LogMark> told_;
  std::unique_ptr<KernelLog> log_;
  TimePoint next_{};
  RetryPause pause_;
  bool overrun_ = false;
  std::optional<std::uint64_t> lastSeq_;
  Duration newestStamp_{};
};

// CLOCK_MONOTONIC, the nearest that user space has to the kernel log's own clock: both stand still in
// suspend, and they drift apart by about a millisecond.
Duration monotonicTime();

}  // namespace mainstay::agent
