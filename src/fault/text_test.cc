#include "fault/text.h"

#include <gtest/gtest.h>

namespace mainstay::fault {
namespace {

TEST(KernelEscapes, ComeBackAsTheBytesThatTheyWere) {
  EXPECT_EQ(decodeKernelEscapes(R"(rcu: \x0910-...0: (1 GPs behind))"), "rcu: \t10-...0: (1 GPs behind)");
  EXPECT_EQ(decodeKernelEscapes(R"(one\x0atwo)"), "one\ntwo");
  EXPECT_EQ(decodeKernelEscapes(R"(back\x5cslash \x5cx41)"), R"(back\slash \x41)") << "once, not again";
  EXPECT_EQ(decodeKernelEscapes(R"(tr\xc3\xa4in)"), "tr\xC3\xA4in");
  EXPECT_EQ(decodeKernelEscapes(R"(bad \xff)"), "bad \xEF\xBF\xBD") << "made valid UTF-8";
  EXPECT_EQ(decodeKernelEscapes(R"(\xg1 \x4)"), R"(\xg1 \x4)") << "no escape";
}

TEST(PciAddress, HasOneForm) {
  for (const char* written : {"0000:B3:00", "0000:b3:00.0", "00000000:b3:00.0", "b3:00.0"}) {
    EXPECT_EQ(normalPciAddress(written), "0000:b3:00.0") << written;
  }
  EXPECT_EQ(normalPciAddress("0018:01:00"), "0018:01:00.0");
  EXPECT_EQ(normalPciAddress("10000:e1:00.0"), "10000:e1:00.0") << "a domain of its own";
  EXPECT_EQ(normalPciAddress("0000:5e:00.1"), "0000:5e:00.1") << "another function is another device";
  EXPECT_EQ(normalPciAddress("Eth0"), "eth0");
}

}  // namespace
}  // namespace mainstay::fault
