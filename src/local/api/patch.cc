#include "local/api/patch.h"

#include <algorithm>
#include <array>

namespace mainstay::local {
namespace {

constexpr char kDirective[] = "$patch";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrderPrefix = "$setElementOrder/";
constexpr char kRetainKeys[] = "$retainKeys";
// Deep enough for every object; the JSON parser stops at the same depth.
constexpr int kMaxDepth = 64;

// kube-apiserver's limit on one JSON patch.
constexpr std::size_t kMaxOperations = 10000;
// Text that "copy" may add in all: a patch that copies its own copies doubles with each step.
constexpr std::size_t kMaxCopied = 3u << 20;

struct MergedList {
  std::string_view field;
  std::string_view key;
};

// `patchStrategy:"merge"` and `patchMergeKey` of k8s.io/api v0.34, for the kinds that are served here.
constexpr std::array kMergedLists = {
    MergedList{"conditions", "type"},
    MergedList{"containers", "name"},
    MergedList{"initContainers", "name"},
    MergedList{"ephemeralContainers", "name"},
    MergedList{"env", "name"},
    MergedList{"volumes", "name"},
    MergedList{"volumeMounts", "mountPath"},
    MergedList{"volumeDevices", "devicePath"},
    MergedList{"imagePullSecrets", "name"},
    MergedList{"hostAliases", "ip"},
    MergedList{"ownerReferences", "uid"},
    MergedList{"addresses", "type"},
    MergedList{"podIPs", "ip"},
    MergedList{"topologySpreadConstraints", "topologyKey"},
    MergedList{"resourceClaims", "name"},
    MergedList{"schedulingGates", "name"},
};

Refusal patchRefused(const std::string& why) {
  return {422,
          "Invalid",
          "the server rejected our request due to an error in our request: " + why,
          {},
          std::nullopt};
}

bool deeperThan(const Json& value, int levels) {
  const auto isDeeper = [levels](const Json& below) { return deeperThan(below, levels - 1); };
  if (value.is_object()) {
    const JsonObject& members = value.get_object();
    return levels == 0 || std::any_of(members.begin(), members.end(),
                                      [&](const auto& member) { return isDeeper(member.value()); });
  }
  if (value.is_array()) {
    const JsonArray& elements = value.get_array();
    return levels == 0 || std::any_of(elements.begin(), elements.end(), isDeeper);
  }
  return false;
}

bool sameKey(const Json& a, const Json& b, const std::string& key) {
  const Json* left = findMember(a, key);
  const Json* right = findMember(b, key);
  return left && right && *left == *right;
}

class StrategicMerge {
 public:
  Outcome<> object(Json& target, const Json& patch, int depth) {
    if (depth > kMaxDepth) {
      return refuse(badRequest("the patch is nested deeper than " + std::to_string(kMaxDepth) + " levels"));
    }
    if (!target.is_object()) {
      target = JsonObject();
    }
    const std::string directive = findString(patch, kDirective);
    if (directive == "replace" || directive == "delete") {
      target = directive == "delete" ? JsonObject() : withoutDirectives(patch);
      return {};
    }
    if (!directive.empty() && directive != "merge") {
      return refuse(badRequest("Unknown patch type: " + directive));
    }
    JsonObject& members = target.get_object();
    retainOnly(members, findMember(patch, kRetainKeys));
    for (const auto& [name, value] : patch.get_object()) {
      MAINSTAY_TRY(member(members, name, value, depth));
    }
    return {};
  }

 private:
  Outcome<> member(JsonObject& members, std::string_view name, const Json& value, int depth) {
    if (name.starts_with(kDeletePrefix)) {
      removeScalars(members, name.substr(kDeletePrefix.size()), value);
    } else if (name == kDirective || name == kRetainKeys || name.starts_with(kOrderPrefix)) {
      return {};
    } else if (value.is_null()) {
      members.erase(name);
    } else if (value.is_array()) {
      return list(members[name], name, value.get_array(), depth);
    } else if (value.is_object()) {
      return object(members[name], value, depth + 1);
    } else {
      members[name] = value;
    }
    return {};
  }

  Outcome<> list(Json& target, std::string_view field, const JsonArray& patch, int depth) {
    if (!target.is_array()) {
      target = JsonArray();
    }
    JsonArray& elements = target.get_array();
    if (isMergedSet(field)) {
      addMissing(elements, patch);
      return {};
    }
    const Json none;
    const Json& sample = !patch.empty() ? patch.front() : none;
    const std::optional<std::string> key = mergeKeyOf(field, sample);
    const bool replaces = std::any_of(patch.begin(), patch.end(), [](const Json& element) {
      return findString(element, kDirective) == "replace";
    });
    if (replaces || (!key && !patch.empty() && findString(sample, kDirective).empty())) {
      elements = withoutMarkers(patch);
      return {};
    }
    if (!key) {
      // An empty patch leaves a merged list as it is and empties an atomic one.
      if (patch.empty() && (elements.empty() || !mergeKeyOf(field, elements.front()))) {
        elements.clear();
      }
      return {};
    }
    for (const Json& element : patch) {
      MAINSTAY_TRY(mergeElement(elements, element, *key, field, depth));
    }
    return {};
  }

