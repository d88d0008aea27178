#include "base/json.h"

#include <boost/json/parser.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace mainstay {

namespace {

constexpr std::size_t kMaxDepth = 64;  // Kubernetes' deepest schemas stay below 40

SourcePlace placeAt(std::string_view text, std::size_t offset) {
  SourcePlace place{1, 1};
  for (const char c : text.substr(0, offset)) {
    place.column = c == '\n' ? 1 : place.column + 1;
    place.line += c == '\n' ? 1 : 0;
  }
  return place;
}

std::string_view kindName(const Json& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "a boolean";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
      return "an integer";
    case boost::json::kind::double_:
      return "a number";
    case boost::json::kind::string:
      return "a string";
    case boost::json::kind::array:
      return "a list";
    case boost::json::kind::object:
      return "an object";
  }
  return "nothing";
}

void appendPretty(std::string& out, const Json& value, int depth) {
  const auto newline = [&](int levels) {
    out.append("\n").append(static_cast<std::size_t>(levels) * 2, ' ');
  };
  if (value.is_object() && !value.get_object().empty()) {
    out += '{';
    bool first = true;
    for (const auto& [key, member] : value.get_object()) {
      out += first ? "" : ",";
      first = false;
      newline(depth + 1);
      out += boost::json::serialize(boost::json::string_view(key)) + ": ";
      appendPretty(out, member, depth + 1);
    }
    newline(depth);
    out += '}';
  } else if (value.is_array() && !value.get_array().empty()) {
    out += '[';
    bool first = true;
    for (const Json& element : value.get_array()) {
      out += first ? "" : ",";
      first = false;
      newline(depth + 1);
      appendPretty(out, element, depth + 1);
    }
    newline(depth);
    out += ']';
  } else {
    out += boost::json::serialize(value);
  }
}

// Boost.JSON reads 1e309 as infinity and 0e309 as not-a-number, which it then writes as words.
bool allFinite(const Json& value) {
  if (const auto* number = value.if_double()) {
    return std::isfinite(*number);
  }
  if (const auto* array = value.if_array()) {
    return std::all_of(array->begin(), array->end(), allFinite);
  }
  if (const auto* object = value.if_object()) {
    return std::all_of(object->begin(), object->end(),
                       [](const auto& member) { return allFinite(member.value()); });
  }
  return true;
}

// What the mistake at this place likely is, ": ..." in words; "" when it is none of the usual ones.
std::string_view likelyMistake(std::string_view text, std::size_t at) {
  const std::size_t last = text.substr(0, at).find_last_not_of(" \t\r\n");
  const char before = last == std::string_view::npos ? '\0' : text[last];
  const char here = at < text.size() ? text[at] : '\0';
  if (text.starts_with("\xEF\xBB\xBF")) {
    return ": the file begins with a byte-order mark, which JSON does not have; save it as UTF-8 without one";
  }
  if (before == ',' && (here == '}' || here == ']')) {
    return ": the comma in front has nothing behind it";
  }
  if (here == '/' || here == '#') {
    return ": JSON has no comments";
  }
  return here == '\'' ? ": strings are written in double quotes" : "";
}

}  // namespace

Result<Json> parseJson(std::string_view text, const std::string& file) {
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::json::parser parser({}, options);
  boost::json::error_code code;
  const std::size_t read = parser.write_some(text.data(), text.size(), code);
  const std::string where = file.empty() ? "" : file + ":";
  const bool trailing = !code && text.find_first_not_of(" \t\r\n", read) != std::string_view::npos;
  if (!code && !trailing) {
    Json value = parser.release();
    return allFinite(value) ? Result<Json>(std::move(value))
                            : fail(Code::kInvalidArgument, (file.empty() ? "" : file + ": ") +
                                                               "invalid JSON: a number is out of range");
  }
  const SourcePlace place = placeAt(text, std::min(read, text.size()));
  const std::string what = trailing ? "text after the end of the document"
                                    : code.message() + std::string(likelyMistake(text, read));
  return fail(Code::kInvalidArgument, where + std::to_string(place.line) + ":" +
                                          std::to_string(place.column) + ": invalid JSON: " + what);
}

std::string toText(const Json& value) {
  return boost::json::serialize(value);
}

std::string toPrettyText(const Json& value) {
  std::string out;
  appendPretty(out, value, 0);
  return out;
}

const Json* findMember(const Json& value, std::string_view key) {
  return value.is_object() ? value.get_object().if_contains(key) : nullptr;
}

void mergePatch(Json& target, const Json& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) {
    target = JsonObject();
  }
  for (const auto& [key, value] : patch.get_object()) {
    if (value.is_null()) {
      target.get_object().erase(key);
    } else {
      mergePatch(target.get_object()[key], value);
    }
  }
}

DecodeErrors::DecodeErrors(std::string file, std::function<SourcePlace(const std::string&)> place)
    : file_(std::move(file)), place_(std::move(place)) {}

