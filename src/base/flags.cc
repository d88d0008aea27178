#include "base/flags.h"

#include <charconv>
#include <iostream>

#include <CLI/CLI.hpp>

#include "base/text.h"

namespace mainstay {

namespace {

constexpr int kWrongCommandLine = 2;  // as Go's flag package and most GNU tools

// Takes the text of a value; "" when it is good, else what was expected.
using ValueReader = std::function<std::string(const std::string& text)>;

// "output" is --output; "o,output" is -o as well; a name of one letter can be given with one dash or two.
std::string dashed(const std::string& name) {
  if (name.size() > 2 && name[1] == ',') {
    return "-" + name.substr(0, 1) + ",--" + name.substr(2);
  }
  return name.size() == 1 ? "-" + name + ",--" + name : "--" + name;
}

CLI::Option* addValue(CLI::App& app, const std::string& name, const std::string& type,
                      const std::string& shown, const std::string& help, const ValueReader& read) {
  const auto take = [name, read](const std::string& text) {
    if (const std::string expected = read(text); !expected.empty()) {
      throw CLI::ValidationError(dashed(name), "expected " + expected + ", found \"" + text + "\"");
    }
  };
  return app.add_option_function<std::string>(dashed(name), take, help)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->type_name(type)
      ->default_str(shown);
}

template <class Number>
ValueReader numberReader(Number& variable, const std::string& expected) {
  return [&variable, expected](const std::string& text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      return expected;
    }
    variable = number;
    return std::string();
  };
}

std::string joined(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : separator) + word;
  }
  return text;
}

// The words as CLI11 wants them: the last first. Two forms that it does not know are split: "--x=", which would take
// the next word for the value, and "-o=json".
std::vector<std::string> wordsOf(int argc, const char* const* argv) {
  std::vector<std::string> words;
  bool flags = true;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    flags = flags && word != "--";
    const std::size_t equals = word.find('=');
    const bool emptyValue = word.starts_with("--") && equals == word.size() - 1;
    const bool letter = word.starts_with('-') && !word.starts_with("--") && equals == 2;
    if (flags && (emptyValue || letter)) {
      words.push_back(word.substr(0, equals));
      word.erase(0, equals + 1);
    }
    words.push_back(std::move(word));
  }
  std::reverse(words.begin(), words.end());
  return words;
}

}  // namespace

struct Flags::Impl {
  std::string path;                 // "mainstay node release"
  std::unique_ptr<CLI::App> owned;  // the root's
  CLI::App* app = nullptr;          // owned here, or by the root's app
  std::function<int()> run = {};
  std::vector<std::function<CLI::Option*(CLI::App&)>> inherited =
      {};  // how to give a command the flags of its parents
  std::vector<std::unique_ptr<Flags>> commands = {};

  // What a word that was not understood should have been.
  std::string explainExtra(const std::string& word) const {
    std::vector<std::string> known;
    const bool flag = word.starts_with('-');
    for (const CLI::Option* option : app->get_options()) {
      if (flag && !option->get_group().empty() && !option->get_positional()) {
        known.push_back("--" + option->get_single_name());
      }
    }
    for (const auto& command : commands) {
      if (!flag) {
        known.push_back(command->impl_->app->get_name());
      }
    }
    const std::vector<std::string_view> views(known.begin(), known.end());
    const std::string name = word.substr(0, word.find('='));
    const std::string_view kind = flag               ? "unknown flag "
                                  : commands.empty() ? "unexpected argument "
                                                     : "unknown command ";
    return std::string(kind) + name + didYouMean(name, views);
  }

  std::string commandNames() const {
    std::vector<std::string> names;
    for (const auto& command : commands) {
      names.push_back(command->impl_->app->get_name());
    }
    return joined(names, ", ");
  }
};

Flags::Flags(std::string program, std::string description) : impl_(std::make_unique<Impl>()) {
  impl_->path = program;
  impl_->owned = std::make_unique<CLI::App>(std::move(description), std::move(program));
  impl_->app = impl_->owned.get();
  impl_->app->set_help_flag("-h,--help", "print this help and exit");
  impl_->app->set_version_flag("--version", impl_->path + " " MAINSTAY_VERSION, "print the version and exit");
  impl_->app->require_subcommand(0, 1);
}

