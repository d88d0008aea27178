// XML as AWS answers it: elements and text. No attributes, entities of a document's own, or name spaces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mainstay::cloud::aws {

struct Element {
  std::string name;
  std::string text = {};  // "" for one with children
  std::vector<Element> children = {};

  // The first child of that name; an empty element when there is none.
  const Element& at(std::string_view child) const;
  // The children of `list` (AWS calls them "member" or "item").
  const std::vector<Element>& list(std::string_view list) const { return at(list).children; }
  const std::string& textOf(std::string_view child) const { return at(child).text; }
};

// The root element; kInvalidArgument with the place for what is not XML, or deeper than 32 elements.
Result<Element> parseXml(std::string_view text);

}  // namespace mainstay::cloud::aws
