// log-counter: how often a program has logged something of late, as a plugin of node-problem-detector. Answers by its exit
// code: 0 = less often than --count, 1 = as often, 2 = it cannot be known.
#include <poll.h>

#include <iostream>

#include "agent/tools/log_counter.h"
#include "base/descriptor.h"

namespace mainstay {
namespace {

bool waitReadable(int descriptor, Deadline deadline) {
  pollfd file{descriptor, POLLIN, 0};
  return ::poll(&file, 1, pollTimeout(deadline)) > 0;
}

}  // namespace
}  // namespace mainstay

int main(int argc, char** argv) {
  using namespace mainstay;
  agent::LogCounterOptions options;
  Flags flags("log-counter", "Counts a program's entries in the journal that match a pattern.");
  agent::addFlags(flags, options);
  if (const auto code = flags.parse(argc, argv)) {
    return *code;
  }
  const agent::LogCounterDoors doors{
      .open = [](const agent::JournalSelection& selection,
                 TimePoint since) { return agent::openJournal(selection, since, ""); },
      .wait = waitReadable};
  const auto counted = agent::countLogs(options, doors, SteadyWallClock().now(), timeSinceBoot());
  const agent::PluginAnswer answer = agent::answerOf(counted, options.count);
  std::cout << answer.text;  // a plugin's message is what stands on its standard output
  return answer.code;
}
