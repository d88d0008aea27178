#include <deque>
#include <sstream>

#include "base/base64.h"
#include "base/yaml.h"
#include "kube/config.h"

namespace mainstay::kube {
namespace {

constexpr std::size_t kMaxKubeconfig = 1 << 20;
constexpr std::size_t kMaxPemFile = 1 << 20;
constexpr std::size_t kMaxKubeconfigs = 64;

// One file as it was read, with what is wrong in it.
struct Kubeconfig {
  std::string path;
  YamlDocument document;
  DecodeErrors errors;

  Cursor root() { return {document.value, errors}; }
  // Relative paths start at this file's folder.
  std::string beside(const std::string& file) const {
    const std::size_t slash = path.rfind('/');
    return file.starts_with('/') || slash == std::string::npos ? file : path.substr(0, slash + 1) + file;
  }
};

// An entry of a list, and the file it stands in.
struct Entry {
  Cursor value;
  const Kubeconfig* file;
};

Result<std::deque<Kubeconfig>> readKubeconfigs(const FileSystem& files, const std::string& paths) {
  std::vector<std::string> named;
  std::istringstream list(paths);
  for (std::string path; std::getline(list, path, ':') && named.size() < kMaxKubeconfigs;) {
    if (!path.empty()) {
      named.push_back(path);
    }
  }
  std::deque<Kubeconfig> all;
  for (const std::string& path : named) {
    Result<std::string> text = files.read(path, kMaxKubeconfig);
    if (!text && text.error().code() == Code::kNotFound && named.size() > 1) {
      continue;
    }
    if (!text) {
      return fail(std::move(text).error().with("reading the kubeconfig"));
    }
    MAINSTAY_ASSIGN(std::vector<YamlDocument> documents, parseYaml(*text, path));
    if (documents.size() != 1 || !documents[0].value.is_object()) {
      return fail(Code::kInvalidArgument, path + ": expected a kubeconfig (one YAML object), found " +
                                              (documents.empty() ? "nothing" : "something else"));
    }
    DecodeErrors errors = documents[0].errors();
    all.push_back({path, std::move(documents[0]), std::move(errors)});
  }
  if (all.empty()) {
    return fail(Code::kNotFound, "none of the kubeconfigs exists: " + paths);
  }
  return all;
}

// Reads the files as one; the first things that are wrong are added to the errors of the file they are in.
class KubeconfigReader {
 public:
  KubeconfigReader(const FileSystem& files, std::deque<Kubeconfig>& kubeconfigs)
      : files_(files), kubeconfigs_(kubeconfigs) {}

  Config read(const std::string& wanted) {
    Config config;
    const Cursor current = currentContext();
    const std::string name = wanted.empty() ? current.string("") : wanted;
    const std::optional<Entry> context = findNamed("contexts", "context", name);
    if (!context) {
      (wanted.empty() ? current : kubeconfigs_.front().root().at("contexts"))
          .error((name.empty() ? "no context is current" : "there is no context \"" + name + "\"") +
                 "; name one of these with --context: " + namesIn("contexts"));
      return config;
    }
    config.origin = "kubeconfig " + context->file->path + ", context " + name;
    config.ns = context->value.at("namespace").string("default");
    const auto cluster = referred(*context, "clusters", "cluster");
    if (cluster) {
      readCluster(*cluster, config);
    }
    if (!context->value.at("user").string("").empty()) {
      if (const auto user = referred(*context, "users", "user")) {
        readUser(*user, config);
        readPlugin(*user, cluster, config);
      }
    }
    sayWhenAnonymous(config);
    return config;
  }

 private:
  // Of the first file that sets one.
  Cursor currentContext() {
    for (Kubeconfig& file : kubeconfigs_) {
      if (const Cursor current = file.root().at("current-context"); !current.string("").empty()) {
        return current;
      }
    }
    return kubeconfigs_.front().root().at("current-context");
  }

