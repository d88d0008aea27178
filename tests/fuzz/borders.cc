#include "borders.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "agent/probes/nvml_survey.h"
#include "agent/probes/storage.h"
#include "cloud/aws/call_error.h"
#include "cloud/aws/shared_files.h"
#include "cloud/aws/xml.h"
#include "fault/finding.h"
#include "fault/json_places.h"
#include "fault/matcher.h"
#include "fault/record.h"
#include "fault/rule.h"
#include "fault/text.h"
#include "sidecar/problems.h"

namespace mainstay::fuzz {
namespace {

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
  }
}

fault::Matcher matcherOf(const std::vector<std::string>& texts, std::size_t bufferSize) {
  std::vector<fault::Pattern> patterns;
  for (const std::string& text : texts) {
    patterns.push_back(*fault::Pattern::compile(text));
  }
  return {std::move(patterns), bufferSize};
}

}  // namespace

void kmsgRecord(std::string_view input) {
  const auto record = fault::parseKernelRecord(input);
  if (!record) {
    require(fault::sanitizeUtf8(record.error().message()) == record.error().message(),
            "errors are valid UTF-8");
    return;
  }
  require(fault::sanitizeUtf8(record->text) == record->text, "text is valid UTF-8");
  require(fault::trim(record->text) == record->text, "text is trimmed");
  require(fault::cutUtf8(record->text, 7).size() <= 7, "a cut is not longer than its limit");
  fault::Matcher matcher = matcherOf({".* NEURON_HW_ERR=DMA_ERROR .*", "(?s)a.*b", "a|b", "[^x]+"}, 3);
  for (int i = 0; i < 3; ++i) {
    for (const fault::Matcher::Match& match : matcher.push(*record)) {
      require(match.lines >= 1 && match.lines <= matcher.window().size(),
              "a match covers lines of the window");
    }
  }
}

void ruleFile(std::string_view input) {
  const auto config = fault::parseLogMonitorConfig(input, "fuzz.json");
  if (!config) {
    return;
  }
  require(config->bufferSize >= 1 && config->bufferSize <= fault::kMaxBufferSize, "the window is bounded");
  std::vector<std::string> patterns;
  for (const fault::Rule& rule : config->rules) {
    patterns.push_back(rule.pattern);
    require(rule.device.empty() || fault::Extractor::compile(rule.device), "an accepted device compiles");
  }
  fault::Record record;
  record.text = "x NEURON_HW_ERR=DMA_ERROR nd-id=3 y";
  matcherOf(patterns, config->bufferSize).push(record);
}

void json(std::string_view input) {
  const auto value = parseJson(input);
  if (!value) {
    return;
  }
  // Not equality: Boost.JSON reads some doubles one bit off.
  const auto again = parseJson(toText(*value));
  require(again && again->kind() == value->kind(), "a document survives its text");
  require(parseJson(toPrettyText(*value)).has_value(), "and its pretty text");
  require(fault::JsonPlaces(input).find("").line >= 1, "its value has a place");
  Json merged = *value;
  mergePatch(merged, *value);
}

void findings(std::string_view input) {
  const auto decoded = fault::decodeFindings(input);
  if (!decoded) {
    return;
  }
  const std::string text = fault::encodeFindings(*decoded);
  require(text.size() <= fault::kMaxFindingsBytes, "the annotation is bounded");
  const auto again = fault::decodeFindings(text);
  require(again && again->size() <= fault::kMaxFindings, "what we write we can read");
}

void awsAnswer(std::string_view input) {
  namespace aws = cloud::aws;
  const aws::CallError error =
      aws::readCallError(aws::kEc2, "X", {.status = 400, .body = std::string(input)});
  const std::string text = error.toString();
  require(fault::sanitizeUtf8(text) == text, "errors are valid UTF-8");
  require(text.find('\n') == text.npos, "and one line");
  if (const auto root = aws::parseXml(input)) {
    require(root->children.empty() || root->text.empty(), "an element has children or text");
  }
}

void awsProfiles(std::string_view input) {
  for (const auto kind : {cloud::aws::SharedFile::kConfig, cloud::aws::SharedFile::kCredentials}) {
    for (const auto& [name, profile] : cloud::aws::parseSharedFile(input, kind)) {
      for (const auto& [key, value] : profile) {
        require(value.find('\n') == value.npos, "a value is within its line");
      }
    }
  }
}

void metricsText(std::string_view input) {
  const std::set<std::string> reasons = {"NeuronHasError_DMA_ERROR", "a\"b\\\n"};
  const sidecar::Problems problems = sidecar::readProblems(input, reasons);
  for (const auto& [reason, seen] : problems.seen) {
    require(reasons.contains(reason), "only what was asked for is kept");
  }
  const auto lines = static_cast<std::size_t>(std::ranges::count(input, '\n')) + 1;
  require(problems.wrongLines <= lines, "a line is wrong once");
  const std::string more = std::string(input) + "\nproblem_counter{reason=\"NeuronHasError_DMA_ERROR\"} 1";
  require(sidecar::readProblems(more, reasons).seen["NeuronHasError_DMA_ERROR"],
          "nothing before a good line hides it");
}

void nvmlAnswer(std::string_view input) {
  const auto survey = agent::probes::parseNvmlSurvey(input);
  if (!survey) {
    return;
  }
  require(survey->gpus.size() <= 64, "the number of GPUs is bounded");
  for (const agent::probes::NvmlGpu& gpu : survey->gpus) {
    require(gpu.links.size() <= 64 && gpu.failures.size() <= 16, "and so is what they have");
    for (const std::string& text : {gpu.address, gpu.name, gpu.uuid, gpu.serial}) {
      require(text.size() <= 128 && fault::sanitizeUtf8(text) == text, "names are short and valid UTF-8");
    }
  }
}

void mountLine(std::string_view input) {
  if (const auto mount = agent::probes::parseMount(input)) {
    require(fault::sanitizeUtf8(mount->point) == mount->point, "a mount point is valid UTF-8");
    require(mount->options.find(' ') == std::string::npos, "options are one word");
  }
}

}  // namespace mainstay::fuzz
