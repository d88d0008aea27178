#include "fault/clear_request.h"

#include <gtest/gtest.h>

namespace mainstay::fault {
namespace {

ClearRequest someRequest() {
  return {*parseTime("2026-11-29T20:14:07.000001Z"), "ops", "board swapped, passed dcgmi diag", "GPUFault"};
}

TEST(ClearRequestTest, ComesOutAsItWentIn) {
  EXPECT_EQ(decodeClearRequest(encodeClearRequest(someRequest())).value(), someRequest());
}

TEST(ClearRequestTest, WhoAndWhichMayBeLeftOut) {
  const auto request = decodeClearRequest(R"({"at": "2026-11-29T20:14:07Z", "reason": "checked"})");
  ASSERT_TRUE(request) << request.error().toString();
  EXPECT_EQ(request->by, "");
  EXPECT_EQ(request->condition, "");
}

TEST(ClearRequestTest, WhenAndWhyMayNot) {
  const std::string trouble = decodeClearRequest(R"({"at": "yesterday"})").error().toString();
  EXPECT_NE(trouble.find("at:"), std::string::npos) << trouble;
  EXPECT_NE(trouble.find("reason: "), std::string::npos) << trouble;
  EXPECT_NE(decodeClearRequest(R"({"reason": "checked"})").error().toString().find("at: expected a time"),
            std::string::npos);
  EXPECT_FALSE(decodeClearRequest("{"));
  EXPECT_FALSE(decodeClearRequest("[]"));
}

TEST(ClearRequestTest, WordsThatAreTooLongAreCut) {
  ClearRequest request = someRequest();
  request.reason = std::string(kMaxClearText - 1, 'a') + "\u00e9";
  EXPECT_EQ(decodeClearRequest(encodeClearRequest(request))->reason, std::string(kMaxClearText - 1, 'a'));
}

}  // namespace
}  // namespace mainstay::fault
