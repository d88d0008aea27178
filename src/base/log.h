// Structured log on standard error: a fixed message and key=value fields. Logfmt, or one JSON object per line
// (--log-format).
//
//   logInfo("node isolated", {{"node", name}, {"recovery", recovery}});
//
// error: a person must look; warning: we degraded or retried out of budget; info: state changes only; debug:
// the rest.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace mainstay {

enum class LogFormat { kLogfmt, kJson };
enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogField {
  std::string_view key;
  std::string value;
  bool literal = false;  // JSON shows it without quotes
  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, const Error& e) : key(k), value(e.toString()) {}
  LogField(std::string_view k, bool v) : key(k), value(v ? "true" : "false"), literal(true) {}
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  LogField(std::string_view k, Number v)
      : key(k), value(std::to_string(v)), literal(std::is_integral_v<Number>) {}
};
using LogFields = std::initializer_list<LogField>;

// Called once by main, before any thread starts.
void configureLog(LogFormat format, LogLevel least);
// By the words of --log-format (logfmt, json) and --log-level (debug, info, warning, error); Flags::addChoice lets no other
// word through.
void configureLog(std::string_view format, std::string_view least);

void logDebug(std::string_view message, LogFields fields = {});
void logInfo(std::string_view message, LogFields fields = {});
void logWarning(std::string_view message, LogFields fields = {});
void logError(std::string_view message, LogFields fields = {});

}  // namespace mainstay
