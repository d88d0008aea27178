#include "fault/record.h"

#include <charconv>
#include <optional>

#include "fault/text.h"

namespace mainstay::fault {
namespace {

constexpr std::size_t kQuoted = 60;  // bytes of a bad record that its error shows

tl::unexpected<Error> badRecord(std::string_view what, std::string_view raw) {
  return fail(Code::kInvalidArgument, "kernel log record " + std::string(what) + ": \"" +
                                          sanitizeUtf8(raw.substr(0, kQuoted)) + "\"");
}

// The text up to the next comma, which is taken away with it.
std::string_view takeField(std::string_view& prefix) {
  const std::size_t comma = prefix.find(',');
  const std::string_view field = prefix.substr(0, comma);
  prefix.remove_prefix(comma == std::string_view::npos ? prefix.size() : comma + 1);
  return field;
}

template <class Number>
std::optional<Number> parseNumber(std::string_view field) {
  Number number{};
  const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), number);
  const bool whole = code == std::errc() && end == field.data() + field.size() && number >= Number{};
  return whole ? std::optional(number) : std::nullopt;
}

// Lines of the form " KEY=value"; others are skipped.
void readDictionary(std::string_view lines, Record& record) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    const std::size_t equals = line.find('=');
    if (line.starts_with(' ') && equals != std::string_view::npos) {
      record.dictionary.emplace_back(sanitizeUtf8(line.substr(1, equals - 1)),
                                     sanitizeUtf8(line.substr(equals + 1)));
    }
  }
}

}  // namespace

Result<Record> parseKernelRecord(std::string_view raw) {
  const std::size_t semicolon = raw.find(';');
  if (semicolon == std::string_view::npos) {
    return badRecord("without \";\"", raw);
  }
  std::string_view prefix = raw.substr(0, semicolon);
  const auto priority = parseNumber<int>(takeField(prefix));
  const auto seq = parseNumber<std::uint64_t>(takeField(prefix));
  const auto micros = parseNumber<std::int64_t>(takeField(prefix));
  if (!priority || !seq || !micros) {
    return badRecord("whose first three fields are not numbers", raw);
  }
  Record record;
  record.priority = *priority;
  record.seq = *seq;
  record.sinceBoot = Duration(*micros);
  const std::string_view body = raw.substr(semicolon + 1);
  const std::size_t dictionary = body.find("\n ");
  record.text = sanitizeUtf8(trim(body.substr(0, dictionary)));
  if (dictionary != std::string_view::npos) {
    readDictionary(body.substr(dictionary + 1), record);
  }
  return record;
}

}  // namespace mainstay::fault
