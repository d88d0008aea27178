#include "local/api/apply.h"

#include <map>

#include "local/api/metadata.h"

namespace mainstay::local {
namespace {

void mergeWanted(Json& live, const Json& wanted, const Ownership& ownership) {
  if (ownership.isWhole(wanted) || live.kind() != wanted.kind()) {
    live = wanted;
    return;
  }
  std::map<std::string, std::size_t> places;
  for (const Part& part : ownership.partsOf(live)) {
    places.emplace(part.step, part.index);
  }
  for (const Part& part : ownership.partsOf(wanted)) {
    const auto at = places.find(part.step);
    if (live.is_object()) {
      mergeWanted(live.get_object()[part.step.substr(2)], *part.value, part.ownership);
    } else if (at != places.end()) {
      mergeWanted(live.get_array()[at->second], *part.value, part.ownership);
    } else {
      live.get_array().push_back(*part.value);
    }
  }
}

// With the fields by which an element that stays is told from the others.
FieldSet withKeys(FieldSet kept, const std::string& step) {
  const auto identity = step.starts_with("k:") ? parseJson(step.substr(2)) : Result<Json>(Json());
  if (identity && identity->is_object()) {
    for (const auto& [key, value] : identity->get_object()) {
      kept["f:" + std::string(key)] = FieldSet();
    }
  }
  return kept;
}

// Takes out of `value` what `last` names, unless something of it is in `kept`.
void prune(Json& value, const FieldSet& last, const FieldSet& kept, const Ownership& ownership) {
  const std::vector<Part> parts = ownership.partsOf(value);
  for (auto part = parts.rbegin(); part != parts.rend();
       ++part) {  // from the end: places before stay as they are
    const FieldSet* wanted = fieldsBelow(last, part->step);
    const FieldSet* still = fieldsBelow(kept, part->step);
    if (!wanted) {
      continue;
    }
    if (value.is_object()) {
      const std::string name = part->step.substr(2);
      if (still || part->given) {
        prune(value.get_object()[name], *wanted, still ? *still : FieldSet(), part->ownership);
      } else {
        value.get_object().stable_erase(name);
      }
    } else if (still) {
      prune(value.get_array()[part->index], *wanted, withKeys(*still, part->step), part->ownership);
    } else {
      value.get_array().erase(value.get_array().begin() + static_cast<std::ptrdiff_t>(part->index));
    }
  }
}

std::string printedManager(const Json& entry) {
  std::string text = toText(Json(findString(entry, "manager")));
  if (const std::string subresource = findString(entry, "subresource"); !subresource.empty()) {
    text += " with subresource " + toText(Json(subresource));
  }
  return findString(entry, "operation") == "Update" ? text + " using " + findString(entry, "apiVersion")
                                                    : text;
}

Refusal applyConflict(const std::map<std::string, std::vector<std::string>>& conflicts) {
  JsonArray causes;
  std::string list;
  std::string single;
  for (const auto& [manager, fields] : conflicts) {
    list += (list.empty() ? "" : "\n") + ("conflicts with " + manager + ":");
    for (const std::string& field : fields) {
      causes.push_back(JsonObject{
          {"reason", "FieldManagerConflict"}, {"message", "conflict with " + manager}, {"field", field}});
      list += "\n- " + field;
      single = "conflict with " + manager + ": " + field;
    }
  }
  const std::string message =
      causes.size() == 1 ? "Apply failed with 1 conflict: " + single
                         : "Apply failed with " + std::to_string(causes.size()) + " conflicts: " + list;
  return {409, "Conflict", message, JsonObject{{"causes", std::move(causes)}}, std::nullopt};
}

}  // namespace

void restrictWanted(const Kind& kind, const std::string& subresource, Json& wanted) {
  JsonObject& members = wanted.as_object();
  if (subresource.empty()) {
    if (kind.hasStatus()) {
      members.erase("status");
    }
    return;
  }
  JsonObject allowed;
  for (const char* key : {"apiVersion", "kind", "metadata", "status"}) {
    copyMember(allowed, wanted, key);
  }
  members = std::move(allowed);
  JsonObject& metadata = metadataOf(wanted);
  metadata.erase("finalizers");
  metadata.erase("ownerReferences");
  if (kind.custom) {
    metadata.erase("labels");
    metadata.erase("annotations");
  }
}

Outcome<Json> applyWanted(const Kind& kind, const Json& before, const Json& wanted, const FieldWriter& writer,
                          bool force) {
  const Ownership ownership = Ownership::of(kind);
  Json after = before;
  mergeWanted(after, wanted, ownership);

  FieldSet last;
  FieldSet kept = *writer.applied;
  const JsonArray& entries = arrayAt(before, "metadata", "managedFields");
  for (const Json& entry : entries) {
    if (isWriters(entry, writer)) {
      last = fieldsOfEntry(entry);
    } else {
      addFields(kept, fieldsOfEntry(entry));
    }
  }
  prune(after, last, kept, ownership);

  const FieldSet changed = changedFields(before, after, ownership);
  std::map<std::string, std::vector<std::string>> conflicts;  // by manager
  for (const Json& entry : entries) {
    std::vector<std::string> fields = commonFields(fieldsOfEntry(entry), changed);
    if (!isWriters(entry, writer) && !fields.empty()) {
      conflicts[printedManager(entry)] = std::move(fields);
    }
  }
  if (!force && !conflicts.empty()) {
    return refuse(applyConflict(conflicts));
  }
  return after;
}

}  // namespace mainstay::local
