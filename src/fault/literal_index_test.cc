#include "fault/literal_index.h"

#include <gmock/gmock.h>

namespace mainstay::fault {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int> find(const LiteralIndex& index, std::string_view text) {
  std::vector<int> found;
  index.find(text, found);
  return found;
}

TEST(LiteralIndex, FindsEachTextOnceWhateverItsCaseAndPlace) {
  const LiteralIndex index({"nvrm: xid", "link down", "nvrm", "down"});
  EXPECT_THAT(find(index, "NVRM: Xid (PCI:0000:3b:00): 79"), ElementsAre(0, 2));
  EXPECT_THAT(find(index, "eth0: Link Down, down, down"), ElementsAre(1, 3));
  EXPECT_THAT(find(index, "down"), ElementsAre(3));
}

TEST(LiteralIndex, DoesNotFindWhatOnlyBeginsThere) {
  const LiteralIndex index({"nvrm: xid", "link down"});
  EXPECT_THAT(find(index, "NVRM: X"), IsEmpty());
  EXPECT_THAT(find(index, "nvrm; xid"), IsEmpty());
  EXPECT_THAT(find(index, "dow"), IsEmpty());
  EXPECT_THAT(find(index, ""), IsEmpty());
}

TEST(LiteralIndex, WithoutTextsFindsNothing) {
  EXPECT_THAT(find(LiteralIndex({}), "anything at all"), IsEmpty());
}

}  // namespace
}  // namespace mainstay::fault
