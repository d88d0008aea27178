#include "agent/probes/instance_type.h"

#include <algorithm>
#include <array>

#include "fault/text.h"

namespace mainstay::agent::probes {
namespace {

struct Row {
  std::string_view type;
  Accelerators expected;
};

// Source: EC2 "Accelerated computing" instance specifications, 2026-11. Sorted by type.
constexpr std::array kInstanceTypes = {
    Row{"g4dn.12xlarge", {4, 0}},    Row{"g4dn.16xlarge", {1, 0}},      Row{"g4dn.2xlarge", {1, 0}},
    Row{"g4dn.4xlarge", {1, 0}},     Row{"g4dn.8xlarge", {1, 0}},       Row{"g4dn.metal", {8, 0}},
    Row{"g4dn.xlarge", {1, 0}},      Row{"g5.12xlarge", {4, 0}},        Row{"g5.16xlarge", {1, 0}},
    Row{"g5.24xlarge", {4, 0}},      Row{"g5.2xlarge", {1, 0}},         Row{"g5.48xlarge", {8, 0}},
    Row{"g5.4xlarge", {1, 0}},       Row{"g5.8xlarge", {1, 0}},         Row{"g5.xlarge", {1, 0}},
    Row{"g6.12xlarge", {4, 0}},      Row{"g6.16xlarge", {1, 0}},        Row{"g6.24xlarge", {4, 0}},
    Row{"g6.2xlarge", {1, 0}},       Row{"g6.48xlarge", {8, 0}},        Row{"g6.4xlarge", {1, 0}},
    Row{"g6.8xlarge", {1, 0}},       Row{"g6.xlarge", {1, 0}},          Row{"g6e.12xlarge", {4, 0}},
    Row{"g6e.16xlarge", {1, 0}},     Row{"g6e.24xlarge", {4, 0}},       Row{"g6e.2xlarge", {1, 0}},
    Row{"g6e.48xlarge", {8, 0}},     Row{"g6e.4xlarge", {1, 0}},        Row{"g6e.8xlarge", {1, 0}},
    Row{"g6e.xlarge", {1, 0}},       Row{"g7e.12xlarge", {2, 0}},       Row{"g7e.24xlarge", {4, 0}},
    Row{"g7e.2xlarge", {1, 0}},      Row{"g7e.48xlarge", {8, 0}},       Row{"g7e.4xlarge", {1, 0}},
    Row{"g7e.8xlarge", {1, 0}},      Row{"gr6.4xlarge", {1, 0}},        Row{"gr6.8xlarge", {1, 0}},
    Row{"inf2.24xlarge", {0, 6}},    Row{"inf2.48xlarge", {0, 12}},     Row{"inf2.8xlarge", {0, 1}},
    Row{"inf2.xlarge", {0, 1}},      Row{"p3.16xlarge", {8, 0}},        Row{"p3.2xlarge", {1, 0}},
    Row{"p3.8xlarge", {4, 0}},       Row{"p3dn.24xlarge", {8, 0}},      Row{"p4d.24xlarge", {8, 0}},
    Row{"p4de.24xlarge", {8, 0}},    Row{"p5.48xlarge", {8, 0}},        Row{"p5.4xlarge", {1, 0}},
    Row{"p5e.48xlarge", {8, 0}},     Row{"p5en.48xlarge", {8, 0}},      Row{"p6-b200.48xlarge", {8, 0}},
    Row{"p6-b300.48xlarge", {8, 0}}, Row{"p6e-gb200.36xlarge", {4, 0}}, Row{"trn1.2xlarge", {0, 1}},
    Row{"trn1.32xlarge", {0, 16}},   Row{"trn1n.32xlarge", {0, 16}},    Row{"trn2.3xlarge", {0, 1}},
    Row{"trn2.48xlarge", {0, 16}},
};
static_assert(std::ranges::is_sorted(kInstanceTypes, {}, &Row::type));

}  // namespace

std::optional<Accelerators> expectedAccelerators(std::string_view instanceType) {
  const auto at = std::ranges::lower_bound(kInstanceTypes, instanceType, {}, &Row::type);
  return at != kInstanceTypes.end() && at->type == instanceType ? std::optional(at->expected) : std::nullopt;
}

std::string instanceTypeOf(const HostFiles& files) {
  const auto vendor = files.read("/sys/class/dmi/id/sys_vendor");
  const auto product = files.read("/sys/class/dmi/id/product_name");
  const bool isEc2 = vendor && fault::trim(*vendor) == "Amazon EC2" && product;
  return isEc2 ? std::string(fault::trim(*product)) : "";
}

}  // namespace mainstay::agent::probes
