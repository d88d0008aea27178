#include "local/cluster/process_runtime.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include "local/api/json_access.h"

namespace mainstay::local {
namespace {

constexpr std::size_t kMaxTerminationMessage = 4096;  // as kubelet

std::string podFolderIn(const std::string& root, const std::string& ns, const std::string& pod,
                        const std::string& uid) {
  return root + "/" + ns + "_" + pod + "_" + uid;
}

Result<> makeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return fail(Code::kInternal, "making folder " + path + ": " + error.message());
  }
  return {};
}

// At most `limit` bytes from `offset` on; "" when there is nothing.
std::string readPart(const std::string& path, std::uint64_t offset, std::size_t limit) {
  std::ifstream file(path, std::ios::binary);
  if (!file.seekg(static_cast<std::streamoff>(offset))) {
    return "";
  }
  std::string text(limit, '\0');
  file.read(text.data(), static_cast<std::streamsize>(limit));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

const Json* statusOf(const Json& pod, const std::string& container) {
  for (const Json& status : arrayAt(pod, "status", "containerStatuses")) {
    if (findString(status, "name") == container) {
      return &status;
    }
  }
  return nullptr;
}

}  // namespace

ProcessRuntime::ProcessRuntime(std::string root, ImageTable images)
    : root_(std::move(root)), images_(std::move(images)) {}

std::optional<std::vector<std::string>> ProcessRuntime::entryPoint(const std::string& image) const {
  const auto entry = images_.find(image);
  return entry == images_.end() ? std::nullopt : std::optional(entry->second);
}

std::string ProcessRuntime::podFolder(const std::string& ns, const std::string& pod,
                                      const std::string& uid) const {
  return podFolderIn(root_, ns, pod, uid);
}

Result<std::string> ProcessRuntime::start(const ContainerSpec& spec, TimePoint) {
  const std::string folder = podFolder(spec.ns, spec.pod, spec.podUid);
  const std::string instance = spec.name + "-" + std::to_string(spec.restart);
  Command command;
  command.arguments = spec.arguments;
  command.environment = spec.environment;
  command.outputFile = folder + "/" + instance + ".log";
  command.workingFolder = spec.workingFolder.empty() ? folder + "/" + spec.name : spec.workingFolder;
  MAINSTAY_TRY(makeFolder(folder + "/" + spec.name));
  for (const std::string& wanted : spec.folders) {
    MAINSTAY_TRY(makeFolder(wanted));
  }
  std::error_code absent;  // the message of an earlier start, if any
  std::filesystem::remove(spec.terminationMessageFile, absent);
  MAINSTAY_ASSIGN(Subprocess process, Subprocess::start(command));
  std::string id = spec.podUid + "/" + instance;
  running_.insert_or_assign(id, Running{std::move(process), spec.terminationMessageFile});
  return id;
}

std::optional<ContainerExit> ProcessRuntime::takeExit(const std::string& id, TimePoint) {
  const auto entry = running_.find(id);
  if (entry == running_.end()) {
    return std::nullopt;
  }
  const std::optional<ExitStatus> status = entry->second.process.poll();
  if (!status) {
    return std::nullopt;
  }
  ContainerExit exit{status->code, readPart(entry->second.terminationMessageFile, 0, kMaxTerminationMessage)};
  running_.erase(entry);
  return exit;
}

void ProcessRuntime::terminate(const std::string& id, TimePoint) {
  if (const auto entry = running_.find(id); entry != running_.end()) {
    entry->second.process.signal(SIGTERM);
  }
}

void ProcessRuntime::kill(const std::string& id, TimePoint) {
  if (const auto entry = running_.find(id); entry != running_.end()) {
    entry->second.process.signal(SIGKILL);
  }
}

TimePoint ProcessRuntime::nextChange(TimePoint now) const {
  return running_.empty() ? kNever : now + kPollEvery;
}

Result<LogSource::Chunk> readProcessLog(const std::string& root, const Json& pod,
                                        const std::string& container, bool previous, std::uint64_t offset) {
  const Json* status = statusOf(pod, container);
  const std::int64_t restart = (status ? integerAt(*status, "restartCount").value_or(0) : -1) - previous;
  const std::string path =
      podFolderIn(root, findString(pod, "metadata", "namespace"), findString(pod, "metadata", "name"),
                  findString(pod, "metadata", "uid")) +
      "/" + container + "-" + std::to_string(restart) + ".log";
  if (restart < 0 || !std::filesystem::exists(path)) {
    return fail(Code::kNotFound, (previous ? "previous terminated container \"" : "container \"") +
                                     container + "\" in pod \"" + findString(pod, "metadata", "name") +
                                     "\" not found");
  }
  LogSource::Chunk chunk;
  // Asked before the read: what an ended container has written is then all there.
  chunk.ended = previous || find(*status, "state", "terminated") != nullptr;
  chunk.text = readPart(path, offset, LogSource::kMaxChunk);
  chunk.next = offset + chunk.text.size();
  chunk.ended = chunk.ended && chunk.text.size() < LogSource::kMaxChunk;
  return chunk;
}

}  // namespace mainstay::local
