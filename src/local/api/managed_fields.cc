#include "local/api/managed_fields.h"

#include <algorithm>
#include <optional>

#include "local/api/patch.h"

namespace mainstay::local {
namespace {

// A set of fields is a tree in fieldsV1's own form: a member for each field below, "." for "this item
// itself".

// Written by the server, owned by nobody.
bool isServersOwn(std::string_view parent, std::string_view field) {
  static constexpr std::string_view kMetadata[] = {
      "name",         "namespace",         "uid",
      "generation",   "creationTimestamp", "resourceVersion",
      "selfLink",     "deletionTimestamp", "deletionGracePeriodSeconds",
      "managedFields"};
  if (parent == "metadata") {
    return std::find(std::begin(kMetadata), std::end(kMetadata), field) != std::end(kMetadata);
  }
  return parent.empty() && (field == "kind" || field == "apiVersion");
}

std::string itemKey(const Json& element, const std::string& mergeKey) {
  const Json* value = findMember(element, mergeKey);
  return "k:" + toText(JsonObject{{mergeKey, value ? *value : Json()}});
}

const Json* elementByKey(const Json& list, const Json& wanted, const std::string& mergeKey) {
  const Json* value = findMember(wanted, mergeKey);
  if (!list.is_array() || !value) {
    return nullptr;
  }
  for (const Json& element : list.get_array()) {
    const Json* candidate = findMember(element, mergeKey);
    if (candidate && *candidate == *value) {
      return &element;
    }
  }
  return nullptr;
}

// Fields of `value` whose value differs from that in `base` (nullptr: there is none).
class FieldDifference {
 public:
  JsonObject object(const JsonObject& value, const Json* base, std::string_view parent) const {
    JsonObject fields;
    for (const auto& [key, member] : value) {
      const std::string name(key);
      if (isServersOwn(parent, name)) {
        continue;
      }
      const Json* before = base ? findMember(*base, name) : nullptr;
      if (before && *before == member) {
        continue;
      }
      if (auto below = valueAt(member, before, name, parent.empty())) {
        fields["f:" + name] = *std::move(below);
      }
    }
    return fields;
  }

 private:
  // The tree below a field that differs: {} for a leaf, nullopt when it differs only by what it lacks.
  std::optional<JsonObject> valueAt(const Json& value, const Json* before, const std::string& name,
                                    bool top) const {
    if (value.is_object() && !value.get_object().empty()) {
      JsonObject below = object(value.get_object(), before, name);
      // A map that came into being is owned itself too, as are its members; metadata, spec and status are
      // nobody's.
      if (!before && !top) {
        below["."] = JsonObject();
      }
      return unlessEmpty(std::move(below));
    }
    if (value.is_array() && !value.get_array().empty()) {
      const JsonArray& elements = value.get_array();
      if (isMergedSet(name)) {
        return unlessEmpty(scalars(elements, before));
      }
      if (const auto key = mergeKeyOf(name, elements.front())) {
        return unlessEmpty(items(elements, before, *key));
      }
    }
    return JsonObject();
  }

  static std::optional<JsonObject> unlessEmpty(JsonObject fields) {
    return fields.empty() ? std::nullopt : std::optional(std::move(fields));
  }

  JsonObject scalars(const JsonArray& elements, const Json* before) const {
    JsonObject fields;
    for (const Json& element : elements) {
      const bool known = before && before->is_array() &&
                         std::find(before->get_array().begin(), before->get_array().end(), element) !=
                             before->get_array().end();
      if (!known) {
        fields["v:" + toText(element)] = JsonObject();
      }
    }
    return fields;
  }

  JsonObject items(const JsonArray& elements, const Json* before, const std::string& key) const {
    JsonObject fields;
    for (const Json& element : elements) {
      const Json* old = before ? elementByKey(*before, element, key) : nullptr;
      if (!element.is_object() || (old && *old == element)) {
        continue;
      }
      JsonObject below = object(element.get_object(), old, "item");
      if (!old) {
        below["."] = JsonObject();
      }
      fields[itemKey(element, key)] = std::move(below);
    }
    return fields;
  }
};

void addFields(JsonObject& set, const JsonObject& more) {
  for (const auto& [key, below] : more) {
    Json& slot = set[key];
    if (!slot.is_object()) {
      slot = JsonObject();
    }
    if (below.is_object()) {
      addFields(slot.get_object(), below.get_object());
    }
  }
}

// Takes the leaves of `gone` out of `set`, and what is empty after that.
void takeFields(JsonObject& set, const JsonObject& gone) {
  for (const auto& [key, below] : gone) {
    const auto at = set.find(key);
    if (at == set.end() || !at->value().is_object() || !below.is_object()) {
      continue;
    }
    if (!below.get_object().empty()) {
      takeFields(at->value().get_object(), below.get_object());
    }
    if (below.get_object().empty() || at->value().get_object().empty()) {
      set.erase(at);
    }
  }
}

Json fieldsOf(const Json& object, const Json& base) {
  return object.is_object() ? FieldDifference().object(object.get_object(), &base, "") : JsonObject();
}

bool isWriters(const Json& entry, const FieldWriter& writer) {
  return findString(entry, "manager") == writer.manager && findString(entry, "operation") == "Update" &&
         findString(entry, "subresource") == writer.subresource;
}

JsonObject newEntry(const Json& object, const FieldWriter& writer) {
  JsonObject entry{{"manager", writer.manager},
                   {"operation", "Update"},
                   {"apiVersion", findString(object, "apiVersion")},
                   {"time", formatTime(writer.now)},
                   {"fieldsType", "FieldsV1"},
                   {"fieldsV1", JsonObject()}};
  if (!writer.subresource.empty()) {
    entry["subresource"] = writer.subresource;
  }
  return entry;
}

JsonObject& fieldsV1(Json& entry) {
  Json& fields = entry.as_object()["fieldsV1"];
  if (!fields.is_object()) {
    fields = JsonObject();
  }
  return fields.get_object();
}

}  // namespace

void recordFieldWriter(const Json& before, Json& after, const FieldWriter& writer) {
  const JsonObject written = fieldsOf(after, before).as_object();
  const JsonObject removed = fieldsOf(before, after).as_object();
  const Json* known = find(before, "metadata", "managedFields");
  JsonArray entries = known && known->is_array() ? known->get_array() : JsonArray();

  bool found = false;
  JsonArray kept;
  for (Json& entry : entries) {
    JsonObject& fields = fieldsV1(entry);
    takeFields(fields, removed);
    if (isWriters(entry, writer)) {
      found = true;
      addFields(fields, written);
      if (!written.empty() || !removed.empty()) {
        entry.as_object()["time"] = formatTime(writer.now);
      }
    } else {
      takeFields(fields, written);
    }
    if (!fields.empty()) {
      kept.push_back(std::move(entry));
    }
  }
  if (!found && !written.empty()) {
    Json entry = newEntry(after, writer);
    addFields(fieldsV1(entry), written);
    kept.push_back(std::move(entry));
  }
  after.as_object()["metadata"].as_object()["managedFields"] = std::move(kept);
}

}  // namespace mainstay::local