  // The entry `name` of a list ("clusters", "users", "contexts"), which holds {name, KIND: {...}}.
  std::optional<Entry> findNamed(std::string_view list, std::string_view kind, const std::string& name) {
    for (Kubeconfig& file : kubeconfigs_) {
      for (const Cursor& entry : file.root().at(list).elements()) {
        if (entry.at("name").string("") == name) {
          return Entry{entry.at(kind), &file};
        }
      }
    }
    return std::nullopt;
  }

  std::string namesIn(std::string_view list) {
    std::string names;
    for (Kubeconfig& file : kubeconfigs_) {
      for (const Cursor& entry : file.root().at(list).elements()) {
        names += (names.empty() ? "" : ", ") + entry.at("name").string("");
      }
    }
    return names.empty() ? "none" : names;
  }

  std::optional<Entry> referred(const Entry& context, std::string_view list, std::string_view kind) {
    const std::string name = context.value.at(kind).string();
    std::optional<Entry> found = findNamed(list, kind, name);
    if (!found) {
      context.value.at(kind).error("\"" + name + "\" is not in " + std::string(list) +
                                   " (there: " + namesIn(list) + ")");
    }
    return found;
  }

  void readCluster(const Entry& entry, Config& config) const {
    const Cursor& cluster = entry.value;
    config.server = cluster.at("server").string();
    if (!config.server.starts_with("https://") && !config.server.starts_with("http://")) {
      cluster.at("server").error("expected a URL such as https://10.0.0.1:6443");
    }
    while (config.server.ends_with('/')) {
      config.server.pop_back();
    }
    refuse(cluster, "proxy-url", "set HTTPS_PROXY for this program instead");
    config.serverName = cluster.at("tls-server-name").string("");
    config.verifyTls = !cluster.at("insecure-skip-tls-verify").boolean(false);
    config.caCertificates = pem(entry, "certificate-authority");
    if (!config.verifyTls && !config.caCertificates.empty()) {
      cluster.at("insecure-skip-tls-verify")
          .error("contradicts certificate-authority: remove one of the two");
    }
  }

  void readUser(const Entry& entry, Config& config) const {
    const Cursor& user = entry.value;
    for (const char* other : {"auth-provider", "username", "password"}) {
      refuse(user, other, "use a client certificate, a token, a tokenFile or an exec plugin");
    }
    for (const char* other : {"as", "as-uid", "as-groups", "as-user-extra"}) {
      refuse(user, other, "give Mainstay a user of its own with the rights it needs");
    }
    config.token = user.at("token").string("");
    const std::string tokenFile = user.at("tokenFile").string("");
    config.tokenFile = tokenFile.empty() ? "" : entry.file->beside(tokenFile);
    config.clientCertificate = pem(entry, "client-certificate");
    config.clientKey = pem(entry, "client-key");
    if (config.clientCertificate.empty() != config.clientKey.empty()) {
      user.error("client-certificate and client-key belong together; one of them is missing");
    }
  }

  static void readPlugin(const Entry& user, const std::optional<Entry>& cluster, Config& config) {
    const Cursor exec = user.value.at("exec");
    if (!exec.exists()) {
      return;
    }
    ExecPlugin plugin;
    plugin.apiVersion = exec.at("apiVersion").string();
    checkPluginVersion(exec, plugin.apiVersion);
    plugin.command = exec.at("command").string();
    if (plugin.command.find('/') != std::string::npos) {
      plugin.command = user.file->beside(plugin.command);
    }
    for (const Cursor& argument : exec.at("args").elements()) {
      plugin.arguments.push_back(argument.string());
    }
    for (const Cursor& variable : exec.at("env").elements()) {
      plugin.environment[variable.at("name").string()] = variable.at("value").string("");
    }
    plugin.installHint = exec.at("installHint").string("");
    if (exec.at("provideClusterInfo").boolean(false) && cluster) {
      plugin.cluster = clusterInfo(cluster->value, config);
    }
    // As in client-go, a token that the user has anyway is used instead.
    if (config.token.empty() && config.tokenFile.empty()) {
      config.exec = std::move(plugin);
    }
  }