  Outcome<> mergeElement(JsonArray& elements, const Json& patch, const std::string& key,
                         std::string_view field, int depth) {
    if (!findMember(patch, key)) {
      return refuse(badRequest("map: " + toText(patch) + " does not contain declared merge key: " + key +
                               " (in " + std::string(field) + ")"));
    }
    const auto at = std::find_if(elements.begin(), elements.end(),
                                 [&](const Json& element) { return sameKey(element, patch, key); });
    if (findString(patch, kDirective) == "delete") {
      if (at != elements.end()) {
        elements.erase(at);
      }
      return {};
    }
    if (at != elements.end()) {
      return object(*at, patch, depth + 1);
    }
    Json fresh = JsonObject();
    MAINSTAY_TRY(object(fresh, patch, depth + 1));
    elements.push_back(std::move(fresh));
    return {};
  }

  static Json withoutDirectives(const Json& patch) {
    JsonObject result = patch.get_object();
    result.erase(kDirective);
    return result;
  }

  static JsonArray withoutMarkers(const JsonArray& patch) {
    JsonArray result;
    for (const Json& element : patch) {
      if (findString(element, kDirective).empty()) {
        result.push_back(element);
      }
    }
    return result;
  }

  static void addMissing(JsonArray& elements, const JsonArray& more) {
    for (const Json& value : more) {
      if (std::find(elements.begin(), elements.end(), value) == elements.end()) {
        elements.push_back(value);
      }
    }
  }

  static void removeScalars(JsonObject& members, std::string_view field, const Json& values) {
    const auto list = members.find(field);
    if (list == members.end() || !list->value().is_array() || !values.is_array()) {
      return;
    }
    JsonArray kept;
    for (const Json& value : list->value().get_array()) {
      const JsonArray& gone = values.get_array();
      if (std::find(gone.begin(), gone.end(), value) == gone.end()) {
        kept.push_back(value);
      }
    }
    list->value() = std::move(kept);
  }

