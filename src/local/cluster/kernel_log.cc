#include "local/cluster/kernel_log.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace mainstay::local {
namespace {

constexpr int kUserFacility = 1;
constexpr int kDefaultLevel = 4;  // default_message_loglevel

// As the kernel does on the way out: everything that is not printable ASCII, and the backslash, becomes \xNN.
void appendEscaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 32 || byte >= 127 || c == '\\') {
      std::array<char, 5> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\x%02x", byte);
      out += escaped.data();
    } else {
      out += c;
    }
  }
}

// Takes "<N>" from the front of a user's write.
std::optional<unsigned> takePrefix(std::string_view& text) {
  if (!text.starts_with('<')) {
    return std::nullopt;
  }
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != '>') {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return number;
}

class RingLog final : public agent::KernelLog {
 public:
  RingLog(std::shared_ptr<KernelRing> ring, Signal& signal)
      : ring_(std::move(ring)), listener_(ring_->addListener([&signal] { signal.notify(); })) {
    position_ = ring_->oldest();
  }
  ~RingLog() override { ring_->removeListener(listener_); }
  RingLog(const RingLog&) = delete;
  RingLog& operator=(const RingLog&) = delete;

  Result<agent::KernelLogRead> read() override { return ring_->readAt(position_); }
  Result<> seekOldest() override {
    position_ = ring_->oldest();
    return {};
  }
  Result<> seekEnd() override {
    position_ = ring_->end();
    return {};
  }
  int descriptor() const override { return -1; }

 private:
  std::shared_ptr<KernelRing> ring_;
  const int listener_;
  std::uint64_t position_ = 0;
};

}  // namespace

void KernelRing::print(const KernelMessage& message, TimePoint now) {
  std::lock_guard lock(mutex_);
  flushHeld();
  publish(format(message.facility * 8 + message.level, message, now));
}

Result<> KernelRing::write(std::string_view bytes, TimePoint now) {
  if (bytes.size() > kMaxWrite) {
    return fail(Code::kInvalidArgument, "a write to the kernel log is at most " + std::to_string(kMaxWrite) +
                                            " bytes, this one has " + std::to_string(bytes.size()));
  }
  std::lock_guard lock(mutex_);
  if (closed_) {
    return fail(Code::kUnavailable, "the node is dead: nobody keeps its kernel log");
  }
  const bool whole = bytes.ends_with('\n');
  if (whole) {
    bytes.remove_suffix(1);
  }
  const unsigned prefix = takePrefix(bytes).value_or(kUserFacility * 8 + kDefaultLevel);
  const unsigned facility = prefix >> 3 == 0 ? kUserFacility : prefix >> 3;
  flushHeld();
  std::string record =
      format(static_cast<int>(facility * 8 + (prefix & 7)), {.text = std::string(bytes)}, now);
  if (whole) {
    publish(std::move(record));
  } else {
    held_ = std::move(record);
  }
  return {};
}

void KernelRing::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  notify();
}

Result<agent::KernelLogRead> KernelRing::readAt(std::uint64_t& position) const {
  using ReadKind = agent::KernelLogRead::Kind;
  std::lock_guard lock(mutex_);
  if (closed_) {
    return fail(Code::kUnavailable, "the kernel log is closed");
  }
  if (position < oldest_) {
    position = oldest_;
    return agent::KernelLogRead{ReadKind::kOverrun, ""};
  }
  if (position >= oldest_ + records_.size()) {
    return agent::KernelLogRead{ReadKind::kEmpty, ""};
  }
  return agent::KernelLogRead{ReadKind::kRecord, records_[position++ - oldest_]};
}

std::uint64_t KernelRing::oldest() const {
  std::lock_guard lock(mutex_);
  return oldest_;
}

std::uint64_t KernelRing::end() const {
  std::lock_guard lock(mutex_);
  return oldest_ + records_.size();
}

int KernelRing::addListener(Listener listener) {
  std::lock_guard lock(mutex_);
  listeners_.emplace(nextListener_, std::move(listener));
  return nextListener_++;
}

void KernelRing::removeListener(int id) {
  std::lock_guard lock(mutex_);
  listeners_.erase(id);
}

void KernelRing::notify() const {
  for (const auto& [id, listener] : listeners_) {
    listener();
  }
}

std::string KernelRing::format(int priority, const KernelMessage& message, TimePoint now) const {
  std::string record = std::to_string(priority) + "," + std::to_string(oldest_ + records_.size()) + "," +
                       std::to_string((now - boot_).count()) + (message.continuation ? ",c;" : ",-;");
  appendEscaped(record, message.text);
  record += '\n';
  for (const auto& [key, value] : message.dictionary) {
    record += " " + key + "=";
    appendEscaped(record, value);
    record += '\n';
  }
  if (record.size() > kMaxRecord) {
    record.resize(kMaxRecord - 1);
    record += '\n';
  }
  return record;
}

// REQUIRES: mutex_ held, as for format and publish.
void KernelRing::flushHeld() {
  if (!held_.empty()) {
    publish(std::exchange(held_, {}));
  }
}

void KernelRing::publish(std::string record) {
  bytes_ += record.size();
  records_.push_back(std::move(record));
  while (bytes_ > capacity_ && records_.size() > 1) {
    bytes_ -= records_.front().size();
    records_.pop_front();
    ++oldest_;
  }
  notify();
}

agent::OpenKernelLog openRing(std::shared_ptr<KernelRing> ring, Signal& signal) {
  return [ring, &signal]() -> Result<std::unique_ptr<agent::KernelLog>> {
    return std::make_unique<RingLog>(ring, signal);
  };
}

}  // namespace mainstay::local