void DecodeErrors::add(const std::string& path, const std::string& message) {
  const SourcePlace place = place_ ? place_(path) : SourcePlace{};
  std::string where = file_;
  if (place.line > 0) {
    where += (where.empty() ? "" : ":") + std::to_string(place.line) + ":" + std::to_string(place.column);
  }
  std::string line = where.empty() ? "" : where + ": ";
  line += path.empty() ? message : path + ": " + message;
  if (std::ranges::find(lines_, line) == lines_.end()) {  // a decoder may come by more than once
    lines_.push_back(std::move(line));
  }
}

Result<> DecodeErrors::result() const {
  if (lines_.empty()) {
    return {};
  }
  std::string text;
  for (const std::string& line : lines_) {
    text += (text.empty() ? "" : "\n") + line;
  }
  return fail(Code::kInvalidArgument, text);
}

Cursor Cursor::at(std::string_view key) const {
  std::string path = path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  if (!value_ || value_->is_null()) {
    return Cursor(nullptr, errors_, std::move(path));
  }
  if (!expect(value_->is_object(), "an object")) {
    return Cursor(nullptr, errors_, std::move(path));
  }
  const Json* member = findMember(*value_, key);
  return Cursor(member && !member->is_null() ? member : nullptr, errors_, std::move(path));
}

Cursor Cursor::at(std::size_t index) const {
  std::string path = path_ + "[" + std::to_string(index) + "]";
  const bool there = value_ && value_->is_array() && index < value_->get_array().size();
  return Cursor(there ? &value_->get_array()[index] : nullptr, errors_, std::move(path));
}

bool Cursor::expect(bool ok, std::string_view expected) const {
  if (!ok) {
    errors_->add(path_, "expected " + std::string(expected) +
                            (value_ ? ", found " + std::string(kindName(*value_)) : ", but it is missing"));
  }
  return ok;
}

std::string Cursor::string() const {
  return expect(value_ && value_->is_string(), "a string") ? std::string(value_->get_string())
                                                           : std::string();
}

std::int64_t Cursor::integer() const {
  if (value_ && value_->is_uint64()) {
    error("the number is too large");
    return 0;
  }
  return expect(value_ && value_->is_int64(), "an integer") ? value_->get_int64() : 0;
}

double Cursor::number() const {
  return expect(value_ && value_->is_number(), "a number") ? value_->to_number<double>() : 0;
}

bool Cursor::boolean() const {
  return expect(value_ && value_->is_bool(), "true or false") && value_->get_bool();
}

std::string Cursor::string(std::string_view fallback) const {
  return value_ ? string() : std::string(fallback);
}

std::int64_t Cursor::integer(std::int64_t fallback) const {
  return value_ ? integer() : fallback;
}

bool Cursor::boolean(bool fallback) const {
  return value_ ? boolean() : fallback;
}

Duration Cursor::duration(Duration fallback) const {
  if (!value_) {
    return fallback;
  }
  const std::string text = string();
  const auto span = parseDuration(text);
  if (!span && value_->is_string()) {
    error("\"" + text + "\" is not a duration (write it as 90s, 5m or 1h30m)");
  }
  return span.value_or(fallback);
}

std::optional<TimePoint> Cursor::time() const {
  if (!value_) {
    return std::nullopt;
  }
  const std::string text = string();
  const auto time = parseTime(text);
  if (!time && value_->is_string()) {
    error("\"" + text + "\" is not a time (RFC 3339, such as 2026-11-29T20:14:07Z)");
  }
  return time;
}

std::vector<Cursor> Cursor::elements() const {
  std::vector<Cursor> all;
  if (value_ && expect(value_->is_array(), "a list")) {
    for (std::size_t i = 0; i < value_->get_array().size(); ++i) {
      all.push_back(at(i));
    }
  }
  return all;
}

std::vector<std::pair<std::string, Cursor>> Cursor::members() const {
  std::vector<std::pair<std::string, Cursor>> all;
  if (value_ && expect(value_->is_object(), "an object")) {
    for (const auto& [key, value] : value_->get_object()) {
      all.emplace_back(key, at(key));
    }
  }
  return all;
}

std::map<std::string, std::string> Cursor::stringMap() const {
  std::map<std::string, std::string> all;
  for (const auto& [key, member] : members()) {
    if (member.exists()) {
      all[key] = member.string();
    }
  }
  return all;
}

void Cursor::allow(std::initializer_list<std::string_view> keys) const {
  allow(std::span<const std::string_view>(keys.begin(), keys.size()));
}

void Cursor::allow(std::span<const std::string_view> keys) const {
  if (!value_ || !value_->is_object()) {
    return;
  }
  for (const auto& [key, value] : value_->get_object()) {
    const std::string_view name(key.data(), key.size());
    if (std::ranges::find(keys, name) == keys.end()) {
      errors_->add(path_.empty() ? std::string(name) : path_ + "." + std::string(name),
                   "unknown field" + didYouMean(name, keys));
    }
  }
}

}  // namespace mainstay
