// Witness: whoever can say whether a fault that a line tells of has really been, when the line may be a fake.
#pragma once

#include <functional>
#include <string>

namespace mainstay::fault {

struct Sighting;

enum class Corroboration {
  kBorneOut,
  kContradicted,
  kUnknown,  // nothing tells of such a fault, or it cannot be read
  kAwaited,  // it was asked, and has not answered yet
};

struct Testimony {
  Corroboration answer = Corroboration::kUnknown;
  std::string why = "there is nobody to ask";
};

// Asked when a line comes, and again while it matters. Never waits.
using Witness = std::function<Testimony(const Sighting& sighting)>;

// Bears out everything: for what a line means by itself.
inline Testimony bearOutAll(const Sighting& /*sighting*/) {
  return {Corroboration::kBorneOut, ""};
}

}  // namespace mainstay::fault