Flags::Flags(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Flags::~Flags() = default;

template <class Make>
Flags& Flags::define(Make make) {
  make(*impl_->app);
  impl_->inherited.emplace_back(std::move(make));
  return *this;
}

Flags& Flags::add(const std::string& name, std::string& variable, const std::string& help) {
  return define([=, &variable, shown = variable](CLI::App& app) {
    return addValue(app, name, "TEXT", shown, help, [&variable](const std::string& text) {
      variable = text;
      return "";
    });
  });
}

Flags& Flags::add(const std::string& name, int& variable, const std::string& help) {
  return define([=, &variable, shown = std::to_string(variable)](CLI::App& app) {
    return addValue(app, name, "INT", shown, help, numberReader(variable, "a whole number"));
  });
}

Flags& Flags::add(const std::string& name, double& variable, const std::string& help) {
  return define([=, &variable, shown = CLI::detail::to_string(variable)](CLI::App& app) {
    return addValue(app, name, "NUMBER", shown, help, numberReader(variable, "a number"));
  });
}

Flags& Flags::add(const std::string& name, bool& variable, const std::string& help) {
  return define([=, &variable, shown = variable](CLI::App& app) {
    CLI::Option* option = app.add_flag(dashed(name), variable, help + (shown ? " (on by default)" : ""));
    return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  });
}

Flags& Flags::add(const std::string& name, Duration& variable, const std::string& help) {
  return define([=, &variable, shown = formatDuration(variable)](CLI::App& app) {
    return addValue(app, name, "DURATION", shown, help, [&variable](const std::string& text) {
      const auto duration = parseDuration(text);
      variable = duration.value_or(variable);
      return duration ? "" : "a duration such as 300ms, 90s or 1h30m";
    });
  });
}

Flags& Flags::add(const std::string& name, std::vector<std::string>& variable, const std::string& help) {
  return addList(name, variable, help, false);
}

Flags& Flags::addWords(const std::string& name, std::vector<std::string>& variable, const std::string& help) {
  return addList(name, variable, help, true);
}

Flags& Flags::addList(const std::string& name, std::vector<std::string>& variable, const std::string& help,
                      bool manyWords) {
  return define([=, &variable, shown = joined(variable, ",")](CLI::App& app) {
    const auto take = [&variable](const std::vector<std::string>& values) { variable = values; };
    return app.add_option_function<std::vector<std::string>>(dashed(name), take, help)
        ->delimiter(',')
        ->allow_extra_args(manyWords)
        ->type_name("TEXT")
        ->default_str(shown);
  });
}

Flags& Flags::addChoice(const std::string& name, std::string& variable, std::vector<std::string> choices,
                        const std::string& help) {
  const std::string type = joined(choices, "|");
  return define([=, &variable, shown = variable](CLI::App& app) {
    return addValue(app, name, type, shown, help, [&variable, choices](const std::string& text) {
      const bool known = std::find(choices.begin(), choices.end(), text) != choices.end();
      variable = known ? text : variable;
      return known ? "" : "one of " + joined(choices, ", ");
    });
  });
}

Flags& Flags::addArgument(const std::string& name, std::string& variable, const std::string& help,
                          bool optional) {
  impl_->app->add_option(name, variable, help)->required(!optional)->type_name("");
  return *this;
}

Flags& Flags::addHidden(const std::string& name, std::string& variable) {
  return define([=, &variable](CLI::App& app) {
    return app.add_option(dashed(name), variable)
        ->group("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  });
}

Flags& Flags::command(const std::string& name, const std::string& description, std::function<int()> run) {
  auto child = std::make_unique<Impl>();
  child->path = impl_->path + " " + name;
  child->app = impl_->app->add_subcommand(name, description);
  child->app->require_subcommand(0, 1);
  child->run = std::move(run);
  child->inherited = impl_->inherited;
  for (const auto& make : child->inherited) {
    CLI::Option* option = make(*child->app);
    option->group(option->get_group().empty() ? "" : "Common options");
  }
  impl_->commands.push_back(std::unique_ptr<Flags>(new Flags(std::move(child))));
  return *impl_->commands.back();
}

Flags& Flags::deepestChosen() {
  for (const auto& command : impl_->commands) {
    if (command->impl_->app->parsed()) {
      return command->deepestChosen();
    }
  }
  return *this;
}

int Flags::complain(const std::string& problem) const {
  std::cerr << impl_->path << ": " << problem << "\n"
            << CLI::Formatter().make_usage(impl_->app, impl_->path) << "Run \"" << impl_->path
            << " --help\" for all flags.\n";
  return kWrongCommandLine;
}

std::optional<int> Flags::parse(int argc, const char* const* argv) {
  auto words = wordsOf(argc, argv);
  try {
    impl_->app->parse(words);
  } catch (const CLI::Success& request) {  // --help, --version
    return impl_->app->exit(request, std::cout, std::cerr);
  } catch (const CLI::ExtrasError&) {
    const Flags& chosen = deepestChosen();
    const auto extras = impl_->app->remaining(true);
    return chosen.complain(chosen.impl_->explainExtra(extras.empty() ? "" : extras.front()));
  } catch (const CLI::Error& error) {
    return deepestChosen().complain(error.what());
  }
  const Flags& chosen = deepestChosen();
  if (chosen.impl_->run) {
    return chosen.impl_->run();
  }
  if (!chosen.impl_->commands.empty()) {
    return chosen.complain("a command is missing, one of: " + chosen.impl_->commandNames());
  }
  return std::nullopt;
}

}  // namespace mainstay
