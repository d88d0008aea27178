// Checkpoints: sharded, atomic, verified.
//
//   CHECKPOINT_DIR/step-000077/shard-0-of-3   raw floats of one rank: temporary file, fsync, rename, fsync of
//   the folder CHECKPOINT_DIR/step-000077/manifest       written the same way by rank 0 after every rank
//   confirmed its shard: only
//                                             with it is the checkpoint complete. It holds the SHA-256 of
//                                             each shard.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainer {

using Digest = std::array<std::uint8_t, 32>;
Digest sha256(std::span<const std::byte> bytes);
std::string toHex(const Digest& digest);

// Durably replaces a file: whoever reads it sees the old or the new content. Throws Failure(kCheckpoint).
void writeDurably(const std::filesystem::path& path, std::span<const std::byte> bytes);

class Checkpoints {
 public:
  Checkpoints(std::filesystem::path folder, int rank, int world);

  // Writes this rank's shard. Throws Failure(kCheckpoint).
  Digest writeShard(int step, std::span<const float> state) const;
  // Rank 0: makes the checkpoint complete. `shards` by rank. Throws Failure(kCheckpoint).
  void commit(int step, const std::vector<Digest>& shards) const;
  // Rank 0: removes all but the newest `keep` complete checkpoints, and unfinished ones older than the
  // newest.
  void prune(int keep) const;

  // Steps with a manifest, newest first, up to `newest`.
  std::vector<int> completeSteps(int newest) const;
  // The newest checkpoint up to `newest` whose manifest and own shard are intact and of this world size; 0 =
  // none. What was passed over, and why, is added to `passedOver`.
  int newestIntact(int newest, std::vector<std::string>& passedOver) const;
  // Throws Failure(kCheckpoint) when the shard is not intact (any more).
  std::vector<float> readShard(int step) const;

 private:
  std::filesystem::path stepFolder(int step) const;
  std::filesystem::path shardPath(int step) const;
  // The shard's bytes when they are what the manifest promised; nullopt and `why` otherwise.
  std::optional<std::vector<float>> loadShard(int step, std::string& why) const;

  const std::filesystem::path folder_;
  const int rank_;
  const int world_;
};

}  // namespace trainer
