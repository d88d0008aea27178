// What makes an object acceptable: names, labels and the rules of single kinds that clients run into. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "local/api/discovery.h"

namespace mainstay::local {

using Causes = std::vector<Cause>;

// RFC 1123: a DNS label of at most 63 characters, or labels joined by dots, at most 253 in all.
bool isDnsLabel(std::string_view text);
bool isDnsSubdomain(std::string_view text);
// "prefix/name" or "name": keys of labels, annotations, taints; finalizers.
bool isQualifiedName(std::string_view text);
bool isLabelValue(std::string_view text);

Cause invalidValue(const std::string& field, const Json& value, const std::string& why);
Cause invalidText(const std::string& field, std::string_view value, const std::string& why);
Cause requiredValue(const std::string& field, const std::string& why = "");
Cause forbiddenValue(const std::string& field, const std::string& why);
Cause unsupportedValue(const std::string& field, const Json& value,
                       const std::vector<std::string>& supported);
Cause unsupportedText(const std::string& field, std::string_view value,
                      const std::vector<std::string>& supported);

// Name, labels, annotations, finalizers, owner references. `before` is null for a new object, here and below.
void validateMetadata(const Kind& kind, const Json* before, const Json& object, Causes& causes);
// The built-in kinds' own rules. Of the status subresource nothing is checked here.
void validateKind(const Kind& kind, const Json* before, const Json& after, Causes& causes);

}  // namespace mainstay::local
