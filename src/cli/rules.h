// mainstay rules: our rule packs and a person's own, listed, shown, checked and tried.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/json.h"
#include "fault/finding.h"

namespace mainstay::cli {

struct RulesOptions {
  std::vector<std::string> rules;  // laid over our packs, in this order
  std::string format = "text";     // of list, show and explain: text, json, yaml; of list: markdown, too
};

// Exit codes: 0 done; 1 there is a complaint, or no such rule, or the line means nothing; 2 a pack is wrong.
int lintRules(const RulesOptions& options, std::ostream& out, std::ostream& errors);
int testRules(const RulesOptions& options, std::ostream& out, std::ostream& errors);
int listRules(const RulesOptions& options, std::ostream& out, std::ostream& errors);
// `id`: a pack, a rule or one of its codes.
int showRule(const RulesOptions& options, const std::string& id, std::ostream& out, std::ostream& errors);
// What one line of the kernel means.
int explainLine(const RulesOptions& options, const std::string& line, std::ostream& out,
                std::ostream& errors);

// What another system calls a fault: {typeKey: its type, "reason": its reason, with the code in its place}.
Json foreignJson(const fault::ForeignName& name, const std::string& typeKey, const std::string& code);

}  // namespace mainstay::cli
