// QueryClient: AWS's Query protocol: a signed POST of parameters, an XML answer.
#pragma once

#include <string>

#include "cloud/aws/call_error.h"
#include "cloud/aws/retry.h"
#include "cloud/aws/service.h"
#include "cloud/aws/session.h"
#include "cloud/aws/xml.h"

namespace mainstay::cloud::aws {

struct CallOptions {
  bool sign = true;
  Duration limit = std::chrono::seconds(10);  // of the whole call, repeats and their waits included
};

// Thread-safe.
class QueryClient {
 public:
  // `session` outlives the client.
  explicit QueryClient(Session& session) : session_(session) {}

  // The answer's root element. Throttling and passing troubles are tried again as the SDKs' standard mode does
  // (retry.h). Errors name service, action, AWS's code, message and request id, and what to do where we know it.
  CallResult<Element> call(const Service& service, const std::string& action, Query parameters,
                           CallOptions options = {});

 private:
  struct Prepared {
    HttpRequest request = {};
    Credentials credentials = {};
  };
  // Says where the call goes and who makes it.
  Result<Prepared> prepare(const Service& service, const std::string& body, bool sign, Deadline deadline);
  CallResult<Element> attempt(const Service& service, const std::string& action, const std::string& body,
                              bool sign, Deadline deadline);

  Session& session_;
  RetryQuota quota_;
};

}  // namespace mainstay::cloud::aws
