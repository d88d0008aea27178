#include "trainer/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "trainer/failure.h"

namespace trainer {
namespace {

// RFC 3339 in UTC with microseconds, as the rest of the cluster writes times.
std::string timestamp() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  char seconds[32];
  const std::size_t size = std::strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
  char fraction[32];
  std::snprintf(fraction, sizeof fraction, ".%06ldZ", now.tv_nsec / 1000);
  return std::string(seconds, size) + fraction;
}

std::string decimal(float value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, static_cast<double>(value));
  return text;
}

}  // namespace

Report::Report(const Settings& settings) : rank_(settings.rank), json_(settings.json) {
  if (settings.checkpointFolder.empty()) {
    return;
  }
  std::error_code error;
  std::filesystem::create_directories(settings.checkpointFolder, error);
  const std::string path = settings.checkpointFolder + "/progress-rank-" + std::to_string(rank_) + ".jsonl";
  progress_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (progress_ < 0) {
    throw Failure(Exit::kCheckpoint, "cannot write " + path + ": " + std::strerror(errno));
  }
}

Report::~Report() {
  if (progress_ >= 0) {
    close(progress_);
  }
}

void Report::note(const std::string& text) {
  if (!json_) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }
}

void Report::resumed(int step) {
  say("resumed from step " + std::to_string(step), "\"event\":\"resumed\",\"step\":" + std::to_string(step));
}

void Report::step(int step, float loss) {
  say("step " + std::to_string(step) + " loss " + decimal(loss, 3),
      "\"event\":\"step\",\"step\":" + std::to_string(step) + ",\"loss\":" + decimal(loss, 6));
}

void Report::checkpoint(int step) {
  say("checkpoint of step " + std::to_string(step) + " is complete",
      "\"event\":\"checkpoint\",\"step\":" + std::to_string(step));
}

void Report::finished(int step, float loss, const std::string& sha256) {
  say("final loss " + decimal(loss, 3) + " parameters sha256 " + sha256,
      "\"event\":\"finished\",\"step\":" + std::to_string(step) + ",\"loss\":" + decimal(loss, 6) +
          ",\"sha256\":\"" + sha256 + "\"");
}

void Report::say(const std::string& text, const std::string& members) {
  const std::string line =
      "{\"time\":\"" + timestamp() + "\",\"rank\":" + std::to_string(rank_) + "," + members + "}\n";
  std::printf("%s", json_ ? line.c_str() : (text + "\n").c_str());
  std::fflush(stdout);
  // One write per line: readers never see half of one. Training does not stop for a progress file on a full
  // disk.
  if (progress_ >= 0 && write(progress_, line.data(), line.size()) < 0) {
    std::fprintf(stderr, "mainstay-trainer: progress file: %s\n", std::strerror(errno));
  }
}

}  // namespace trainer