  static void checkPluginVersion(const Cursor& exec, const std::string& version) {
    const bool v1 = version == "client.authentication.k8s.io/v1";
    if (!v1 && version != "client.authentication.k8s.io/v1beta1") {
      exec.at("apiVersion")
          .error(
              "expected client.authentication.k8s.io/v1 or v1beta1: update the program that wrote this, or "
              "the plugin");
    }
    const std::string mode =
        v1 ? exec.at("interactiveMode").string() : exec.at("interactiveMode").string("IfAvailable");
    if (mode == "Always") {
      exec.at("interactiveMode")
          .error("this plugin wants a person at a terminal, and Mainstay gives it none");
    } else if (mode != "Never" && mode != "IfAvailable") {
      exec.at("interactiveMode").error("expected Never, IfAvailable or Always");
    }
  }

  // spec.cluster of an ExecCredential.
  static Json clusterInfo(const Cursor& cluster, const Config& config) {
    JsonObject info;
    info["server"] = config.server;
    if (!config.serverName.empty()) {
      info["tls-server-name"] = config.serverName;
    }
    if (!config.verifyTls) {
      info["insecure-skip-tls-verify"] = true;
    }
    if (!config.caCertificates.empty()) {
      info["certificate-authority-data"] = encodeBase64(config.caCertificates);
    }
    for (const Cursor& extension : cluster.at("extensions").elements()) {
      if (extension.at("name").string("") == "client.authentication.k8s.io/exec" &&
          extension.at("extension").exists()) {
        info["config"] = extension.at("extension").value();
      }
    }
    return info;
  }

  // Anonymous requests are allowed, and rarely meant.
  static void sayWhenAnonymous(Config& config) {
    if (config.server.starts_with("https://") && config.token.empty() && config.tokenFile.empty() &&
        config.clientCertificate.empty() && !config.exec) {
      config.origin += ", whose user has no credentials";
    }
  }

  static void refuse(const Cursor& object, const char* key, const char* advice) {
    if (object.at(key).exists()) {
      object.at(key).error(std::string("this release does not do \"") + key + "\"; " + advice);
    }
  }

  // KEY-data (base64) wins over KEY (a file), as in client-go. What comes out is a secret for all we know.
  std::string pem(const Entry& entry, const std::string& key) const {
    const Cursor data = entry.value.at(key + "-data");
    if (const std::string text = data.string(""); !text.empty()) {
      return checkPem(data, decodeBase64(text).value_or(""), "what it encodes in base64");
    }
    const std::string file = entry.value.at(key).string("");
    if (file.empty()) {
      return "";
    }
    Result<std::string> text = files_.read(entry.file->beside(file), kMaxPemFile);
    if (!text) {
      entry.value.at(key).error(text.error().toString());
      return "";
    }
    return checkPem(entry.value.at(key), *text, "the file " + entry.file->beside(file));
  }

  static std::string checkPem(const Cursor& at, std::string text, const std::string& what) {
    if (text.find("-----BEGIN ") == std::string::npos) {
      at.error("expected PEM (-----BEGIN ...), and " + what + " is not");
      return "";
    }
    return text;
  }

  const FileSystem& files_;
  std::deque<Kubeconfig>& kubeconfigs_;
};

}  // namespace

Result<Config> loadKubeconfig(const FileSystem& files, const std::string& paths, const std::string& context) {
  MAINSTAY_ASSIGN(std::deque<Kubeconfig> kubeconfigs, readKubeconfigs(files, paths));
  Config config = KubeconfigReader(files, kubeconfigs).read(context);
  for (const Kubeconfig& kubeconfig : kubeconfigs) {
    MAINSTAY_TRY(kubeconfig.errors.result());
  }
  return config;
}

}  // namespace mainstay::kube
