// What of an object is owned, merged and replaced as one piece: a member of a map, an element of a list, or
// the whole map or list. Built-in kinds say it in tables, custom kinds in their schemas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "local/api/discovery.h"

namespace mainstay::local {

struct Part;

class Ownership {
 public:
  // Of whole objects of the kind, which outlives this.
  static Ownership of(const Kind& kind);

  // Is `value` owned as one piece, a scalar for example?
  bool isWhole(const Json& value) const;
  // The parts that are owned one by one, which point into `value`; none when it is whole. What only the server
  // writes and members that are null are not among them.
  std::vector<Part> partsOf(const Json& value) const;

 private:
  enum class Place { kRoot, kMetadata, kInside };
  Ownership(Place place, bool builtIn, const Json* schema, std::string field)
      : place_(place), builtIn_(builtIn), schema_(schema), field_(std::move(field)) {}

  Ownership member(const std::string& name) const;
  Ownership element() const;
  bool isDeclared(const std::string& name) const;
  bool isServersOwn(std::string_view name) const;
  bool isAtomicMap() const;
  bool isSet() const;
  std::vector<std::string> keysFor(const JsonArray& list) const;  // none: the list is no map
  std::vector<Part> membersOf(const JsonObject& object) const;
  std::vector<Part> elementsOf(const JsonArray& array) const;

  Place place_;
  bool builtIn_;
  const Json* schema_;  // of a custom kind; null where it says nothing
  std::string field_;   // its name in the built-in tables; an element has that of its list and "[]"
};

struct Part {
  std::string step;  // in fieldsV1's form: f:name, k:{"type":"Ready"}, v:"text"
  const Json* value;
  Ownership ownership;
  std::size_t index = 0;  // of an element
  bool entry = false;     // of a list or a free map: it is owned itself, beside what is in it
  bool given = false;     // every object of the kind has it: nobody adds it
};

}  // namespace mainstay::local
