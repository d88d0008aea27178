#include "base/yaml.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <sstream>

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/text.h"

namespace mainstay {

namespace {

// Bounds on what one file may ask of us; yaml.h states them. Larger than any manifest that people write.
constexpr std::size_t kMaxYamlText = 1u << 20;
constexpr std::size_t kMaxYamlDepth = 64;
constexpr std::size_t kMaxYamlNodes = 10'000;
constexpr std::size_t kMaxYamlExpanded = 4u << 20;  // bytes of scalars with aliases expanded, and of paths

template <class Number>
std::optional<Number> wholeNumber(std::string_view text, int base) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<Json> integerOf(std::string_view text) {
  const int base = text.starts_with("0x") ? 16 : text.starts_with("0o") ? 8 : 10;
  const std::string_view digits = base == 10 ? text : text.substr(2);
  if (base != 10 && digits.starts_with('-')) {
    return std::nullopt;
  }
  if (const auto number = wholeNumber<std::int64_t>(digits, base)) {
    return Json(*number);
  }
  const auto large = wholeNumber<std::uint64_t>(digits, base);
  return large ? std::optional<Json>(*large) : std::nullopt;
}

std::optional<Json> floatOf(std::string_view text) {
  const bool decimal = text.find_first_not_of("0123456789.eE+-") == text.npos;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return decimal && whole ? std::optional<Json>(number) : std::nullopt;
}

// The core schema of YAML 1.2; nullopt: a string.
std::optional<Json> resolvePlain(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return Json(nullptr);
  }
  if (text == "true" || text == "True" || text == "TRUE") {
    return Json(true);
  }
  if (text == "false" || text == "False" || text == "FALSE") {
    return Json(false);
  }
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) {
      return std::nullopt;
    }
  }
  const auto integer = integerOf(text);
  return integer ? integer : floatOf(text);
}

std::string memberPath(const std::string& parent, const std::string& key) {
  return parent.empty() ? key : parent + "." + key;
}

// Builds JSON from the parser's events, so that bounds hold before memory is spent. Refuses by throwing the
// parser's own exception, which parseYaml catches.
class JsonBuilder final : public YAML::EventHandler {
 public:
  explicit JsonBuilder(std::string_view text) : text_(text) {}

  // What the document was; ready for the next one.
  YamlDocument take() {
    YamlDocument document{std::move(root_), std::move(places_), ""};
    root_ = nullptr;
    places_.clear();
    anchors_.clear();
    return document;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // The parser would take what is left over after a document's end for the next one.
    if (!first_ && text_.substr(std::min(text_.size(), static_cast<std::size_t>(mark.pos)), 3) != "---") {
      throw YAML::ParserException(
          mark, "this does not belong to what stands above; another document starts with ---");
    }
    first_ = false;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuseAsKey(mark);
    scalar(mark, anchor, Json(nullptr), "");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const bool plain = tag == "?";
    const auto resolved = plain ? resolvePlain(text) : std::nullopt;
    scalar(mark, anchor, resolved ? *resolved : Json(text), text);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) {
      throw YAML::ParserException(mark, "an alias cannot stand inside the value that it names");
    }
    spend(mark, known->second.cost);
    begin(mark);
    add(known->second.value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, JsonArray());
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, JsonObject());
  }
  void OnMapEnd() override { close(); }

 private:
  struct Cost {
    std::size_t nodes = 0;
    std::size_t bytes = 0;
  };
  struct Anchored {
    Json value;
    Cost cost;
  };
  // A sequence or mapping that is being read.
  struct Frame {
    Json value;
    std::string path;
    YAML::anchor_t anchor;
    Cost before;  // what had been spent when it began
    std::optional<std::string> key = {};
    YAML::Mark keyMark = {};
  };

  void spend(const YAML::Mark& mark, Cost cost) {
    spent_.nodes += cost.nodes;
    spent_.bytes += cost.bytes;
    if (spent_.nodes > kMaxYamlNodes) {
      throw YAML::ParserException(
          mark, "more than " + std::to_string(kMaxYamlNodes) + " values, with aliases expanded");
    }
    if (spent_.bytes > kMaxYamlExpanded) {
      throw YAML::ParserException(
          mark, "more than " + std::to_string(kMaxYamlExpanded) + " bytes, with aliases expanded");
    }
  }

  bool expectsKey() const {
    return !frames_.empty() && frames_.back().value.is_object() && !frames_.back().key;
  }

  // Path of the value that begins now.
  std::string pathHere() const {
    if (frames_.empty()) {
      return "";
    }
    const Frame& parent = frames_.back();
    return parent.key ? memberPath(parent.path, *parent.key)
                      : parent.path + "[" + std::to_string(parent.value.get_array().size()) + "]";
  }

  // Notes where a value stands. One that holds others is found at its key, where a person looks for it.
  void begin(const YAML::Mark& mark, bool atKey = false) {
    refuseAsKey(mark);
    const YAML::Mark& place = atKey && !frames_.empty() && frames_.back().key ? frames_.back().keyMark : mark;
    std::string path = pathHere();
    spend(mark, {0, path.size()});
    places_[std::move(path)] = {place.line + 1, place.column + 1};
  }

  void refuseAsKey(const YAML::Mark& mark) const {
    if (expectsKey()) {
      throw YAML::ParserException(mark, "a key must be a plain or quoted text (or a bracket is not closed)");
    }
  }

  void scalar(const YAML::Mark& mark, YAML::anchor_t anchor, Json value, const std::string& text) {
    spend(mark, {1, text.size()});
    if (expectsKey()) {
      takeKey(mark, text);
      return;
    }
    begin(mark);
    if (anchor != YAML::NullAnchor) {
      anchors_[anchor] = {value, {1, text.size()}};
    }
    add(std::move(value));
  }

  void takeKey(const YAML::Mark& mark, const std::string& text) {
    Frame& frame = frames_.back();
    if (frame.value.get_object().contains(text)) {
      throw YAML::ParserException(mark, "the key \"" + text + "\" stands here twice");
    }
    frame.key = text;
    frame.keyMark = mark;
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Json empty) {
    const Cost before = spent_;
    spend(mark, {1, 0});
    begin(mark, true);
    if (frames_.size() >= kMaxYamlDepth) {
      throw YAML::ParserException(mark, "nested deeper than " + std::to_string(kMaxYamlDepth) + " levels");
    }
    frames_.push_back({std::move(empty), pathHere(), anchor, before});
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (frame.anchor != YAML::NullAnchor) {
      anchors_[frame.anchor] = {frame.value,
                                {spent_.nodes - frame.before.nodes, spent_.bytes - frame.before.bytes}};
    }
    add(std::move(frame.value));
  }

  void add(Json value) {
    if (frames_.empty()) {
      root_ = std::move(value);
    } else if (Frame& parent = frames_.back(); parent.key) {
      parent.value.get_object().insert_or_assign(*parent.key, std::move(value));
      parent.key.reset();
    } else {
      parent.value.get_array().push_back(std::move(value));
    }
  }

  std::string_view text_;
  bool first_ = true;
  Json root_ = nullptr;
  std::map<std::string, SourcePlace> places_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::vector<Frame> frames_;
  Cost spent_;  // over all documents
};

