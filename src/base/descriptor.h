// Descriptor: a file descriptor with one owner; and the few words that code around system calls shares.
#pragma once

#include <cerrno>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace mainstay {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  // Closes it now.
  void reset();

 private:
  int number_ = -1;  // -1: none
};

// "opening /dev/kmsg: Permission denied", with the Code that callers branch on.
Error systemError(std::string_view what, int number = errno);

// A deadline as poll(2) wants it: milliseconds, rounded up; -1 for never.
int pollTimeout(const Deadline& deadline);

}  // namespace mainstay
