#include "local/api/refusal.h"

namespace mainstay::local {
namespace {

JsonArray causesToJson(const std::vector<Cause>& causes) {
  JsonArray array;
  for (const Cause& cause : causes) {
    JsonObject one{{"reason", cause.reason}, {"message", cause.message}};
    if (!cause.field.empty()) {
      one["field"] = cause.field;
    }
    array.push_back(std::move(one));
  }
  return array;
}

Refusal aboutResource(int code, std::string reason, const api::Resource& resource, const std::string& name,
                      std::string message) {
  JsonObject details = detailsOf(resource, name);
  return {code, std::move(reason), std::move(message), std::move(details), std::nullopt};
}

}  // namespace

Json Refusal::toStatus() const {
  JsonObject status{{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", JsonObject()},
                    {"status", "Failure"}, {"message", message}, {"reason", reason}};
  JsonObject extra = details;
  if (retryAfterSeconds) {
    extra["retryAfterSeconds"] = *retryAfterSeconds;
  }
  if (!extra.empty()) {
    status["details"] = std::move(extra);
  }
  status["code"] = code;
  return status;
}

Json successStatus(JsonObject details) {
  JsonObject status{
      {"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", JsonObject()}, {"status", "Success"}};
  if (!details.empty()) {
    status["details"] = std::move(details);
  }
  return status;
}

JsonObject detailsOf(const api::Resource& resource, const std::string& name, const std::string& uid) {
  JsonObject details;
  if (!name.empty()) {
    details["name"] = name;
  }
  if (!resource.group.empty()) {
    details["group"] = resource.group;
  }
  details["kind"] = resource.plural;
  if (!uid.empty()) {
    details["uid"] = uid;
  }
  return details;
}

std::string qualifiedName(const api::Resource& resource) {
  return resource.group.empty() ? resource.plural : resource.plural + "." + resource.group;
}

Refusal badRequest(const std::string& message) {
  return {400, "BadRequest", message, {}, std::nullopt};
}

Refusal forbidden(const api::Resource& resource, const std::string& name, const std::string& why) {
  return aboutResource(403, "Forbidden", resource, name,
                       qualifiedName(resource) + " \"" + name + "\" is forbidden: " + why);
}

Refusal unknownPath() {
  return {404, "NotFound", "the server could not find the requested resource", {}, std::nullopt};
}

Refusal notFound(const api::Resource& resource, const std::string& name) {
  return aboutResource(404, "NotFound", resource, name,
                       qualifiedName(resource) + " \"" + name + "\" not found");
}

Refusal alreadyExists(const api::Resource& resource, const std::string& name) {
  return aboutResource(409, "AlreadyExists", resource, name,
                       qualifiedName(resource) + " \"" + name + "\" already exists");
}

Refusal methodNotAllowed() {
  return {405,
          "MethodNotAllowed",
          "the server does not allow this method on the requested resource",
          {},
          std::nullopt};
}

Refusal unsupportedMediaType(const std::string& accepted) {
  return {415,
          "UnsupportedMediaType",
          "the body of the request was in an unknown format - accepted media types include: " + accepted,
          {},
          std::nullopt};
}

Refusal conflict(const api::Resource& resource, const std::string& name, const std::string& why) {
  return aboutResource(
      409, "Conflict", resource, name,
      "Operation cannot be fulfilled on " + qualifiedName(resource) + " \"" + name + "\": " + why);
}

Refusal modifiedMeanwhile(const api::Resource& resource, const std::string& name) {
  return conflict(
      resource, name,
      "the object has been modified; please apply your changes to the latest version and try again");
}

Refusal expired(const std::string& message) {
  return {410, "Expired", message, {}, std::nullopt};
}

Refusal invalid(const api::Resource& resource, const std::string& name, const std::vector<Cause>& causes) {
  const std::string kind = resource.group.empty() ? resource.kind : resource.kind + "." + resource.group;
  std::string message = kind + " \"" + name + "\" is invalid: ";
  std::string separator = causes.size() > 1 ? "[" : "";
  for (const Cause& cause : causes) {
    message += separator + cause.field + ": " + cause.message;
    separator = ", ";
  }
  message += causes.size() > 1 ? "]" : "";
  JsonObject details = detailsOf(resource, name);
  details["kind"] = resource.kind;  // here, and here alone, it is the kind
  details["causes"] = causesToJson(causes);
  return {422, "Invalid", std::move(message), std::move(details), std::nullopt};
}

Refusal tooManyRequests(const std::string& message, int retryAfterSeconds, std::vector<Cause> causes) {
  JsonObject details;
  if (!causes.empty()) {
    details["causes"] = causesToJson(causes);
  }
  const std::optional<int> wait = retryAfterSeconds > 0 ? std::optional(retryAfterSeconds) : std::nullopt;
  return {429, "TooManyRequests", message, std::move(details), wait};
}

}  // namespace mainstay::local
