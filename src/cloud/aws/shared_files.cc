#include "cloud/aws/shared_files.h"

#include <algorithm>
#include <cctype>

namespace mainstay::cloud::aws {
namespace {

constexpr std::size_t kMaxSharedFile = 1u << 20;  // people with hundreds of profiles have 100 KB
constexpr char kDefaultProfile[] = "default";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string lowered(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// A "#" or ";" begins a comment at the start of a line or after a blank.
std::string_view withoutComment(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool mark = line[i] == '#' || line[i] == ';';
    if (mark && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
      return line.substr(0, i);
    }
  }
  return line;
}

// "[profile name]" or "[name]"; "" for a section that is no profile ("[sso-session x]").
std::string sectionName(std::string_view line, SharedFile kind) {
  const std::string_view inside = trimmed(line.substr(1, line.find(']') - 1));
  constexpr std::string_view kPrefix = "profile";
  const bool prefixed = inside.starts_with(kPrefix) && inside.size() > kPrefix.size() &&
                        std::isspace(inside[kPrefix.size()]) != 0;
  if (kind == SharedFile::kConfig && !prefixed) {
    return inside == kDefaultProfile ? kDefaultProfile : "";
  }
  return std::string(kind == SharedFile::kConfig ? trimmed(inside.substr(kPrefix.size())) : inside);
}

std::string pathOf(const Surroundings& surroundings, SharedFile kind) {
  const bool config = kind == SharedFile::kConfig;
  std::string path = surroundings.environment(config ? "AWS_CONFIG_FILE" : "AWS_SHARED_CREDENTIALS_FILE");
  const std::string home = surroundings.environment("HOME");
  if (path.empty() && !home.empty()) {
    path = home + (config ? "/.aws/config" : "/.aws/credentials");
  }
  return path;
}

// No profiles when there is no file.
Result<Profiles> loadFile(const Surroundings& surroundings, SharedFile kind) {
  const std::string path = pathOf(surroundings, kind);
  if (path.empty() || !surroundings.files->exists(path)) {
    return Profiles();
  }
  MAINSTAY_ASSIGN(const std::string text, surroundings.files->read(path, kMaxSharedFile));
  return parseSharedFile(text, kind);
}

}  // namespace

Profiles parseSharedFile(std::string_view text, SharedFile kind) {
  Profiles profiles;
  Profile* current = nullptr;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view content = trimmed(withoutComment(line));
    if (content.starts_with('[')) {
      const std::string name = sectionName(content, kind);
      current = name.empty() ? nullptr : &profiles[name];
      continue;
    }
    const std::size_t equals = content.find('=');
    const bool nested = line.starts_with(' ') || line.starts_with('\t');  // "s3 =" and its settings
    if (current && !nested && equals != content.npos) {
      (*current)[lowered(trimmed(content.substr(0, equals)))] = trimmed(content.substr(equals + 1));
    }
  }
  return profiles;
}

std::string profileName(const Surroundings& surroundings) {
  const std::string name = surroundings.environment("AWS_PROFILE");
  return name.empty() ? kDefaultProfile : name;
}

Result<std::optional<Profile>> loadProfile(const Surroundings& surroundings) {
  MAINSTAY_ASSIGN(Profiles credentials, loadFile(surroundings, SharedFile::kCredentials));
  MAINSTAY_ASSIGN(Profiles config, loadFile(surroundings, SharedFile::kConfig));
  const std::string name = profileName(surroundings);
  if (!credentials.contains(name) && !config.contains(name)) {
    if (surroundings.environment("AWS_PROFILE").empty()) {
      return std::optional<Profile>();
    }
    return fail(Code::kUnauthenticated, "AWS_PROFILE names profile " + name + ", which is neither in " +
                                            pathOf(surroundings, SharedFile::kCredentials) + " nor in " +
                                            pathOf(surroundings, SharedFile::kConfig));
  }
  Profile merged = std::move(credentials[name]);
  merged.merge(config[name]);
  return std::optional(std::move(merged));
}

std::string valueOf(const Profile& profile, const std::string& key) {
  const auto at = profile.find(key);
  return at == profile.end() ? "" : at->second;
}

}  // namespace mainstay::cloud::aws
