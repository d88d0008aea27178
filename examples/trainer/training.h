// Training: the loop of one rank. The group's gradient is the same wherever and whenever it is computed, so a
// run that was interrupted and resumed ends with the bits of one that was not.
#pragma once

#include "trainer/checkpoint.h"
#include "trainer/model.h"
#include "trainer/optimizer.h"
#include "trainer/report.h"
#include "trainer/ring.h"

namespace trainer {

class Training {
 public:
  // Joins the group. Everything outlives it.
  Training(const Settings& settings, const Corpus& corpus, Interrupt& interrupt, Report& report);

  // To the last step; throws Failure when it must end before.
  void run();

 private:
  // The newest checkpoint that is intact on every rank, or the beginning. Returns the step done.
  int resume();
  float trainOneStep(int step);
  void saveCheckpoint(int step);
  // The mean loss over the whole text: it depends on the parameters only, not on the last batch.
  float evaluate();
  void finish();
  std::span<float> ownParameters();

  const Settings& settings_;
  const Corpus& corpus_;
  Interrupt& interrupt_;
  Report& report_;
  Ring ring_;
  Model model_;
  Adam optimizer_;
  Checkpoints checkpoints_;
};

// The text that the trainer learns, compiled in from corpus.txt.
std::string_view builtInText();

}  // namespace trainer
