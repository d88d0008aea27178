// CallError: what AWS said when it refused a call, typed, and in words for the person on call.
#pragma once

#include <string>

#include "base/http.h"
#include "base/result.h"
#include "cloud/aws/retry.h"
#include "cloud/aws/service.h"

namespace mainstay::cloud::aws {

// An Error for whoever only passes it on; awsCode() for whoever decides.
class CallError : public Error {
 public:
  // Not AWS's answer: `trouble` says whether to try again.
  explicit CallError(Error error, Trouble trouble = Trouble::kLasting)
      : Error(std::move(error)), trouble_(trouble) {}
  CallError(Error error, Trouble trouble, std::string awsCode, std::string awsMessage, std::string requestId)
      : Error(std::move(error)),
        trouble_(trouble),
        awsCode_(std::move(awsCode)),
        awsMessage_(std::move(awsMessage)),
        requestId_(std::move(requestId)) {}

  Trouble trouble() const { return trouble_; }
  void setTrouble(Trouble trouble) { trouble_ = trouble; }
  // "ValidationError", "Throttling"; "" when AWS did not answer.
  const std::string& awsCode() const { return awsCode_; }
  // The first line: later ones of a signature error repeat what was signed, the session token too.
  const std::string& awsMessage() const { return awsMessage_; }
  const std::string& requestId() const { return requestId_; }

 private:
  Trouble trouble_;
  std::string awsCode_ = {};
  std::string awsMessage_ = {};
  std::string requestId_ = {};
};

template <class T>
using CallResult = tl::expected<T, CallError>;

// Reads an answer other than 200, whatever its body is.
CallError readCallError(const Service& service, const std::string& action, const HttpResponse& response);

}  // namespace mainstay::cloud::aws
