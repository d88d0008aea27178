// KmsgThread: a KmsgReader with a thread of its own, which waits for the kernel log so that the agent's loop
// never does.
#pragma once

#include <memory>
#include <stop_token>
#include <thread>

#include "agent/sources/kmsg_reader.h"
#include "base/channel.h"
#include "base/descriptor.h"

namespace mainstay::agent {

class KmsgThread final : public Source {
 public:
  // Starts at once. `clock` and `signal` outlive it.
  KmsgThread(std::unique_ptr<KmsgReader> reader, const Clock& clock, Signal& signal);
  // Stops within a millisecond, unless a stand-in's answer is under way.
  ~KmsgThread() override;

  std::vector<SourceNews> poll(TimePoint now) override;
  TimePoint nextPoll() const override { return kNever; }

  // When the loop is busy for so many records the thread stops reading: the kernel's own ring is the larger
  // buffer.
  static constexpr std::size_t kQueue = 1024;

 private:
  void run(std::stop_token stop);
  void waitForMore(std::stop_token stop);

  const std::unique_ptr<KmsgReader> reader_;
  const Clock& clock_;
  Signal& signal_;
  Channel<SourceNews> news_;
  Descriptor stopEvent_;  // becomes readable at the stop
  std::jthread thread_;
};

}  // namespace mainstay::agent
