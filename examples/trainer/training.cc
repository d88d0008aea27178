#include "trainer/training.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <numeric>
#include <string_view>

namespace trainer {
namespace {

constexpr std::uint64_t kSeed = 20261129;
constexpr int kSamplesPerRank = 64;

// Where in the text sample `index` of this step and rank stands.
std::size_t samplePlace(int step, int rank, int index, std::size_t size) {
  const auto key = (static_cast<std::uint64_t>(step) << 32) + (static_cast<std::uint64_t>(rank) << 16) +
                   static_cast<std::uint64_t>(index);
  return Model::kContext + mix(kSeed ^ mix(key)) % (size - Model::kContext);
}

// By rank, from the first to the last.
float sumOf(const std::vector<float>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0F);
}

}  // namespace

Training::Training(const Settings& settings, const Corpus& corpus, Interrupt& interrupt, Report& report)
    : settings_(settings),
      corpus_(corpus),
      interrupt_(interrupt),
      report_(report),
      ring_(settings, interrupt),
      model_(corpus.alphabet()),
      optimizer_(chunkOf(model_.parameters().size(), settings.rank, settings.world).size()),
      checkpoints_(settings.checkpointFolder, settings.rank, settings.world) {
  model_.initialise(kSeed);
}

void Training::run() {
  const int done = resume();
  const auto begin = std::chrono::steady_clock::now();
  for (int step = done + 1; step <= settings_.steps; ++step) {
    report_.step(step, trainOneStep(step));
    if (settings_.checkpointAt(step)) {
      saveCheckpoint(step);
    }
    if (step == settings_.drillKillStep) {
      raise(SIGKILL);
    }
    // The pace is kept from the beginning, not from step to step: it does not drift, and it touches no
    // number.
    interrupt_.sleepUntil(begin + (step - done) * settings_.stepTime);
  }
  finish();
}

int Training::resume() {
  if (settings_.checkpointFolder.empty()) {
    return 0;
  }
  // Each rank verifies its own shard. The group falls back until all name the same step.
  int newest = std::numeric_limits<int>::max();
  std::vector<std::string> passedOver;
  for (;;) {
    const int own = checkpoints_.newestIntact(newest, passedOver);
    const std::vector<int> all = ring_.gather(own);
    newest = *std::min_element(all.begin(), all.end());
    if (newest == *std::max_element(all.begin(), all.end())) {
      break;
    }
  }
  for (const std::string& line : passedOver) {
    report_.note(line);
  }
  if (newest > 0) {
    optimizer_.restore(checkpoints_.readShard(newest), ownParameters());
    ring_.allGather(model_.parameters());
    report_.resumed(newest);
  }
  return newest;
}

float Training::trainOneStep(int step) {
  std::vector<float> gradient(model_.parameters().size(), 0.0F);
  float lossSum = 0;
  for (int i = 0; i < kSamplesPerRank; ++i) {
    const std::size_t at = samplePlace(step, ring_.rank(), i, corpus_.size());
    lossSum += model_.addGradient(corpus_.symbols(), at, gradient);
  }
  ring_.reduceScatter(gradient);
  const auto samples = static_cast<float>(kSamplesPerRank * ring_.world());
  const Chunk own = chunkOf(gradient.size(), ring_.rank(), ring_.world());
  const std::span<float> ownGradient = std::span(gradient).subspan(own.begin, own.size());
  for (float& value : ownGradient) {
    value /= samples;
  }
  optimizer_.update(ownParameters(), ownGradient);
  ring_.allGather(model_.parameters());
  return sumOf(ring_.gather(lossSum)) / samples;
}

void Training::saveCheckpoint(int step) {
  const Digest own = checkpoints_.writeShard(step, optimizer_.pack(ownParameters()));
  const std::vector<Digest> shards =
      ring_.gather(own);  // a rank's digest is its word that the shard is on disk
  if (ring_.rank() == 0) {
    checkpoints_.commit(step, shards);
    checkpoints_.prune(settings_.keepCheckpoints);
  }
  ring_.barrier();
  report_.checkpoint(step);
}

float Training::evaluate() {
  const std::size_t samples = corpus_.size() - Model::kContext;
  const Chunk own = chunkOf(samples, ring_.rank(), ring_.world());
  float lossSum = 0;
  for (std::size_t i = own.begin; i < own.end; ++i) {
    lossSum += model_.loss(corpus_.symbols(), Model::kContext + i);
  }
  return sumOf(ring_.gather(lossSum)) / static_cast<float>(samples);
}

void Training::finish() {
  const float loss = evaluate();
  const std::string digest = toHex(sha256(std::as_bytes(model_.parameters())));
  if (ring_.rank() == 0 && !settings_.checkpointFolder.empty()) {
    char text[256];
    const int size =
        std::snprintf(text, sizeof text, "{\"steps\":%d,\"world\":%d,\"loss\":%.6f,\"sha256\":\"%s\"}\n",
                      settings_.steps, ring_.world(), static_cast<double>(loss), digest.c_str());
    const std::string_view result(text, static_cast<std::size_t>(size));
    writeDurably(std::filesystem::path(settings_.checkpointFolder) / "result.json",
                 std::as_bytes(std::span(result)));
  }
  report_.finished(settings_.steps, loss, digest);
}

std::span<float> Training::ownParameters() {
  const Chunk own = chunkOf(model_.parameters().size(), ring_.rank(), ring_.world());
  return model_.parameters().subspan(own.begin, own.size());
}

}  // namespace trainer
