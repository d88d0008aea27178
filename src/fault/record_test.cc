#include "fault/record.h"

#include <gtest/gtest.h>

#include "fault/text.h"

namespace mainstay::fault {
namespace {

TEST(KernelRecordTest, ReadsPrefixAndText) {
  const auto record = parseKernelRecord("6,339,5140900,-;NET: Registered protocol family 10\n");
  ASSERT_TRUE(record) << record.error().toString();
  EXPECT_EQ(record->priority, 6);
  EXPECT_EQ(record->facility(), 0);
  EXPECT_EQ(record->seq, 339u);
  EXPECT_EQ(record->sinceBoot, Duration(5140900));
  EXPECT_EQ(record->text, "NET: Registered protocol family 10");
  EXPECT_TRUE(record->dictionary.empty());
}

TEST(KernelRecordTest, KeepsTheDictionaryApartFromTheText) {
  const auto record = parseKernelRecord(
      "3,104,5000004,-;x NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR y\n SUBSYSTEM=neuron\n "
      "DEVICE=+pci:0000:00:1f.0\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->text, "x NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR y");
  ASSERT_EQ(record->dictionary.size(), 2u);
  EXPECT_EQ(record->dictionary[0], std::make_pair(std::string("SUBSYSTEM"), std::string("neuron")));
  EXPECT_EQ(record->dictionary[1].second, "+pci:0000:00:1f.0");
}

TEST(KernelRecordTest, SkipsUnknownFields) {
  for (const char* raw :
       {"6,1,2,-,caller=T1234;text", "6,1,2,c,a=1,b=2;text", "6,1,2,+;text", "6,1,2;text"}) {
    const auto record = parseKernelRecord(raw);
    ASSERT_TRUE(record) << raw;
    EXPECT_EQ(record->text, "text");
  }
}

TEST(KernelRecordTest, LeavesEscapesAsTheKernelWroteThem) {
  EXPECT_EQ(parseKernelRecord(R"(6,1,2,-;a\x0ab\x5cc)")->text, R"(a\x0ab\x5cc)");
}

TEST(KernelRecordTest, TextMayHoldSemicolonsAndIsTrimmed) {
  EXPECT_EQ(parseKernelRecord("6,1,2,-; \ta;b; \r\n")->text, "a;b;");
  EXPECT_EQ(parseKernelRecord("6,1,2,-;")->text, "");
}

TEST(KernelRecordTest, FacilityOfUserSpaceIsKept) {
  EXPECT_EQ(parseKernelRecord("12,105,5000005,-;x")->facility(), 1);
  EXPECT_EQ(parseKernelRecord("199,1,2,-;x")->facility(), 24);
}

TEST(KernelRecordTest, ReadsTheLongestRecord) {
  std::string raw = "6,1,2,-;";
  raw.append(8191 - raw.size() - 1, 'x').append("\n");
  EXPECT_EQ(parseKernelRecord(raw)->text.size(), 8191u - 9);
}

TEST(KernelRecordTest, InvalidUtf8BecomesOneReplacementPerByte) {
  EXPECT_EQ(parseKernelRecord("6,1,2,-;a\xff\xfe z")->text, "a\xEF\xBF\xBD\xEF\xBF\xBD z");
}

TEST(KernelRecordTest, SaysWhatIsWrong) {
  for (const char* raw : {"", "6,1,2,-", "a,1,2,-;x", "6,-1,2,-;x", "6,1,-2,-;x", "6;x", "6,1;x", ",,,;x",
                          "99999999999,1,2,-;x", "6,18446744073709551616,2,-;x", "6,1,2x,-;x"}) {
    const auto record = parseKernelRecord(raw);
    ASSERT_FALSE(record) << raw;
    EXPECT_EQ(record.error().code(), Code::kInvalidArgument);
    EXPECT_NE(record.error().message().find("kernel log record"), std::string::npos);
  }
}

TEST(TextTest, SanitizesWhatGoCallsInvalid) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(sanitizeUtf8("plain, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x92\xA9"),
            "plain, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x92\xA9");
  EXPECT_EQ(sanitizeUtf8("\xC0\x80"), bad + bad);                      // overlong
  EXPECT_EQ(sanitizeUtf8("\xED\xA0\x80"), bad + bad + bad);            // surrogate
  EXPECT_EQ(sanitizeUtf8("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // above U+10FFFF
  EXPECT_EQ(sanitizeUtf8("\xE2\x82"), bad + bad);                      // cut short
  EXPECT_EQ(sanitizeUtf8(std::string_view("a\0b", 3)), std::string("a\0b", 3));
}

TEST(TextTest, QuotesAsGoDoes) {
  EXPECT_EQ(quoteLikeGo("a \"b\"\\ \n\t\x01\x7f \xC3\xA9"), R"("a \"b\"\\ \n\t\x01\x7f é")");
}

TEST(TextTest, CutsBetweenCharacters) {
  EXPECT_EQ(cutUtf8("ab\xC3\xA9", 3), "ab");
  EXPECT_EQ(cutUtf8("ab\xC3\xA9", 4), "ab\xC3\xA9");
  EXPECT_EQ(cutUtf8("abc", 0), "");
}

}  // namespace
}  // namespace mainstay::fault
