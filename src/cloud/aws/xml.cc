#include "cloud/aws/xml.h"

#include <algorithm>

#include <pugixml.hpp>

namespace mainstay::cloud::aws {
namespace {

// AWS's deepest answer, an EC2 instance with its network interfaces, has 12.
constexpr int kMaxDepth = 32;

Result<Element> readElement(const pugi::xml_node& node, int depth) {
  if (depth > kMaxDepth) {
    return fail(Code::kInvalidArgument, "XML deeper than " + std::to_string(kMaxDepth) + " elements");
  }
  Element element{.name = node.name()};
  for (const pugi::xml_node& child : node.children()) {
    if (child.type() == pugi::node_element) {
      MAINSTAY_ASSIGN(Element read, readElement(child, depth + 1));
      element.children.push_back(std::move(read));
    }
  }
  if (element.children.empty()) {
    element.text = node.text().get();
  }
  return element;
}

}  // namespace

const Element& Element::at(std::string_view child) const {
  static const Element kAbsent{.name = ""};
  const auto found = std::ranges::find(children, child, &Element::name);
  return found == children.end() ? kAbsent : *found;
}

Result<Element> parseXml(std::string_view text) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  if (!parsed || !document.document_element()) {
    return fail(Code::kInvalidArgument,
                "not XML: " + std::string(parsed ? "no element" : parsed.description()) + " at byte " +
                    std::to_string(parsed.offset));
  }
  return readElement(document.document_element(), 1);
}

}  // namespace mainstay::cloud::aws
