#include "kube/config.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/yaml.h"

namespace mainstay::kube {
namespace {

constexpr char kServiceAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount/";
constexpr std::size_t kMaxCredentialFile = 1 << 20;

std::optional<std::string> decodeBase64(std::string_view text) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  std::size_t padding = 0;
  for (const char letter : text) {
    if (letter == '\n' || letter == '\r' || letter == ' ') {
      continue;
    }
    if (letter == '=') {
      ++padding;
      continue;
    }
    const std::size_t value = kAlphabet.find(letter);
    if (value == std::string_view::npos || padding > 0) {
      return std::nullopt;
    }
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>((bits >> count) & 0xFF));
    }
  }
  return padding <= 2 && count < 6 ? std::optional(bytes) : std::nullopt;
}

// The entry `name` of a kubeconfig's list ("clusters", "users", "contexts"), which holds {name, KIND: {...}}.
std::optional<Cursor> findNamed(const Cursor& root, std::string_view list, std::string_view kind,
                                const std::string& name) {
  for (const Cursor& entry : root.at(list).elements()) {
    if (entry.at("name").string("") == name) {
      return entry.at(kind);
    }
  }
  return std::nullopt;
}

std::string namesIn(const Cursor& root, std::string_view list) {
  std::string names;
  for (const Cursor& entry : root.at(list).elements()) {
    names += (names.empty() ? "" : ", ") + entry.at("name").string("");
  }
  return names.empty() ? "none" : names;
}

// Reads one kubeconfig; the first thing that is wrong in it is added to the Cursor's errors.
class KubeconfigReader {
 public:
  KubeconfigReader(const FileSystem& files, const std::string& path) : files_(files), path_(path) {}

  Config read(const Cursor& root, const std::string& wanted) const {
    Config config;
    const std::string name = wanted.empty() ? root.at("current-context").string("") : wanted;
    const std::optional<Cursor> context = findNamed(root, "contexts", "context", name);
    if (!context) {
      (wanted.empty() ? root.at("current-context") : root.at("contexts"))
          .error((name.empty() ? "no context is current" : "there is no context \"" + name + "\"") +
                 "; name one of these with --context: " + namesIn(root, "contexts"));
      return config;
    }
    config.origin = "kubeconfig " + path_ + ", context " + name;
    config.ns = context->at("namespace").string("default");
    if (const auto cluster = referred(root, *context, "clusters", "cluster")) {
      readCluster(*cluster, config);
    }
    if (!context->at("user").string("").empty()) {
      if (const auto user = referred(root, *context, "users", "user")) {
        readUser(*user, config);
      }
    }
    return config;
  }

 private:
  static std::optional<Cursor> referred(const Cursor& root, const Cursor& context, std::string_view list,
                                        std::string_view kind) {
    const std::string name = context.at(kind).string();
    std::optional<Cursor> found = findNamed(root, list, kind, name);
    if (!found) {
      context.at(kind).error("\"" + name + "\" is not in " + std::string(list) +
                             " (there: " + namesIn(root, list) + ")");
    }
    return found;
  }

  void readCluster(const Cursor& cluster, Config& config) const {
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
    config.caCertificates = pem(cluster, "certificate-authority");
    if (!config.verifyTls && !config.caCertificates.empty()) {
      cluster.at("insecure-skip-tls-verify")
          .error("contradicts certificate-authority: remove one of the two");
    }
  }

  void readUser(const Cursor& user, Config& config) const {
    const char* const advice = "use a client certificate, a token, or a tokenFile that something else renews";
    for (const char* plugin : {"exec", "auth-provider", "username", "password"}) {
      refuse(user, plugin, advice);
    }
    for (const char* other : {"as", "as-uid", "as-groups", "as-user-extra"}) {
      refuse(user, other, "give Mainstay a user of its own with the rights it needs");
    }
    config.token = user.at("token").string("");
    const std::string tokenFile = user.at("tokenFile").string("");
    config.tokenFile = tokenFile.empty() ? "" : beside(tokenFile);
    config.clientCertificate = pem(user, "client-certificate");
    config.clientKey = pem(user, "client-key");
    if (config.clientCertificate.empty() != config.clientKey.empty()) {
      user.error("client-certificate and client-key belong together; one of them is missing");
    }
  }

