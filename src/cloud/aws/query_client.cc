#include "cloud/aws/query_client.h"

#include <algorithm>

namespace mainstay::cloud::aws {
namespace {

// Of one attempt. AWS answers these actions within a second or two.
constexpr Duration kAttemptLimit = std::chrono::seconds(8);

Trouble troubleOfTransport(const Error& error) {
  switch (error.code()) {
    case Code::kUnavailable:
      return Trouble::kTransient;
    case Code::kDeadlineExceeded:
      return Trouble::kTimeout;
    default:
      return Trouble::kLasting;
  }
}

// Another root is somebody else's page: a proxy's, a portal's.
Result<Element> readAnswer(const std::string& action, const std::string& body) {
  MAINSTAY_ASSIGN(Element answer, parseXml(body));
  if (answer.name != action + "Response") {
    return fail(Code::kInternal, "the answer is not AWS's (it begins with <" + answer.name +
                                     ">); check proxies and AWS_ENDPOINT_URL");
  }
  return answer;
}

bool hasEnded(const CallError& error) {
  return error.awsCode() == "ExpiredToken" || error.awsCode() == "ExpiredTokenException";
}

}  // namespace

CallResult<Element> QueryClient::call(const Service& service, const std::string& action, Query parameters,
                                      CallOptions options) {
  const Surroundings& world = session_.surroundings();
  const Deadline deadline = Deadline::after(options.limit);
  parameters.insert(parameters.begin(), {{"Action", action}, {"Version", service.version}});
  const std::string body = formatQuery(parameters);
  int cost = 0;
  for (int next = 2;; ++next) {
    CallResult<Element> answer = attempt(service, action, body, options.sign, deadline);
    if (answer) {
      quota_.giveBack(cost);
      return answer;
    }
    const Duration wait = backOff(next, world.random());
    const bool again = next <= kMaxAttempts && wait < deadline.left() && !world.stop.stop_requested();
    cost = again ? quota_.take(answer.error().trouble()) : 0;
    if (cost == 0) {
      return answer;
    }
    world.pause(wait, world.stop);
  }
}

Result<QueryClient::Prepared> QueryClient::prepare(const Service& service, const std::string& body, bool sign,
                                                   Deadline deadline) {
  MAINSTAY_ASSIGN(const std::string region, session_.region(deadline));
  MAINSTAY_ASSIGN(const std::string endpoint,
                  endpointOf(service, region, session_.surroundings().environment));
  Prepared prepared;
  prepared.request = {.method = "POST", .target = endpoint, .body = body};
  HttpHeaders& headers = prepared.request.headers;
  headers["Content-Type"] = "application/x-www-form-urlencoded; charset=utf-8";
  if (!sign) {
    return prepared;
  }
  MAINSTAY_ASSIGN(prepared.credentials, session_.credentials(deadline));
  const Credentials& who = prepared.credentials;
  prepared.request.awsSignature = {region, service.signingName, who.accessKeyId, who.secretAccessKey};
  if (!who.sessionToken.empty()) {
    headers["X-Amz-Security-Token"] = who.sessionToken;
  }
  return prepared;
}

CallResult<Element> QueryClient::attempt(const Service& service, const std::string& action,
                                         const std::string& body, bool sign, Deadline deadline) {
  const auto refuse = [&](Error error, Trouble trouble) {
    error.with(std::string(service.name) + " " + action);
    return tl::unexpected(CallError(std::move(error), trouble));
  };
  const Result<Prepared> prepared = prepare(service, body, sign, deadline);
  if (!prepared) {
    return refuse(prepared.error(), Trouble::kLasting);  // its sources have their own repeats
  }
  const Surroundings& world = session_.surroundings();
  const Deadline limit = Deadline::after(std::min(kAttemptLimit, deadline.left()));
  const Result<HttpResponse> response = world.send(prepared->request, limit, world.stop);
  if (!response) {
    return refuse(response.error(), troubleOfTransport(response.error()));
  }
  if (response->status == 200) {
    Result<Element> answer = readAnswer(action, response->body);
    return answer ? CallResult<Element>(*std::move(answer)) : refuse(answer.error(), Trouble::kLasting);
  }
  CallError error = readCallError(service, action, *response);
  if (hasEnded(error)) {
    session_.expire(prepared->credentials);
    error.setTrouble(Trouble::kTransient);  // the next attempt finds new ones
  }
  return tl::unexpected(std::move(error));
}

}  // namespace mainstay::cloud::aws
