#include "local/api/managed_fields.h"

#include "local/api/metadata.h"

namespace mainstay::local {
namespace {

const char* operationOf(const FieldWriter& writer) {
  return writer.applied ? "Apply" : "Update";
}

JsonObject newEntry(const Json& object, const FieldWriter& writer) {
  JsonObject entry{{"manager", writer.manager},
                   {"operation", operationOf(writer)},
                   {"apiVersion", findString(object, "apiVersion")},
                   {"time", formatTime(writer.now)},
                   {"fieldsType", "FieldsV1"},
                   {"fieldsV1", JsonObject()}};
  if (!writer.subresource.empty()) {
    entry["subresource"] = writer.subresource;
  }
  return entry;
}

void withoutVersionAndTimes(Json& object) {
  JsonObject& metadata = metadataOf(object);
  metadata.erase("resourceVersion");
  for (Json& entry : memberArray(metadata, "managedFields")) {
    if (entry.is_object()) {
      entry.get_object().erase("time");
    }
  }
}

}  // namespace

bool isWriters(const Json& entry, const FieldWriter& writer) {
  return findString(entry, "manager") == writer.manager &&
         findString(entry, "operation") == operationOf(writer) &&
         findString(entry, "subresource") == writer.subresource;
}

FieldSet fieldsOfEntry(const Json& entry) {
  return objectAt(entry, "fieldsV1");
}

bool sameContent(const Json& before, const Json& after) {
  Json left = before;
  Json right = after;
  withoutVersionAndTimes(left);
  withoutVersionAndTimes(right);
  return left == right;
}

void recordFieldWriter(const Kind& kind, const Json& before, Json& after, const FieldWriter& writer) {
  const Ownership ownership = Ownership::of(kind);
  const FieldSet written = changedFields(before, after, ownership);
  const FieldSet removed = changedFields(after, before, ownership);
  const FieldSet& own = writer.applied ? *writer.applied : written;

  bool found = false;
  JsonArray kept;
  for (Json entry : arrayAt(before, "metadata", "managedFields")) {
    FieldSet fields = fieldsOfEntry(entry);
    const bool writers = isWriters(entry, writer);
    found = found || writers;
    takeFields(fields, removed);
    if (!writers) {
      takeFields(fields, written);
    } else if (writer.applied) {
      fields = own;
    } else {
      addFields(fields, own);
    }
    if (writers && (!written.empty() || !removed.empty())) {
      entry.as_object()["time"] = formatTime(writer.now);
    }
    if (!fields.empty()) {
      entry.as_object()["fieldsV1"] = std::move(fields);
      kept.push_back(std::move(entry));
    }
  }
  if (!found && !own.empty()) {
    JsonObject entry = newEntry(after, writer);
    entry["fieldsV1"] = own;
    kept.push_back(std::move(entry));
  }
  metadataOf(after)["managedFields"] = std::move(kept);
}

}  // namespace mainstay::local
