#include "agent/probes/nvml_survey.h"

#include "base/json.h"
#include "base/text.h"

namespace mainstay::agent::probes {
namespace {

constexpr std::size_t kMaxGpus = 64;
constexpr std::size_t kMaxLinks = 64;
constexpr std::size_t kMaxFailures = 16;
constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxFailure = 256;

std::string textAt(const Cursor& at, std::size_t limit = kMaxName) {
  const std::string safe = sanitizeUtf8(at.string(""));
  return std::string(cutUtf8(safe, limit));
}

std::optional<std::int64_t> numberAt(const Cursor& at) {
  return at.exists() ? std::optional(at.integer()) : std::nullopt;
}

std::vector<Cursor> elementsAt(const Cursor& at, std::size_t limit) {
  auto elements = at.elements();
  if (elements.size() > limit) {
    at.error("expected at most " + std::to_string(limit) + " elements, found " +
             std::to_string(elements.size()));
    elements.clear();
  }
  return elements;
}

NvmlLink linkAt(const Cursor& at) {
  return {at.at("link").integer(), at.at("active").boolean(), numberAt(at.at("replays")),
          numberAt(at.at("recoveries")), numberAt(at.at("crcErrors"))};
}

NvmlGpu gpuAt(const Cursor& at) {
  NvmlGpu gpu;
  gpu.index = at.at("index").integer();
  gpu.address = textAt(at.at("pci"));
  gpu.name = textAt(at.at("name"));
  gpu.uuid = textAt(at.at("uuid"));
  gpu.serial = textAt(at.at("serial"));
  gpu.lost = at.at("lost").boolean(false);
  gpu.resetRequired = at.at("resetRequired").boolean(false);
  if (at.at("eccOn").exists()) {
    gpu.eccOn = at.at("eccOn").boolean();
  }
  gpu.eccUncorrected = numberAt(at.at("eccUncorrected"));
  gpu.eccCorrected = numberAt(at.at("eccCorrected"));
  if (at.at("sramThresholdExceeded").exists()) {
    gpu.sramThresholdExceeded = at.at("sramThresholdExceeded").boolean();
  }
  gpu.remappedUncorrected = numberAt(at.at("remappedUncorrected"));
  gpu.remapPending = at.at("remapPending").boolean(false);
  gpu.remapFailed = at.at("remapFailed").boolean(false);
  gpu.retiredPages = numberAt(at.at("retiredPages"));
  gpu.retirementPending = at.at("retirementPending").boolean(false);
  for (const Cursor& link : elementsAt(at.at("links"), kMaxLinks)) {
    gpu.links.push_back(linkAt(link));
  }
  if (const Cursor fabric = at.at("fabric"); fabric.exists()) {
    gpu.fabric = NvmlFabric{fabric.at("state").integer(), fabric.at("status").integer(),
                            fabric.at("healthMask").integer(0)};
  }
  gpu.throttle = at.at("throttle").integer(0);
  gpu.recoveryAction = at.at("recoveryAction").integer(0);
  for (const Cursor& failure : elementsAt(at.at("failures"), kMaxFailures)) {
    gpu.failures.push_back(textAt(failure, kMaxFailure));
  }
  return gpu;
}

}  // namespace

Result<NvmlSurvey> parseNvmlSurvey(std::string_view line) {
  MAINSTAY_ASSIGN(const Json document, parseJson(line));
  DecodeErrors errors;
  const Cursor root(document, errors);
  NvmlSurvey survey;
  survey.driver = textAt(root.at("driver"));
  survey.errorCode = root.at("errorCode").integer(0);
  survey.error = textAt(root.at("error"), kMaxFailure);
  for (const Cursor& gpu : elementsAt(root.at("gpus"), kMaxGpus)) {
    survey.gpus.push_back(gpuAt(gpu));
  }
  MAINSTAY_TRY(errors.result());
  return survey;
}

}  // namespace mainstay::agent::probes
