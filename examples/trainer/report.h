// Report: what one rank says, on standard output for people and in CHECKPOINT_DIR/progress-rank-N.jsonl for
// programs.
#pragma once

#include <string>

#include "trainer/settings.h"

namespace trainer {

class Report {
 public:
  // Throws Failure(kCheckpoint) when the folder cannot be written.
  explicit Report(const Settings& settings);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  void note(const std::string& text);  // for people only
  void resumed(int step);
  void step(int step, float loss);
  void checkpoint(int step);
  void finished(int step, float loss, const std::string& sha256);

 private:
  // One line for people, and the members of one JSON object.
  void say(const std::string& text, const std::string& members);

  const int rank_;
  const bool json_;
  int progress_ = -1;  // file descriptor
};

}  // namespace trainer