  static void retainOnly(JsonObject& members, const Json* keys) {
    if (!keys || !keys->is_array()) {
      return;
    }
    JsonObject kept;
    for (const auto& [name, value] : members) {
      const JsonArray& retained = keys->get_array();
      if (std::find(retained.begin(), retained.end(), Json(name)) != retained.end()) {
        kept[name] = value;
      }
    }
    members = std::move(kept);
  }
};

// --- RFC 6902 ---

// "~1" is a slash, "~0" a tilde.
std::string unescapePointer(std::string token) {
  for (const auto& [escape, plain] : {std::pair<const char*, const char*>{"~1", "/"}, {"~0", "~"}}) {
    for (std::size_t at = 0; (at = token.find(escape, at)) != std::string::npos; ++at) {
      token.replace(at, 2, plain);
    }
  }
  return token;
}

Outcome<std::vector<std::string>> parsePointer(const std::string& text) {
  std::vector<std::string> tokens;
  if (!text.empty() && text[0] != '/') {
    return refuse(patchRefused("path \"" + text + "\" does not begin with /"));
  }
  std::size_t begin = 1;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    tokens.push_back(unescapePointer(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return tokens;
}

std::optional<std::size_t> parseIndex(const std::string& token, std::size_t limit) {
  const bool digits = !token.empty() && token.size() < 10 &&
                      std::all_of(token.begin(), token.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || (token.size() > 1 && token[0] == '0')) {
    return std::nullopt;
  }
  const std::size_t index = std::stoul(token);
  return index < limit ? std::optional(index) : std::nullopt;
}

// The value that a pointer leads to; nullptr when there is none.
Json* follow(Json& root, const std::vector<std::string>& tokens, std::size_t count) {
  Json* at = &root;
  for (std::size_t i = 0; at && i < count; ++i) {
    if (at->is_object()) {
      at = at->get_object().if_contains(tokens[i]);
    } else if (at->is_array()) {
      const auto index = parseIndex(tokens[i], at->get_array().size());
      at = index ? &at->get_array()[*index] : nullptr;
    } else {
      at = nullptr;
    }
  }
  return at;
}

class JsonPatcher {
 public:
  explicit JsonPatcher(Json& root) : root_(root) {}

  Outcome<> apply(const Json& operation) {
    const std::string op = findString(operation, "op");
    const std::string pathText = findString(operation, "path");
    MAINSTAY_ASSIGN(const auto path, parsePointer(pathText));
    if (op == "remove") {
      return remove(path, pathText);
    }
    MAINSTAY_ASSIGN(Json value, valueOf(operation, op));
    if (op == "add" || op == "move" || op == "copy") {
      return add(path, pathText, std::move(value));
    }
    Json* target = follow(root_, path, path.size());
    if (!target && op == "replace") {
      return replaceAbsent(path, pathText, std::move(value));
    }
    if (!target) {
      return refuse(patchRefused(op + " operation does not apply: doc is missing key: " + pathText));
    }
    if (op == "replace") {
      *target = std::move(value);
    } else if (*target != value) {  // op is "test"
      return refuse(patchRefused("testing value " + pathText + " failed"));
    }
    return {};
  }

 private:
  // What is to be added, compared or put: "value", or for move and copy what stands at "from".
  Outcome<Json> valueOf(const Json& operation, const std::string& op) {
    if (op == "add" || op == "replace" || op == "test") {
      const Json* value = findMember(operation, "value");
      return value ? *value : Json();
    }
    if (op != "move" && op != "copy") {
      return refuse(patchRefused("Unexpected kind: " + op));
    }
    const std::string fromText = findString(operation, "from");
    MAINSTAY_ASSIGN(const auto from, parsePointer(fromText));
    const Json* source = follow(root_, from, from.size());
    if (!source) {
      return refuse(patchRefused(op + " operation does not apply: doc is missing from path: " + fromText));
    }
    Json value = *source;
    if (op == "move") {
      MAINSTAY_TRY(remove(from, fromText));
      return value;
    }
    copied_ += toText(value).size();
    if (copied_ > kMaxCopied) {
      return refuse(patchRefused("copies more than " + std::to_string(kMaxCopied) + " bytes"));
    }
    return value;
  }

  Outcome<> add(const std::vector<std::string>& path, const std::string& text, Json value) {
    if (path.empty()) {
      root_ = std::move(value);
      return {};
    }
    Json* parent = follow(root_, path, path.size() - 1);
    if (parent && parent->is_object()) {
      parent->get_object()[path.back()] = std::move(value);
      return {};
    }
    if (parent && parent->is_array()) {
      JsonArray& array = parent->get_array();
      const auto index = path.back() == "-" ? array.size() : parseIndex(path.back(), array.size() + 1);
      if (index) {
        array.insert(array.begin() + *index, std::move(value));
        return {};
      }
    }
    return refuse(patchRefused("add operation does not apply: doc is missing path: " + text));
  }

  // An absent member of an object may be replaced: kube-apiserver's library is not as strict as the RFC.
  Outcome<> replaceAbsent(const std::vector<std::string>& path, const std::string& text, Json value) {
    Json* parent = follow(root_, path, path.size() - 1);
    if (!parent || !parent->is_object()) {
      return refuse(patchRefused("replace operation does not apply: doc is missing key: " + text));
    }
    parent->get_object()[path.back()] = std::move(value);
    return {};
  }

  Outcome<> remove(const std::vector<std::string>& path, const std::string& text) {
    Json* parent = path.empty() ? nullptr : follow(root_, path, path.size() - 1);
    if (parent && parent->is_object() && parent->get_object().erase(path.back()) > 0) {
      return {};
    }
    if (parent && parent->is_array()) {
      JsonArray& array = parent->get_array();
      if (const auto index = parseIndex(path.back(), array.size())) {
        array.erase(array.begin() + *index);
        return {};
      }
    }
    return refuse(patchRefused("remove operation does not apply: doc is missing path: " + text));
  }

  Json& root_;
  std::size_t copied_ = 0;
};

}  // namespace

std::optional<std::string> mergeKeyOf(std::string_view field, const Json& first) {
  if (field == "ports") {
    return findMember(first, "containerPort") ? "containerPort" : "port";
  }
  const auto at = std::find_if(kMergedLists.begin(), kMergedLists.end(),
                               [&](const MergedList& list) { return list.field == field; });
  return at == kMergedLists.end() ? std::nullopt : std::optional(std::string(at->key));
}

bool isMergedSet(std::string_view field) {
  return field == "finalizers" || field == "podCIDRs";
}

Outcome<> applyJsonPatch(Json& target, const Json& patch) {
  if (!patch.is_array()) {
    return refuse(badRequest("a JSON patch is an array of operations"));
  }
  if (patch.get_array().size() > kMaxOperations) {
    return refuse({413,
                   "RequestEntityTooLarge",
                   "The allowed maximum operations in a JSON patch is " + std::to_string(kMaxOperations),
                   {},
                   std::nullopt});
  }
  JsonPatcher patcher(target);
  for (const Json& operation : patch.get_array()) {
    MAINSTAY_TRY(patcher.apply(operation));
  }
  if (deeperThan(target, kMaxDepth)) {
    return refuse(patchRefused("the result is nested deeper than " + std::to_string(kMaxDepth) + " levels"));
  }
  return {};
}

Outcome<> applyStrategicMerge(Json& target, const Json& patch) {
  if (!patch.is_object()) {
    return refuse(badRequest("a strategic merge patch is an object"));
  }
  return StrategicMerge().object(target, patch, 0);
}

}  // namespace mainstay::local
