// For tests: AWS's Signature Version 4, written down from its documentation, to judge libcurl's by.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
#pragma once

#include <string>

#include "base/http.h"

namespace mainstay::cloud::aws {

// The signature that a request to "/" without a query must bear, as hexadecimal digits, given the scope and the list of
// headers that its Authorization names.
std::string signatureOf(const HttpRequest& request, const std::string& secret);

}  // namespace mainstay::cloud::aws
