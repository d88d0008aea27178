#include "local/api/json_path.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace mainstay::local {
namespace {

using Values = std::vector<const Json*>;

Values membersNamed(const Values& parents, std::string_view name) {
  Values found;
  for (const Json* parent : parents) {
    if (const Json* member = findMember(*parent, name)) {
      found.push_back(member);
    }
  }
  return found;
}

Values elementsWhere(const Values& parents,
                     const std::function<bool(const JsonArray&, std::size_t)>& wanted) {
  Values found;
  for (const Json* parent : parents) {
    if (parent->is_array()) {
      const JsonArray& elements = parent->get_array();
      for (std::size_t i = 0; i < elements.size(); ++i) {
        if (wanted(elements, i)) {
          found.push_back(&elements[i]);
        }
      }
    }
  }
  return found;
}

// Up to the next unescaped '.' or '['; "\." is a dot within the name.
std::string takeName(std::string_view& path) {
  std::string name;
  while (!path.empty() && path[0] != '.' && path[0] != '[') {
    if (path[0] == '\\' && path.size() > 1) {
      path.remove_prefix(1);
    }
    name += path[0];
    path.remove_prefix(1);
  }
  return name;
}

std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && (text[0] == '\'' || text[0] == '"') && text.back() == text[0];
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// "?(@.type=="Ready")": elements in which the field has that text.
std::optional<Values> filtered(const Values& values, std::string_view inside) {
  const std::size_t sign = inside.find("==");
  if (!inside.starts_with("?(@.") || inside.back() != ')' || sign == std::string_view::npos) {
    return std::nullopt;
  }
  const auto trim = [](std::string_view text) {
    while (!text.empty() && text.front() == ' ') {
      text.remove_prefix(1);
    }
    while (!text.empty() && text.back() == ' ') {
      text.remove_suffix(1);
    }
    return text;
  };
  const std::string_view field = trim(inside.substr(4, sign - 4));
  const std::string_view wanted = unquoted(trim(inside.substr(sign + 2, inside.size() - sign - 3)));
  return elementsWhere(values, [&](const JsonArray& elements, std::size_t i) {
    return findString(elements[i], field) == wanted;
  });
}

std::optional<Values> bracketed(const Values& values, std::string_view inside) {
  if (inside.empty()) {
    return std::nullopt;
  }
  if (inside == "*") {
    return elementsWhere(values, [](const JsonArray&, std::size_t) { return true; });
  }
  if (inside[0] == '?') {
    return filtered(values, inside);
  }
  if (inside[0] == '\'' || inside[0] == '"') {
    return membersNamed(values, unquoted(inside));
  }
  // "2", "-1" from the end, or "-1:" for all from there on: the newest condition, as Kubeflow's columns say
  // it.
  const bool slice = inside.back() == ':';
  inside.remove_suffix(slice ? 1 : 0);
  std::int64_t index = 0;
  const auto [end, error] = std::from_chars(inside.data(), inside.data() + inside.size(), index);
  if (error != std::errc() || end != inside.data() + inside.size()) {
    return std::nullopt;
  }
  return elementsWhere(values, [=](const JsonArray& elements, std::size_t i) {
    const std::int64_t from = index < 0 ? std::ssize(elements) + index : index;
    const auto at = static_cast<std::int64_t>(i);
    return slice ? at >= from : at == from;
  });
}

}  // namespace

std::vector<const Json*> findByPath(const Json& root, std::string_view path) {
  Values values{&root};
  while (!path.empty() && !values.empty()) {
    if (path[0] == '[') {
      const std::size_t close = path.find(path.starts_with("[?(") ? ")]" : "]");
      const std::size_t end = close == std::string_view::npos ? close : path.find(']', close);
      auto next = end == std::string_view::npos ? std::nullopt : bracketed(values, path.substr(1, end - 1));
      if (!next) {
        return {};
      }
      values = *std::move(next);
      path.remove_prefix(end + 1);
      continue;
    }
    if (path[0] == '.') {
      path.remove_prefix(1);
    }
    if (const std::string name = takeName(path); !name.empty()) {
      values = membersNamed(values, name);
    }
  }
  return values;
}

}  // namespace mainstay::local
