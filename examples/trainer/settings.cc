#include "trainer/settings.h"

#include <cctype>
#include <charconv>
#include <limits>

#include "trainer/failure.h"

namespace trainer {
namespace {

constexpr int kMaxWorld = 4096;  // the rendezvous table stays below a megabyte

int parseNumber(const std::string& name, std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw Failure(Exit::kSettings, name + ": expected an integer from " + std::to_string(least) + " to " +
                                       std::to_string(most) + ", found \"" + std::string(text) + "\"");
  }
  return value;
}

std::set<int> parseSteps(const std::string& name, std::string_view text) {
  std::set<int> steps;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    steps.insert(parseNumber(name, text.substr(0, comma), 1, std::numeric_limits<int>::max()));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return steps;
}

struct Option {
  std::string name;
  std::string variable;  // "" = a flag only
  std::string help;
  std::function<void(Settings&, const std::string& name, const std::string& text)> read;
};

template <class Field>
Option numberOption(const std::string& name, const std::string& variable, int least, const std::string& help,
                    Field Settings::*field) {
  return {name, variable, help, [=](Settings& settings, const std::string& source, const std::string& text) {
            settings.*field = Field(parseNumber(source, text, least, std::numeric_limits<int>::max()));
          }};
}

std::vector<Option> options() {
  return {
      {"checkpoint-dir", "CHECKPOINT_DIR", "folder for checkpoints, progress and result",
       [](Settings& s, const std::string&, const std::string& text) { s.checkpointFolder = text; }},
      numberOption("steps", "TRAINER_STEPS", 1, "steps of the whole run", &Settings::steps),
      numberOption("checkpoint-every", "TRAINER_CHECKPOINT_EVERY", 0, "a checkpoint each N steps",
                   &Settings::checkpointEvery),
      {"checkpoint-steps", "TRAINER_CHECKPOINT_STEPS", "a checkpoint after these steps, for example 40,77",
       [](Settings& s, const std::string& name, const std::string& text) {
         s.checkpointSteps = parseSteps(name, text);
       }},
      numberOption("keep-checkpoints", "TRAINER_KEEP_CHECKPOINTS", 1, "complete checkpoints kept",
                   &Settings::keepCheckpoints),
      numberOption("step-millis", "TRAINER_STEP_MILLIS", 0, "the least time of a step", &Settings::stepTime),
      numberOption("rendezvous-seconds", "TRAINER_RENDEZVOUS_SECONDS", 1, "how long to wait for the group",
                   &Settings::rendezvousTimeout),
      numberOption("peer-seconds", "TRAINER_PEER_SECONDS", 1, "how long a rank may be silent",
                   &Settings::peerTimeout),
      {"output", "TRAINER_OUTPUT", "text or json",
       [](Settings& s, const std::string& name, const std::string& text) {
         if (text != "text" && text != "json") {
           throw Failure(Exit::kSettings, name + ": expected text or json, found \"" + text + "\"");
         }
         s.json = text == "json";
       }},
      numberOption("drill-kill-step", "", 1, "fault drill: this rank kills itself after step N",
                   &Settings::drillKillStep),
  };
}

void readGroup(Settings& settings, const Environment& environment) {
  if (const auto text = environment("WORLD_SIZE")) {
    settings.world = parseNumber("WORLD_SIZE", *text, 1, kMaxWorld);
  }
  if (const auto text = environment("RANK")) {
    settings.rank = parseNumber("RANK", *text, 0, settings.world - 1);
  }
  settings.masterAddress = environment("MASTER_ADDR").value_or(settings.masterAddress);
  if (const auto text = environment("MASTER_PORT")) {
    settings.masterPort = parseNumber("MASTER_PORT", *text, 1, 65535);
  }
  settings.ownAddress = environment("POD_IP").value_or("");
}

void readFlag(Settings& settings, const std::vector<Option>& known, const std::string& argument) {
  const std::size_t equals = argument.find('=');
  for (const Option& option : known) {
    if (equals != std::string::npos && argument.substr(0, equals) == "--" + option.name) {
      option.read(settings, "--" + option.name, argument.substr(equals + 1));
      return;
    }
  }
  throw Failure(Exit::kSettings,
                "unknown argument \"" + argument + "\" (flags are --name=value)\n" + usage());
}

}  // namespace

bool Settings::checkpointAt(int step) const {
  return !checkpointFolder.empty() &&
         ((checkpointEvery > 0 && step % checkpointEvery == 0) || checkpointSteps.contains(step));
}

Settings readSettings(const std::vector<std::string>& arguments, const Environment& environment) {
  Settings settings;
  readGroup(settings, environment);
  const std::vector<Option> known = options();
  for (const Option& option : known) {
    const auto text = option.variable.empty() ? std::nullopt : environment(option.variable);
    if (text) {
      option.read(settings, option.variable, *text);
    }
  }
  for (const std::string& argument : arguments) {
    readFlag(settings, known, argument);
  }
  return settings;
}

std::string usage() {
  std::string text =
      "mainstay-trainer: trains a character-level language model on a small text, data-parallel over "
      "WORLD_SIZE "
      "ranks.\nGroup: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, POD_IP from the environment, as "
      "torchrun.\n";
  for (const Option& option : options()) {
    const std::string variable = option.variable.empty() ? "" : " (or " + option.variable + ")";
    text += "  --" + option.name + "=... " + option.help + variable + "\n";
  }
  return text;
}

}  // namespace trainer
