#include "base/log.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/text.h"

namespace mainstay {

namespace {

// spdlog writes the time, the level and whole lines from any thread; the rest of a line is made here.
class LogWriter {
 public:
  LogWriter() : logger_("mainstay", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger_.flush_on(spdlog::level::trace);
    configure(LogFormat::kLogfmt, LogLevel::kInfo);
  }

  void configure(LogFormat format, LogLevel least) {
    static constexpr const char* kLogfmtPattern = "ts=%Y-%m-%dT%H:%M:%S.%fZ level=%l %v";
    static constexpr const char* kJsonPattern = R"({"ts":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l",%v})";
    format_ = format;
    logger_.set_formatter(std::make_unique<spdlog::pattern_formatter>(
        format == LogFormat::kJson ? kJsonPattern : kLogfmtPattern, spdlog::pattern_time_type::utc));
    logger_.set_level(levelOf(least));
  }

  void write(LogLevel level, std::string_view message, LogFields fields) {
    if (!logger_.should_log(levelOf(level))) {
      return;
    }
    const std::string line =
        format_ == LogFormat::kJson ? jsonLine(message, fields) : logfmtLine(message, fields);
    logger_.log(spdlog::source_loc(), levelOf(level), spdlog::string_view_t(line.data(), line.size()));
  }

 private:
  static spdlog::level::level_enum levelOf(LogLevel level) {
    static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                            spdlog::level::warn, spdlog::level::err};
    return kLevels[static_cast<int>(level)];
  }

  // JSON's escapes, which logfmt readers understand too. Kernel lines may hold any bytes: what leaves is UTF-8.
  static std::string quote(std::string_view text) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    std::string quoted = "\"";
    for (const char c : sanitizeUtf8(text)) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        quoted += {'\\', c};
      } else if (c == '\n') {
        quoted += "\\n";
      } else if (byte < 0x20 || byte == 0x7f) {
        quoted += {'\\', 'u', '0', '0', kDigits[byte >> 4], kDigits[byte & 15]};
      } else {
        quoted += c;
      }
    }
    return quoted + '"';
  }

  static std::string logfmtValue(std::string_view value) {
    const bool plain = !value.empty() && value.find_first_of(" =\"\\") == value.npos &&
                       std::none_of(value.begin(), value.end(), [](char c) { return c < 0x20 || c == 0x7f; });
    return plain ? std::string(value) : quote(value);
  }

  static std::string logfmtLine(std::string_view message, LogFields fields) {
    std::string line = "msg=" + quote(message);
    for (const LogField& field : fields) {
      line.append(" ").append(field.key).append("=").append(logfmtValue(field.value));
    }
    return line;
  }

  static std::string jsonLine(std::string_view message, LogFields fields) {
    std::string line = "\"msg\":" + quote(message);
    for (const LogField& field : fields) {
      line.append(",").append(quote(field.key)).append(":");
      line.append(field.literal ? field.value : quote(field.value));
    }
    return line;
  }

  spdlog::logger logger_;
  std::atomic<LogFormat> format_;
};

// A log is one per process by nature: standard error is. Never destroyed, for threads that outlive main.
LogWriter& logWriter() {
  static LogWriter& writer = *new LogWriter;
  return writer;
}

}  // namespace

void configureLog(LogFormat format, LogLevel least) {
  logWriter().configure(format, least);
}

void configureLog(std::string_view format, std::string_view least) {
  configureLog(format == "json" ? LogFormat::kJson : LogFormat::kLogfmt,
               least == "debug"     ? LogLevel::kDebug
               : least == "warning" ? LogLevel::kWarning
               : least == "error"   ? LogLevel::kError
                                    : LogLevel::kInfo);
}

void logDebug(std::string_view message, LogFields fields) {
  logWriter().write(LogLevel::kDebug, message, fields);
}

void logInfo(std::string_view message, LogFields fields) {
  logWriter().write(LogLevel::kInfo, message, fields);
}

void logWarning(std::string_view message, LogFields fields) {
  logWriter().write(LogLevel::kWarning, message, fields);
}

void logError(std::string_view message, LogFields fields) {
  logWriter().write(LogLevel::kError, message, fields);
}

}  // namespace mainstay