std::string placeText(const std::string& file, const YAML::Mark& mark) {
  return mark.is_null() ? file
                        : file + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
}

// Where the first byte stands that is not UTF-8, which yaml-cpp would pass on.
YAML::Mark firstWrongByte(std::string_view text) {
  const std::string clean = sanitizeUtf8(text);
  const std::string_view before =
      text.substr(0, static_cast<std::size_t>(std::ranges::mismatch(text, clean).in1 - text.begin()));
  if (before.size() == text.size()) {
    return YAML::Mark::null_mark();
  }
  YAML::Mark mark;
  mark.line = static_cast<int>(std::ranges::count(before, '\n'));
  mark.column = static_cast<int>(before.size() - (before.rfind('\n') + 1));  // npos + 1 is 0
  return mark;
}

// Text that other readers, of YAML 1.1 among them, would take for something else.
bool needsQuotes(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kWords = {"y", "n", "yes", "no", "on", "off"};
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool word = std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
  const bool numeric = text.find_first_of("0123456789") != text.npos &&
                       text.find_first_not_of("0123456789+-._:eExXoObTZ") == text.npos;
  return word || numeric || resolvePlain(text).has_value() || text.starts_with(".");
}

// The shortest text that reads back as the same number.
std::string doubleText(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

void emitText(YAML::Emitter& out, std::string_view text) {
  if (needsQuotes(text)) {
    out << YAML::DoubleQuoted;
  }
  out << std::string(text);
}

void emitValue(YAML::Emitter& out, const Json& value) {
  switch (value.kind()) {
    case boost::json::kind::object:
      out << (value.get_object().empty() ? YAML::Flow : YAML::Auto) << YAML::BeginMap;
      for (const auto& member : value.get_object()) {
        out << YAML::Key;
        emitText(out, member.key());
        out << YAML::Value;
        emitValue(out, member.value());
      }
      out << YAML::EndMap;
      return;
    case boost::json::kind::array:
      out << (value.get_array().empty() ? YAML::Flow : YAML::Auto) << YAML::BeginSeq;
      for (const Json& element : value.get_array()) {
        emitValue(out, element);
      }
      out << YAML::EndSeq;
      return;
    case boost::json::kind::string:
      emitText(out, value.get_string());
      return;
    case boost::json::kind::double_:
      out << doubleText(value.get_double());
      return;
    default:
      out << toText(value);
  }
}

}  // namespace

DecodeErrors YamlDocument::errors() const {
  // A value that is missing is looked for where its parent stands.
  const auto placeOf = [places = places](std::string path) {
    for (;;) {
      if (const auto found = places.find(path); found != places.end()) {
        return found->second;
      }
      if (path.empty()) {
        return SourcePlace{};
      }
      const std::size_t cut = path.find_last_of(".[");
      path.resize(cut == path.npos ? 0 : cut);
    }
  };
  return DecodeErrors(file, placeOf);
}

Result<std::vector<YamlDocument>> parseYaml(std::string_view text, const std::string& file) {
  if (text.size() > kMaxYamlText) {
    return fail(Code::kInvalidArgument, file + ": larger than " + std::to_string(kMaxYamlText) + " bytes");
  }
  text.remove_prefix(text.starts_with("\xef\xbb\xbf") ? 3 : 0);  // a byte order mark
  if (const YAML::Mark wrong = firstWrongByte(text); !wrong.is_null()) {
    return fail(Code::kInvalidArgument,
                placeText(file, wrong) + ": a byte that is not UTF-8; save the file as UTF-8");
  }
  std::istringstream stream{std::string(text)};
  std::vector<YamlDocument> documents;
  JsonBuilder builder(text);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
      YamlDocument document = builder.take();
      if (!document.value.is_null()) {
        document.file = file;
        documents.push_back(std::move(document));
      }
    }
  } catch (const YAML::Exception& error) {
    return fail(Code::kInvalidArgument, placeText(file, error.mark) + ": " + error.msg);
  } catch (const std::exception& error) {
    return fail(Code::kInvalidArgument, file + ": not readable as YAML: " + error.what());
  }
  return documents;
}

std::string toYamlText(const Json& value) {
  YAML::Emitter out;
  emitValue(out, value);
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace mainstay
