#include "fault/clear_request.h"

#include "base/json.h"
#include "fault/text.h"

namespace mainstay::fault {

std::string encodeClearRequest(const ClearRequest& request) {
  return toText(JsonObject{{"at", formatMicroTime(request.at)},
                           {"by", cutUtf8(request.by, kMaxClearText)},
                           {"reason", cutUtf8(request.reason, kMaxClearText)},
                           {"condition", request.condition}});
}

Result<ClearRequest> decodeClearRequest(std::string_view annotation) {
  MAINSTAY_ASSIGN(const Json document, parseJson(annotation));
  DecodeErrors errors;
  const Cursor root(document, errors);
  ClearRequest request;
  if (const auto at = root.at("at").time()) {
    request.at = *at;
  } else if (!root.at("at").exists()) {
    root.at("at").error("expected a time");
  }
  request.by = cutUtf8(root.at("by").string(""), kMaxClearText);
  request.reason = cutUtf8(root.at("reason").string(), kMaxClearText);
  request.condition = root.at("condition").string("");
  MAINSTAY_TRY(errors.result());
  return request;
}

}  // namespace mainstay::fault
