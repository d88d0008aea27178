// Lists: selectors, pages, and the past.
#include <charconv>

#include "local/api/registry.h"

namespace mainstay::local {
namespace {

std::optional<std::uint64_t> parseRevision(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Where a page begins: an opaque text to clients, "revision:last key" to us.
struct ContinueToken {
  std::uint64_t revision = 0;
  std::string lastKey;

  std::string toString() const { return std::to_string(revision) + ":" + lastKey; }
  static std::optional<ContinueToken> parse(const std::string& text) {
    const std::size_t colon = text.find(':');
    const auto revision = parseRevision(text.substr(0, colon));
    if (colon == std::string::npos || !revision) {
      return std::nullopt;
    }
    return ContinueToken{*revision, text.substr(colon + 1)};
  }
};

struct ListOptions {
  std::size_t limit = 0;  // 0 = all
  std::optional<ContinueToken> from;
  std::optional<std::uint64_t> exactRevision;
};

Outcome<ListOptions> parseListOptions(const Query& query, std::uint64_t current) {
  ListOptions options;
  if (const std::string limit = queryValue(query, "limit"); !limit.empty()) {
    const auto value = parseRevision(limit);
    if (!value) {
      return refuse(badRequest("limit: \"" + limit + "\" is not a number"));
    }
    options.limit = static_cast<std::size_t>(*value);
  }
  if (const std::string token = queryValue(query, "continue"); !token.empty()) {
    options.from = ContinueToken::parse(token);
    if (!options.from) {
      return refuse(badRequest("continue key is not valid"));
    }
    return options;
  }
  const std::string text = queryValue(query, "resourceVersion");
  const auto revision = text.empty() ? std::optional<std::uint64_t>(0) : parseRevision(text);
  if (!revision) {
    return refuse(badRequest("resourceVersion: Invalid value: \"" + text + "\""));
  }
  if (*revision > current) {
    return refuse({504,
                   "Timeout",
                   "Too large resource version: " + text + ", current: " + std::to_string(current),
                   {},
                   std::nullopt});
  }
  if (queryValue(query, "resourceVersionMatch") == "Exact") {
    options.exactRevision = *revision;
  }
  return options;
}

Json listDocument(const Kind& kind, JsonArray items, JsonObject metadata) {
  return JsonObject{{"kind", kind.resource.kind + "List"},
                    {"apiVersion", kind.resource.apiVersion()},
                    {"metadata", std::move(metadata)},
                    {"items", std::move(items)}};
}

}  // namespace

Outcome<Json> Registry::list(const Target& target, const Query& query) const {
  const std::string shelf = target.kind->shelf();
  MAINSTAY_ASSIGN(const Filter filter, parseFilter(target.kind->resource, query));
  MAINSTAY_ASSIGN(const ListOptions options, parseListOptions(query, store_.revision()));
  // All pages show the world as it stood when the first one was read.
  std::uint64_t revision = store_.revision();
  std::optional<Objects> past;
  if (options.from || options.exactRevision) {
    revision = options.from ? options.from->revision : *options.exactRevision;
    MAINSTAY_ASSIGN(past, store_.at(shelf, revision));
  }
  const Objects& objects = past ? *past : store_.all(shelf);
  auto [at, end] = inNamespace(objects, target.ns);
  if (options.from) {
    if (!target.ns.empty() && !options.from->lastKey.starts_with(target.ns + "/")) {
      return refuse(badRequest("continue key is of another list"));
    }
    at = objects.upper_bound(options.from->lastKey);
  }

  JsonArray items;
  JsonObject metadata{{"resourceVersion", std::to_string(revision)}};
  std::string lastKey;
  for (; at != end && (options.limit == 0 || items.size() < options.limit); ++at) {
    if (filter.matches(*at->second)) {
      items.push_back(presentAs(*target.kind, *at->second));
    }
    lastKey = at->first;
  }
  if (at != end) {
    metadata["continue"] = ContinueToken{revision, lastKey}.toString();
    if (filter.everything()) {
      metadata["remainingItemCount"] = std::distance(at, end);
    }
  }
  return listDocument(*target.kind, std::move(items), std::move(metadata));
}

}  // namespace mainstay::local
