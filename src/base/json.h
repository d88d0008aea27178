// JSON: Boost.JSON's value behind a few functions, and the Cursor that reads it with paths in its errors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.h"

namespace mainstay {

using Json = boost::json::value;
using JsonObject = boost::json::object;
using JsonArray = boost::json::array;

// Parses one document: at most 64 levels deep, no trailing text, no comments, last duplicate key wins (as
// Go). The error begins with the place, "rules.json:2:12: invalid JSON: ..."; the file is left out when unnamed.
Result<Json> parseJson(std::string_view text, const std::string& file = "");

// Compact text; keys in the object's own order.
std::string toText(const Json& value);
// Two-space indent, for people and `-o json`.
std::string toPrettyText(const Json& value);

// Pointer access for trusted shapes: nullptr when any step is absent or not an object. find(node, "spec",
// "taints").
const Json* findMember(const Json& value, std::string_view key);
template <class... Keys>
const Json* find(const Json& value, Keys... keys) {
  const Json* at = &value;
  ((at = at ? findMember(*at, keys) : nullptr), ...);
  return at;
}
// "" when absent or not a string.
template <class... Keys>
std::string findString(const Json& value, Keys... keys) {
  const Json* at = find(value, keys...);
  return at && at->is_string() ? std::string(at->get_string()) : std::string();
}

// RFC 7386: null removes, objects merge, everything else replaces.
void mergePatch(Json& target, const Json& patch);

// Where a value of a text file stands; 1-based. Zero when unknown.
struct SourcePlace {
  int line = 0;
  int column = 0;
};

// Errors of one document, all of them, each with its path: "spec.limits.perHour: expected an integer, found a
// string". The place (line:column) is in front when the reader of the document knows it (YAML).
class DecodeErrors {
 public:
  explicit DecodeErrors(std::string file = "",
                        std::function<SourcePlace(const std::string& path)> place = {});
  void add(const std::string& path, const std::string& message);
  bool empty() const { return lines_.empty(); }
  const std::vector<std::string>& lines() const { return lines_; }
  // Ok, or kInvalidArgument with every line.
  Result<> result() const;

 private:
  std::string file_;
  std::function<SourcePlace(const std::string&)> place_;
  std::vector<std::string> lines_;
};

// A place in a document. Reading a wrong or missing value adds an error to the shared DecodeErrors and yields
// a default, so that a decoder is a plain list of fields and the user sees all mistakes at once.
//
//   DecodeErrors errors("policy.yaml");
//   Cursor root(document, errors);
//   policy.mode = root.at("spec").at("mode").string("Observe");
//   root.at("spec").allow({"mode", "limits"});   // unknown keys are errors, with the nearest known key
class Cursor {
 public:
  Cursor(const Json& value, DecodeErrors& errors) : value_(&value), errors_(&errors) {}

  // A member or element; an absent one is a Cursor with exists() == false that remembers its path.
  Cursor at(std::string_view key) const;
  Cursor at(std::size_t index) const;

  bool exists() const { return value_ != nullptr; }
  const std::string& path() const { return path_; }
  // REQUIRES: exists().
  const Json& value() const { return *value_; }
  void error(const std::string& message) const { errors_->add(path_, message); }

  // Required scalars: absent is an error. Absent and null are the same, as in Kubernetes.
  std::string string() const;
  std::int64_t integer() const;
  double number() const;
  bool boolean() const;
  // With a default when absent; a wrong type is an error all the same.
  std::string string(std::string_view fallback) const;
  std::int64_t integer(std::int64_t fallback) const;
  bool boolean(bool fallback) const;
  // Go duration text.
  Duration duration(Duration fallback) const;
  // RFC 3339; nullopt when absent.
  std::optional<TimePoint> time() const;

  // Elements of an array (none when absent), members of an object.
  std::vector<Cursor> elements() const;
  std::vector<std::pair<std::string, Cursor>> members() const;
  // An object of strings, such as labels.
  std::map<std::string, std::string> stringMap() const;

  // Adds an error for each key that is not listed: "unknown field, did you mean ...?".
  void allow(std::initializer_list<std::string_view> keys) const;
  void allow(std::span<const std::string_view> keys) const;

 private:
  Cursor(const Json* value, DecodeErrors* errors, std::string path)
      : value_(value), errors_(errors), path_(std::move(path)) {}
  bool expect(bool ok, std::string_view expected) const;

  const Json* value_;
  DecodeErrors* errors_;
  std::string path_;
};

}  // namespace mainstay
