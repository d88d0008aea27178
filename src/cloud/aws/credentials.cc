#include "cloud/aws/credentials.h"

#include <algorithm>

#include "base/json.h"
#include "cloud/aws/metadata.h"
#include "cloud/aws/query_client.h"
#include "cloud/aws/shared_files.h"
#include "cloud/loopback.h"

namespace mainstay::cloud::aws {
namespace {

using Found = Result<std::optional<Credentials>>;

constexpr std::size_t kMaxToken = 64u << 10;  // a service account's token has 1 to 2 KB
constexpr char kSessionName[] = "mainstay";   // in CloudTrail, unless AWS_ROLE_SESSION_NAME says another

Found nothing() {
  return std::optional<Credentials>();
}

// --- Environment ---

Found fromEnvironment(Session& session, Deadline) {
  const auto& environment = session.surroundings().environment;
  Credentials found{.accessKeyId = environment("AWS_ACCESS_KEY_ID"),
                    .secretAccessKey = environment("AWS_SECRET_ACCESS_KEY"),
                    .sessionToken = environment("AWS_SESSION_TOKEN")};
  if (found.accessKeyId.empty() && found.secretAccessKey.empty()) {
    return nothing();
  }
  if (found.accessKeyId.empty() || found.secretAccessKey.empty()) {
    return fail(Code::kUnauthenticated,
                "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set both or none");
  }
  return std::optional(std::move(found));
}

// --- Web identity ---

Result<std::string> readToken(const Surroundings& surroundings, const std::string& path) {
  MAINSTAY_ASSIGN(std::string token, surroundings.files->read(path, kMaxToken));
  token.erase(token.find_last_not_of(" \r\n\t") + 1);
  if (token.empty()) {
    return fail(Code::kUnauthenticated, "the token file " + path + " is empty");
  }
  return token;
}

Result<Credentials> readAssumedRole(const Element& answer) {
  const Element& at = answer.at("AssumeRoleWithWebIdentityResult").at("Credentials");
  Credentials found{.accessKeyId = at.textOf("AccessKeyId"),
                    .secretAccessKey = at.textOf("SecretAccessKey"),
                    .sessionToken = at.textOf("SessionToken"),
                    .expires = parseTime(at.textOf("Expiration"))};
  if (found.accessKeyId.empty() || found.secretAccessKey.empty() || !found.expires) {
    return fail(Code::kInternal, "STS answered without credentials");
  }
  return found;
}

Found assumeRole(Session& session, const std::string& role, const std::string& tokenFile, Deadline deadline) {
  const Surroundings& surroundings = session.surroundings();
  MAINSTAY_ASSIGN(const std::string token, readToken(surroundings, tokenFile));
  const std::string given = surroundings.environment("AWS_ROLE_SESSION_NAME");
  CallOptions options{.sign = false};
  options.limit = std::min(options.limit, deadline.left());
  MAINSTAY_ASSIGN(const Element answer,
                  QueryClient(session).call(kSts, "AssumeRoleWithWebIdentity",
                                            {{"RoleArn", role},
                                             {"RoleSessionName", given.empty() ? kSessionName : given},
                                             {"WebIdentityToken", token}},
                                            options));
  MAINSTAY_ASSIGN(Credentials found, readAssumedRole(answer));
  return std::optional(std::move(found));
}

Found fromWebIdentity(Session& session, Deadline deadline) {
  const auto& environment = session.surroundings().environment;
  const std::string tokenFile = environment("AWS_WEB_IDENTITY_TOKEN_FILE");
  const std::string role = environment("AWS_ROLE_ARN");
  if (tokenFile.empty()) {
    return nothing();
  }
  if (role.empty()) {
    return fail(Code::kUnauthenticated,
                "AWS_WEB_IDENTITY_TOKEN_FILE is set and AWS_ROLE_ARN is not; annotate the "
                "service account with eks.amazonaws.com/role-arn");
  }
  return assumeRole(session, role, tokenFile, deadline);
}

// --- Shared files ---

// What a profile may also say, and we do not follow.
constexpr const char* kForeignWays[] = {"credential_process", "sso_session", "sso_start_url",
                                        "source_profile", "credential_source"};

Found fromSharedFiles(Session& session, Deadline deadline) {
  MAINSTAY_ASSIGN(const std::optional<Profile> profile, loadProfile(session.surroundings()));
  if (!profile) {
    return nothing();
  }
  Credentials found{.accessKeyId = valueOf(*profile, "aws_access_key_id"),
                    .secretAccessKey = valueOf(*profile, "aws_secret_access_key"),
                    .sessionToken = valueOf(*profile, "aws_session_token")};
  if (!found.accessKeyId.empty() && !found.secretAccessKey.empty()) {
    return std::optional(std::move(found));
  }
  const std::string name = profileName(session.surroundings());
  if (const std::string tokenFile = valueOf(*profile, "web_identity_token_file"); !tokenFile.empty()) {
    return assumeRole(session, valueOf(*profile, "role_arn"), tokenFile, deadline);
  }
  for (const char* way : kForeignWays) {
    if (profile->contains(way)) {
      return fail(Code::kUnauthenticated,
                  "profile " + name + " says " + way +
                      ", which is not followed here; put the keys into the environment: "
                      "eval \"$(aws configure export-credentials --format env --profile " +
                      name + ")\"");
    }
  }
  return nothing();  // a profile with a region only, for example
}

// --- JSON, as the container's endpoint and the instance's say it ---

Found readJsonCredentials(const std::string& body) {
  MAINSTAY_ASSIGN(const Json document, parseJson(body));
  if (const std::string code = findString(document, "Code"); !code.empty() && code != "Success") {
    return fail(Code::kUnauthenticated,
                code + ": " + findString(document, "Message") + "; check the role and its trust policy");
  }
  DecodeErrors errors;
  const Cursor root(document, errors);
  Credentials found{.accessKeyId = root.at("AccessKeyId").string(),
                    .secretAccessKey = root.at("SecretAccessKey").string(),
                    .sessionToken = root.at("Token").string(""),
                    .expires = root.at("Expiration").time()};
  MAINSTAY_TRY(errors.result());
  return std::optional(std::move(found));
}

// --- The container's endpoint: EKS pod identity, ECS ---

constexpr char kEcsAgent[] = "http://169.254.170.2";
// Where a token may go without TLS, besides the machine itself.
constexpr std::string_view kAgents[] = {kEcsAgent, "http://169.254.170.23", "http://[fd00:ec2::23]"};
constexpr Duration kContainerLimit = std::chrono::seconds(2);
constexpr int kContainerAttempts = 3;

// "" when neither variable is set.
Result<std::string> containerUrl(const Surroundings& surroundings) {
  if (const std::string path = surroundings.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
      !path.empty()) {
    return kEcsAgent + path;
  }
  const std::string url = surroundings.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  const std::string origin = originOf(url);
  const bool near = isLoopbackUrl(origin) || std::ranges::count(kAgents, origin) > 0;
  if (url.empty() || url.starts_with("https://") || near) {
    return url;
  }
  return fail(Code::kUnauthenticated,
              "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or an address of this machine or of EKS's "
              "or ECS's agent");
}

Result<std::string> containerToken(const Surroundings& surroundings) {
  const std::string file = surroundings.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  return file.empty() ? surroundings.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN")
                      : readToken(surroundings, file);
}

// With repeats: the agent starts beside the pods, and not before them.
Result<HttpResponse> askContainer(const Surroundings& surroundings, const HttpRequest& request,
                                  Deadline deadline) {
  for (int next = 2;; ++next) {
    const Deadline limit = Deadline::after(std::min(kContainerLimit, deadline.left()));
    Result<HttpResponse> response = surroundings.sendDirect(request, limit, surroundings.stop);
    const bool passing =
        response ? response->status >= 500 || response->status == 429 : response.error().isRetryable();
    if (!passing || next > kContainerAttempts || deadline.expired()) {
      return response;
    }
    surroundings.pause(backOff(next, surroundings.random()), surroundings.stop);
  }
}

Found fromContainer(Session& session, Deadline deadline) {
  const Surroundings& surroundings = session.surroundings();
  MAINSTAY_ASSIGN(const std::string url, containerUrl(surroundings));
  if (url.empty()) {
    return nothing();
  }
  MAINSTAY_ASSIGN(const std::string token, containerToken(surroundings));
  HttpRequest request{.method = "GET", .target = url};
  if (!token.empty()) {
    request.headers["Authorization"] = token;
  }
  MAINSTAY_ASSIGN(const HttpResponse response, askContainer(surroundings, request, deadline));
  if (response.status != 200) {
    return fail(Code::kUnauthenticated,
                "HTTP " + std::to_string(response.status) +
                    "; check the pod identity association of the service account, and the agent's log");
  }
  return readJsonCredentials(response.body);
}

// --- The instance ---

Found fromInstance(Session& session, Deadline deadline) {
  MAINSTAY_ASSIGN(const std::optional<Metadata> metadata, Metadata::open(session.surroundings(), deadline));
  if (!metadata) {
    return nothing();
  }
  const std::string folder = "iam/security-credentials/";
  Result<std::string> role = metadata->read(folder, deadline);
  if (!role) {
    return fail(role.error().code() == Code::kNotFound
                    ? Error(Code::kUnauthenticated,
                            "the instance has no IAM role; attach an instance profile, or give "
                            "the pod a role by EKS pod identity or IRSA")
                    : std::move(role).error());
  }
  MAINSTAY_ASSIGN(const std::string body,
                  metadata->read(folder + role->substr(0, role->find('\n')), deadline));
  return readJsonCredentials(body);
}

}  // namespace

const std::vector<CredentialPlace>& credentialPlaces() {
  static const std::vector<CredentialPlace> kPlaces = {
      {"the environment", fromEnvironment},
      {"the shared files", fromSharedFiles},
      {"web identity (IRSA)", fromWebIdentity},
      {"the container's endpoint (EKS pod identity)", fromContainer},
      {"the instance (IMDSv2)", fromInstance},
  };
  return kPlaces;
}

Result<std::string> findRegion(const Surroundings& surroundings, Deadline deadline) {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (std::string region = surroundings.environment(name); !region.empty()) {
      return region;
    }
  }
  MAINSTAY_ASSIGN(const std::optional<Profile> profile, loadProfile(surroundings));
  if (std::string region = profile ? valueOf(*profile, "region") : ""; !region.empty()) {
    return region;
  }
  const auto none = [](const std::string& why) {
    return fail(Code::kFailedPrecondition,
                "no AWS region is set; set AWS_REGION to the cluster's region" + why);
  };
  const Result<std::optional<Metadata>> metadata = Metadata::open(surroundings, deadline);
  if (!metadata || !*metadata) {
    return none(metadata ? "" : ". The instance was asked too: " + metadata.error().toString());
  }
  const Result<std::string> region = (*metadata)->read("placement/region", deadline);
  return region ? region : none(". The instance was asked too: " + region.error().toString());
}

}  // namespace mainstay::cloud::aws