  static void refuse(const Cursor& object, const char* key, const char* advice) {
    if (object.at(key).exists()) {
      object.at(key).error(std::string("this release does not do \"") + key + "\"; " + advice);
    }
  }

  // KEY-data (base64) wins over KEY (a file), as in client-go. What comes out is a secret for all we know.
  std::string pem(const Cursor& object, const std::string& key) const {
    const Cursor data = object.at(key + "-data");
    if (const std::string text = data.string(""); !text.empty()) {
      return checkPem(data, decodeBase64(text).value_or(""), "what it encodes in base64");
    }
    const std::string file = object.at(key).string("");
    if (file.empty()) {
      return "";
    }
    Result<std::string> text = files_.read(beside(file), kMaxCredentialFile);
    if (!text) {
      object.at(key).error(text.error().toString());
      return "";
    }
    return checkPem(object.at(key), *text, "the file " + beside(file));
  }

  static std::string checkPem(const Cursor& at, std::string text, const std::string& what) {
    if (text.find("-----BEGIN ") == std::string::npos) {
      at.error("expected PEM (-----BEGIN ...), and " + what + " is not");
      return "";
    }
    return text;
  }

  // Relative paths start at the kubeconfig's folder.
  std::string beside(const std::string& file) const {
    const std::size_t slash = path_.rfind('/');
    return file.starts_with('/') || slash == std::string::npos ? file : path_.substr(0, slash + 1) + file;
  }

  const FileSystem& files_;
  const std::string& path_;
};

}  // namespace

Result<Config> loadKubeconfig(const FileSystem& files, const std::string& path, const std::string& context) {
  Result<std::string> text = files.read(path, kMaxCredentialFile);
  if (!text) {
    return fail(std::move(text).error().with("reading the kubeconfig"));
  }
  MAINSTAY_ASSIGN(const std::vector<YamlDocument> documents, parseYaml(*text, path));
  if (documents.size() != 1 || !documents[0].value.is_object()) {
    return fail(Code::kInvalidArgument, path + ": expected a kubeconfig (one YAML object), found " +
                                            (documents.empty() ? "nothing" : "something else"));
  }
  DecodeErrors errors = documents[0].errors();
  Config config = KubeconfigReader(files, path).read(Cursor(documents[0].value, errors), context);
  MAINSTAY_TRY(errors.result());
  return config;
}

Result<Config> inClusterConfig(const FileSystem& files, const std::string& host, const std::string& port) {
  if (host.empty() || port.empty()) {
    return fail(Code::kFailedPrecondition,
                "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set; "
                "give --kubeconfig");
  }
  const std::string folder = kServiceAccount;
  Result<std::string> ca = files.read(folder + "ca.crt", kMaxCredentialFile);
  if (!ca) {
    return fail(std::move(ca).error().with(
        "reading the service account's CA (is automountServiceAccountToken off for this pod?)"));
  }
  Config config;
  const bool v6 = host.find(':') != std::string::npos;
  config.server = "https://" + (v6 ? "[" + host + "]" : host) + ":" + port;
  config.caCertificates = *std::move(ca);
  config.tokenFile = folder + "token";
  config.origin = "the service account in " + folder;
  if (Result<std::string> ns = files.read(folder + "namespace", kMaxCredentialFile); ns && !ns->empty()) {
    config.ns = ns->substr(0, ns->find_last_not_of(" \r\n") + 1);
  }
  return config;
}

Result<Config> chooseConfig(const FileSystem& files, const ConfigChoice& choice) {
  if (choice.kubeconfig.find(':') != std::string::npos) {
    return fail(Code::kInvalidArgument, "kubeconfig " + choice.kubeconfig +
                                            ": one file is read, not a list; merge them first: " +
                                            "kubectl config view --flatten > FILE");
  }
  if (!choice.kubeconfig.empty()) {
    return loadKubeconfig(files, choice.kubeconfig, choice.context);
  }
  if (!choice.serviceHost.empty() && choice.context.empty()) {
    return inClusterConfig(files, choice.serviceHost, choice.servicePort);
  }
  if (!choice.homeKubeconfig.empty() && files.exists(choice.homeKubeconfig)) {
    return loadKubeconfig(files, choice.homeKubeconfig, choice.context);
  }
  return fail(Code::kFailedPrecondition,
              "no API server is configured: give --kubeconfig FILE, set KUBECONFIG, or run inside a cluster");
}

}  // namespace mainstay::kube
