// SourceThread: a source with a thread of its own, which waits for the outside so that the agent's loop never does.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "agent/sources/source.h"
#include "base/channel.h"
#include "base/descriptor.h"

namespace mainstay::agent {

class SourceThread final : public Source {
 public:
  // Starts at once; from then on only the thread uses the reader. `name` is what ps shows, at most 15 bytes. `clock` and
  // `signal` outlive it.
  SourceThread(std::string name, std::unique_ptr<WaitableSource> reader, const Clock& clock, Signal& signal);
  // Stops within a millisecond, unless a poll of the reader is under way.
  ~SourceThread() override;

  std::vector<SourceNews> poll(TimePoint now) override;
  TimePoint nextPoll() const override { return kNever; }

  // When the loop is busy for so many records the thread stops reading: the log itself is the larger buffer.
  static constexpr std::size_t kQueue = 1024;

 private:
  void run(std::stop_token stop);
  void waitForMore(std::stop_token stop);

  const std::string name_;
  const std::unique_ptr<WaitableSource> reader_;
  const Clock& clock_;
  Signal& signal_;
  Channel<SourceNews> news_;
  Descriptor stopEvent_;  // becomes readable at the stop
  std::jthread thread_;
};

}  // namespace mainstay::agent
