#include "base/base64.h"

#include <gtest/gtest.h>

namespace mainstay {
namespace {

TEST(Base64Test, AgreesWithTheTestVectorsOfTheRfc) {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"},
                                                         {"\xFB\xEF\xFF", "++//"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(encodeBase64(bytes), text);
    EXPECT_EQ(decodeBase64(text), bytes);
  }
}

TEST(Base64Test, SkipsLineBreaksAndForgivesMissingPadding) {
  EXPECT_EQ(decodeBase64("Zm9v\r\nYg"), "foob");
}

TEST(Base64Test, RefusesWhatIsNotBase64) {
  for (const char* text : {"Zm9*", "Zg==Zg", "Zg===", "Z", "\x80"}) {
    EXPECT_FALSE(decodeBase64(text)) << text;
  }
}

}  // namespace
}  // namespace mainstay
