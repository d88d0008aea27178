#include "trainer/checkpoint.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "trainer/failure.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[] = "mainstay-trainer-checkpoint-1";
constexpr char kStepPrefix[] = "step-";
constexpr char kManifest[] = "manifest";

[[noreturn]] void writeFailed(const fs::path& path) {
  throw Failure(Exit::kCheckpoint, "cannot write " + path.string() + ": " + std::strerror(errno));
}

// A descriptor that closes itself.
struct Descriptor {
  explicit Descriptor(int number) : fd(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) {
      close(fd);
    }
  }
  const int fd;
};

void syncFolder(const fs::path& folder) {
  const Descriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.fd < 0 || fsync(descriptor.fd) != 0) {
    writeFailed(folder);
  }
}

std::optional<std::string> readFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file || !(content << file.rdbuf())) {
    return std::nullopt;
  }
  return content.str();
}

std::string manifestText(int step, const std::vector<Digest>& shards) {
  std::ostringstream text;
  text << kMagic << "\nstep " << step << "\nworld " << shards.size() << '\n';
  for (const Digest& shard : shards) {
    text << "shard " << toHex(shard) << '\n';
  }
  const std::string body = text.str();
  return body + "sha256 " + toHex(sha256(std::as_bytes(std::span(body)))) + '\n';
}

// The SHA-256 that an intact manifest of `step` and `world` gives for a rank's shard.
std::optional<std::string> promisedDigest(const std::string& text, int step, int world, int rank,
                                          std::string& why) {
  std::istringstream words(text);
  std::string magic, stepWord, worldWord, word;
  int foundStep = 0;
  int foundWorld = 0;
  words >> magic >> stepWord >> foundStep >> worldWord >> foundWorld;
  const std::size_t seal = text.rfind("sha256 ");
  const std::string body = text.substr(0, seal);
  const bool sealed = seal != std::string::npos &&
                      text.substr(seal) == "sha256 " + toHex(sha256(std::as_bytes(std::span(body)))) + '\n';
  if (words.fail() || magic != kMagic || foundStep != step || !sealed) {
    why = "its manifest is damaged";
    return std::nullopt;
  }
  if (foundWorld != world) {
    why = "it was written by " + std::to_string(foundWorld) + " ranks, this run has " + std::to_string(world);
    return std::nullopt;
  }
  std::string digest;
  for (int i = 0; i <= rank; ++i) {
    words >> word >> digest;
  }
  return digest;
}

// The number in "step-000077"; nullopt for any other name.
std::optional<int> stepOf(const std::string& name) {
  const std::string digits = name.starts_with(kStepPrefix) ? name.substr(sizeof kStepPrefix - 1) : "";
  if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return std::stoi(digits);
}

std::vector<int> stepsIn(const fs::path& folder) {
  std::vector<int> steps;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (const auto step = stepOf(entry.path().filename().string())) {
      steps.push_back(*step);
    }
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

}  // namespace

Digest sha256(std::span<const std::byte> bytes) {
  Digest digest{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw Failure(Exit::kCheckpoint, "SHA-256 is not available");
  }
  return digest;
}

std::string toHex(const Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

void writeDurably(const fs::path& path, std::span<const std::byte> bytes) {
  const fs::path temporary = path.string() + ".tmp";
  {
    const Descriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    while (file.fd >= 0 && !bytes.empty()) {
      const ssize_t written = write(file.fd, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) {
        writeFailed(temporary);
      }
      bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
    if (file.fd < 0 || fsync(file.fd) != 0) {
      writeFailed(temporary);
    }
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    writeFailed(path);
  }
  syncFolder(path.parent_path());
}

Checkpoints::Checkpoints(fs::path folder, int rank, int world)
    : folder_(std::move(folder)), rank_(rank), world_(world) {}

fs::path Checkpoints::stepFolder(int step) const {
  std::string digits = std::to_string(step);
  digits.insert(0, digits.size() < 6 ? 6 - digits.size() : 0, '0');
  return folder_ / (kStepPrefix + digits);
}

fs::path Checkpoints::shardPath(int step) const {
  return stepFolder(step) / ("shard-" + std::to_string(rank_) + "-of-" + std::to_string(world_));
}

Digest Checkpoints::writeShard(int step, std::span<const float> state) const {
  std::error_code error;
  fs::create_directories(stepFolder(step), error);
  writeDurably(shardPath(step), std::as_bytes(state));
  syncFolder(folder_);
  return sha256(std::as_bytes(state));
}

void Checkpoints::commit(int step, const std::vector<Digest>& shards) const {
  const std::string text = manifestText(step, shards);
  writeDurably(stepFolder(step) / kManifest, std::as_bytes(std::span(text)));
}

void Checkpoints::prune(int keep) const {
  const std::vector<int> complete = completeSteps(std::numeric_limits<int>::max());
  for (const int step : stepsIn(folder_)) {
    const auto place = std::find(complete.begin(), complete.end(), step);
    const bool unfinished = place == complete.end() && !complete.empty() && step < complete.front();
    if (unfinished || (place != complete.end() && place - complete.begin() >= keep)) {
      std::error_code error;  // what cannot be removed now is tried again at the next checkpoint
      // The manifest goes first: what is half removed must not look complete.
      fs::remove(stepFolder(step) / kManifest, error);
      fs::remove_all(stepFolder(step), error);
    }
  }
}

std::vector<int> Checkpoints::completeSteps(int newest) const {
  std::vector<int> steps = stepsIn(folder_);
  std::erase_if(steps, [&](int step) {
    std::error_code error;
    return step > newest || !fs::exists(stepFolder(step) / kManifest, error);
  });
  return steps;
}

int Checkpoints::newestIntact(int newest, std::vector<std::string>& passedOver) const {
  for (const int step : completeSteps(newest)) {
    std::string why;
    if (loadShard(step, why)) {
      return step;
    }
    passedOver.push_back("checkpoint of step " + std::to_string(step) + " is not used: " + why);
  }
  return 0;
}

std::vector<float> Checkpoints::readShard(int step) const {
  std::string why;
  auto state = loadShard(step, why);
  if (!state) {
    throw Failure(Exit::kCheckpoint, "checkpoint of step " + std::to_string(step) + ": " + why);
  }
  return *std::move(state);
}

std::optional<std::vector<float>> Checkpoints::loadShard(int step, std::string& why) const {
  const auto manifest = readFile(stepFolder(step) / kManifest);
  const auto promised = promisedDigest(manifest.value_or(""), step, world_, rank_, why);
  if (!promised) {
    return std::nullopt;
  }
  const auto bytes = readFile(shardPath(step));
  if (!bytes || toHex(sha256(std::as_bytes(std::span(*bytes)))) != *promised) {
    why = "shard " + std::to_string(rank_) + (bytes ? " is damaged" : " is missing");
    return std::nullopt;
  }
  std::vector<float> state(bytes->size() / sizeof(float));
  std::memcpy(state.data(), bytes->data(), state.size() * sizeof(float));
  return state;
}

}  // namespace trainer
