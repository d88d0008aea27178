// Flags: command lines in the GNU form (--name=value, --name value), with subcommands, generated help and
// exact errors. The one place that knows the parsing library.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace mainstay {

class Flags {
 public:
  Flags(std::string program, std::string description);
  ~Flags();

  // Each variable keeps its present value as the default, which the help prints. A name "o,output" can be given as -o
  // as well.
  Flags& add(const std::string& name, std::string& variable, const std::string& help);
  Flags& add(const std::string& name, int& variable, const std::string& help);
  Flags& add(const std::string& name, double& variable, const std::string& help);
  // --x, --x=true, --x=false, as Go's pflag; never takes the next word. Of a flag given twice the last
  // counts.
  Flags& add(const std::string& name, bool& variable, const std::string& help);
  // Go duration text.
  Flags& add(const std::string& name, Duration& variable, const std::string& help);
  // Commas and repetition.
  Flags& add(const std::string& name, std::vector<std::string>& variable, const std::string& help);
  // Commas, repetition, and all the words that follow, up to the next flag.
  Flags& addWords(const std::string& name, std::vector<std::string>& variable, const std::string& help);
  // One of a closed set.
  Flags& addChoice(const std::string& name, std::string& variable, std::vector<std::string> choices,
                   const std::string& help);
  // Positional: required unless `optional`.
  Flags& addArgument(const std::string& name, std::string& variable, const std::string& help,
                     bool optional = false);
  // Accepted, not shown in the help.
  Flags& addHidden(const std::string& name, std::string& variable);

  // A subcommand with flags of its own; `run` gives the exit code. Flags that were added before are the
  // command's too, so that they can stand before or after its name.
  Flags& command(const std::string& name, const std::string& description, std::function<int()> run = {});

  // Parses and runs the chosen subcommand. --help and --version print and return 0. A wrong command line
  // prints what is wrong, how it is used, and returns 2. nullopt: parsed, and there was no subcommand to run
  // (main goes on).
  std::optional<int> parse(int argc, const char* const* argv);

 private:
  struct Impl;
  explicit Flags(std::unique_ptr<Impl> impl);
  template <class Make>
  Flags& define(Make make);
  Flags& addList(const std::string& name, std::vector<std::string>& variable, const std::string& help,
                 bool manyWords);
  Flags& deepestChosen();
  int complain(const std::string& problem) const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace mainstay
