#include "cloud/aws/xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainstay::cloud::aws {
namespace {

using testing::HasSubstr;

TEST(XmlTest, ReadsElementsAndText) {
  const Element root = parseXml(
                           "<?xml version=\"1.0\"?>\n<R xmlns=\"http://x/\"><A>one &amp; two</A>"
                           "<L><member><N>1</N></member><member><N>2</N></member></L></R>")
                           .value();
  EXPECT_EQ(root.name, "R");
  EXPECT_EQ(root.textOf("A"), "one & two");
  ASSERT_EQ(root.list("L").size(), 2u);
  EXPECT_EQ(root.list("L")[1].textOf("N"), "2");
}

TEST(XmlTest, HasEmptyElementsForWhatIsAbsent) {
  const Element root = parseXml("<R/>").value();
  EXPECT_EQ(root.at("A").at("B").textOf("C"), "");
  EXPECT_TRUE(root.list("L").empty());
}

TEST(XmlTest, RefusesWhatIsNoXml) {
  for (const char* text : {"", "text", "<", "<a", "<a><b></a>", "{\"a\":1}", "<?xml", "<!-- x -->"}) {
    const auto parsed = parseXml(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_THAT(parsed.error().toString(), HasSubstr("not XML")) << text;
  }
}

TEST(XmlTest, RefusesDepthWithoutEnd) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) {
    deep += "<a>";
  }
  std::string closed = deep;
  for (int i = 0; i < 100000; ++i) {
    closed += "</a>";
  }
  EXPECT_FALSE(parseXml(deep).has_value());
  EXPECT_THAT(parseXml(closed).error().toString(), HasSubstr("deeper"));
}

TEST(XmlTest, LeavesEntitiesOfADocumentsOwnAlone) {
  const Element root = parseXml("<!DOCTYPE r [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><r>&x;</r>").value();
  EXPECT_EQ(root.text, "&x;");
}

}  // namespace
}  // namespace mainstay::cloud::aws
