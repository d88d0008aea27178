// What the AWS client needs of the world around it: handed in by a main, replaced by tests.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/file_system.h"
#include "base/http.h"
#include "base/result.h"

namespace mainstay::cloud::aws {

// As HttpClient::send.
using Transport = std::function<Result<HttpResponse>(const HttpRequest&, Deadline, std::stop_token)>;

struct Surroundings {
  std::function<std::string(const std::string& name)> environment;  // "" when not set
  const FileSystem* files = nullptr;                                // outlives the client, as does the clock
  const Clock* clock = nullptr;
  Transport send;
  Transport sendDirect;  // past every proxy: to addresses that only this machine has
  // Lets the span pass, or less when asked to stop.
  std::function<void(Duration, std::stop_token)> pause;
  std::function<double()> random;  // in [0, 1)
  // Ends calls under way, and their waits, with kCancelled.
  std::stop_token stop = {};
};

// A program's: HTTPS by HttpClient, real waits, real chance.
Surroundings realSurroundings(std::function<std::string(const std::string&)> environment,
                              const FileSystem& files, const Clock& clock, std::stop_token stop);

}  // namespace mainstay::cloud::aws
