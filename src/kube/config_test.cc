#include "kube/config.h"

#include <gtest/gtest.h>

namespace mainstay::kube {
namespace {

constexpr char kPemText[] = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n";
// The same, in base64.
constexpr char kPemData[] =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmFiYwotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==";
constexpr char kPath[] = "/home/me/.kube/config";

std::string kubeconfig(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\n"
         "kind: Config\n"
         "current-context: demo\n"
         "contexts:\n"
         "- name: demo\n"
         "  context: {cluster: c, user: u, namespace: ml}\n"
         "- name: other\n"
         "  context: {cluster: c2, user: u}\n"
         "clusters:\n"
         "- name: c\n"
         "  cluster: " +
         cluster +
         "\n"
         "- name: c2\n"
         "  cluster: {server: 'http://127.0.0.1:8080/'}\n"
         "users:\n"
         "- name: u\n"
         "  user: " +
         user + "\n";
}

Result<Config> load(const std::string& text, const std::string& context = "") {
  FakeFileSystem files(std::map<std::string, std::string>{{kPath, text},
                                                          {"/home/me/.kube/pki/ca.crt", kPemText},
                                                          {"/home/me/.kube/pki/key", kPemText},
                                                          {"/home/me/.kube/no-pem", "s3cret"}});
  return loadKubeconfig(files, kPath, context);
}

std::string errorOf(const std::string& cluster, const std::string& user) {
  const auto config = load(kubeconfig(cluster, user));
  return config ? "" : config.error().toString();
}

TEST(KubeconfigTest, ReadsTheCurrentContextWithEmbeddedData) {
  const std::string data = kPemData;
  const auto config = load(kubeconfig(
      "{server: 'https://10.0.0.1:6443', certificate-authority-data: " + data + ", tls-server-name: api}",
      "{client-certificate-data: " + data + ", client-key-data: " + data + "}"));
  ASSERT_TRUE(config.has_value()) << config.error().toString();
  EXPECT_EQ(config->server, "https://10.0.0.1:6443");
  EXPECT_EQ(config->ns, "ml");
  EXPECT_EQ(config->caCertificates, kPemText);
  EXPECT_EQ(config->clientCertificate, kPemText);
  EXPECT_EQ(config->clientKey, kPemText);
  EXPECT_EQ(config->serverName, "api");
  EXPECT_TRUE(config->verifyTls);
  EXPECT_EQ(config->origin, "kubeconfig /home/me/.kube/config, context demo");
}

TEST(KubeconfigTest, ReadsANamedContext) {
  const auto config = load(kubeconfig("{server: 'https://10.0.0.1'}", "{token: t0ken}"), "other");
  ASSERT_TRUE(config.has_value()) << config.error().toString();
  EXPECT_EQ(config->server, "http://127.0.0.1:8080");
  EXPECT_EQ(config->ns, "default");
  EXPECT_EQ(config->token, "t0ken");
}

TEST(KubeconfigTest, FindsFilesBesideItself) {
  const auto config = load(kubeconfig("{server: 'https://a', certificate-authority: pki/ca.crt}",
                                      "{client-certificate: pki/ca.crt, client-key: /home/me/.kube/pki/key, "
                                      "tokenFile: token}"));
  ASSERT_TRUE(config.has_value()) << config.error().toString();
  EXPECT_EQ(config->caCertificates, kPemText);
  EXPECT_EQ(config->tokenFile, "/home/me/.kube/token");
}

TEST(KubeconfigTest, SkipsVerificationOnlyWhenTold) {
  const auto config = load(kubeconfig("{server: 'https://a', insecure-skip-tls-verify: true}", "{}"));
  ASSERT_TRUE(config.has_value()) << config.error().toString();
  EXPECT_FALSE(config->verifyTls);
  EXPECT_NE(
      errorOf("{server: 'https://a', insecure-skip-tls-verify: true, certificate-authority: pki/ca.crt}",
              "{}")
          .find("contradicts"),
      std::string::npos);
}

TEST(KubeconfigTest, NamesLineAndRemedyForWhatThisReleaseDoesNotDo) {
  const std::string cluster = "{server: 'https://a'}";
  const std::string provider = errorOf(cluster, "{auth-provider: {name: gcp}}");
  EXPECT_NE(provider.find("/home/me/.kube/config:16"), std::string::npos) << provider;
  EXPECT_NE(provider.find("exec plugin"), std::string::npos) << provider;
  for (const char* user :
       {"{auth-provider: {name: gcp}}", "{username: me, password: s3cret}", "{as: admin}"}) {
    const std::string error = errorOf(cluster, user);
    EXPECT_NE(error.find("this release does not do"), std::string::npos) << user;
    EXPECT_EQ(error.find("s3cret"), std::string::npos) << user;
  }
  EXPECT_NE(errorOf("{server: 'https://a', proxy-url: 'http://p'}", "{}").find("HTTPS_PROXY"),
            std::string::npos);
}

TEST(KubeconfigTest, ReadsACredentialPlugin) {
  const auto config = load(kubeconfig(
      "{server: 'https://a', tls-server-name: api, certificate-authority: pki/ca.crt, "
      "extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]}",
      "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/plugin, args: [get, token], "
      "env: [{name: PROFILE, value: ml}], installHint: ask me, interactiveMode: IfAvailable, "
      "provideClusterInfo: true}}"));
  ASSERT_TRUE(config.has_value()) << config.error().toString();
  ASSERT_TRUE(config->exec);
  EXPECT_EQ(config->exec->apiVersion, "client.authentication.k8s.io/v1");
  EXPECT_EQ(config->exec->command, "/home/me/.kube/./bin/plugin")
      << "a path starts at the kubeconfig's folder";
  EXPECT_EQ(config->exec->arguments, (std::vector<std::string>{"get", "token"}));
  EXPECT_EQ(config->exec->environment, (std::map<std::string, std::string>{{"PROFILE", "ml"}}));
  EXPECT_EQ(config->exec->installHint, "ask me");
  EXPECT_EQ(toText(config->exec->cluster), R"({"server":"https://a","tls-server-name":"api",)"
                                           R"("certificate-authority-data":")" +
                                               std::string(kPemData) + R"(","config":{"audience":"x"}})");
}

TEST(KubeconfigTest, TakesATokenRatherThanAPlugin) {
  const auto config =
      load(kubeconfig("{server: 'https://a'}",
                      "{token: t, exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws}}"));
  ASSERT_TRUE(config.has_value()) << config.error().toString();
  EXPECT_FALSE(config->exec);
}

TEST(KubeconfigTest, RefusesAPluginThatItCannotServe) {
  const std::string cluster = "{server: 'https://a'}";
  const std::pair<const char*, const char*> cases[] = {
      {"{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: aws}}", "v1beta1"},
      {"{exec: {apiVersion: client.authentication.k8s.io/v1beta1}}", "command"},
      {"{exec: {apiVersion: client.authentication.k8s.io/v1, command: aws}}", "interactiveMode"},
      {"{exec: {apiVersion: client.authentication.k8s.io/v1, command: a, interactiveMode: Always}}",
       "terminal"},
      {"{exec: {apiVersion: client.authentication.k8s.io/v1, command: a, interactiveMode: Often}}",
       "IfAvailable"},
  };
  for (const auto& [user, expected] : cases) {
    EXPECT_NE(errorOf(cluster, user).find(expected), std::string::npos) << errorOf(cluster, user);
  }
}

TEST(KubeconfigTest, SaysWhenNobodyIsNamed) {
  const auto nobody = load(kubeconfig("{server: 'https://a'}", "{}"));
  EXPECT_EQ(nobody.value().origin,
            "kubeconfig /home/me/.kube/config, context demo, whose user has no credentials");
}

class SeveralKubeconfigsTest : public testing::Test {
 protected:
  Result<Config> load(const std::string& paths, const std::string& context = "") {
    return loadKubeconfig(files_, paths, context);
  }
  FakeFileSystem files_{std::map<std::string, std::string>{
      {"/a/config",
       "clusters: [{name: c, cluster: {server: 'https://first', certificate-authority: ca.crt}}]\n"
       "users: [{name: red, user: {token: first}}]\n"},
      {"/b/config",
       "current-context: both\n"
       "contexts: [{name: both, context: {cluster: c, user: red}}, {name: own, context: {cluster: d, user: "
       "red}}]\n"
       "clusters: [{name: c, cluster: {server: 'https://second', tls-server-name: x}}, "
       "{name: d, cluster: {server: 'https://d', certificate-authority: ca.crt}}]\n"
       "users: [{name: red, user: {token: second, tokenFile: lost}}]\n"},
      {"/c/config", "current-context: other\n"},
      {"/a/ca.crt", std::string(kPemText) + "a"},
      {"/b/ca.crt", std::string(kPemText) + "b"}}};
};

TEST_F(SeveralKubeconfigsTest, TheFirstFileThatHasANameCounts) {
  const auto config = load("/a/config:/b/config:/c/config");
  ASSERT_TRUE(config.has_value()) << config.error().toString();
  EXPECT_EQ(config->origin, "kubeconfig /b/config, context both");
  EXPECT_EQ(config->server, "https://first");
  EXPECT_EQ(config->serverName, "") << "nothing of the second entry is mixed in";
  EXPECT_EQ(config->token, "first");
  EXPECT_EQ(config->tokenFile, "");
}

TEST_F(SeveralKubeconfigsTest, PathsStartAtTheFolderOfTheirOwnFile) {
  EXPECT_EQ(load("/a/config:/b/config").value().caCertificates, std::string(kPemText) + "a");
  EXPECT_EQ(load("/a/config:/b/config", "own").value().caCertificates, std::string(kPemText) + "b");
}

TEST_F(SeveralKubeconfigsTest, LeavesOutFilesThatDoNotExistUnlessNoneDoes) {
  EXPECT_EQ(load(":/no/config:/b/config").value().server, "https://second");
  const auto none = load("/no/config:/nor/this");
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().toString().find("/no/config:/nor/this"), std::string::npos)
      << none.error().toString();
}

TEST_F(SeveralKubeconfigsTest, ListsTheContextsOfAllFiles) {
  const auto wrong = load("/c/config:/b/config", "prod");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().toString().find("both, own"), std::string::npos) << wrong.error().toString();
  const auto lost = load("/c/config:/b/config");
  ASSERT_FALSE(lost.has_value());
  EXPECT_NE(lost.error().toString().find("/c/config:1"), std::string::npos) << lost.error().toString();
}

TEST(KubeconfigTest, SaysWhichContextsThereAre) {
  const auto wrong = load(kubeconfig("{server: 'https://a'}", "{}"), "prod");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().toString().find("\"prod\""), std::string::npos) << wrong.error().toString();
  EXPECT_NE(wrong.error().toString().find("demo, other"), std::string::npos);
  const auto none = load("kind: Config\ncontexts: []\n");
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().toString().find("no context is current"), std::string::npos)
      << none.error().toString();
}

TEST(KubeconfigTest, SaysWhichReferenceLeadsNowhere) {
  const auto config = load(
      "current-context: x\ncontexts: [{name: x, context: {cluster: lost, user: u}}]\n"
      "users: [{name: u, user: {}}]\n");
  ASSERT_FALSE(config.has_value());
  EXPECT_NE(config.error().toString().find("\"lost\" is not in clusters"), std::string::npos)
      << config.error().toString();
}

TEST(KubeconfigTest, KeepsSecretsOutOfErrors) {
  for (const char* user : {"{client-key-data: '$3cret$', client-certificate-data: '$3cret$'}",
                           "{client-key: no-pem, client-certificate: no-pem}", "{token: [s3cret]}",
                           "{client-key-data: czNjcmV0}", "{token: s3cret, client-key: missing}"}) {
    const std::string error = errorOf("{server: 'https://a'}", user);
    EXPECT_FALSE(error.empty()) << user;
    EXPECT_EQ(error.find("3cret"), std::string::npos) << error;
    EXPECT_NE(error.find(kPath), std::string::npos) << error;
  }
}

TEST(KubeconfigTest, SurvivesAnyShape) {
  for (const char* text : {"", "[]", "3", "{}", "contexts: 7", "current-context: [x]", "a: [b", "\x80\xff",
                           "current-context: x\ncontexts: [{name: x}]",
                           "current-context: x\ncontexts: [null, {name: x, context: null}]",
                           "current-context: x\ncontexts: [{name: x, context: {cluster: [1]}}]"}) {
    EXPECT_FALSE(load(text).has_value()) << text;
  }
}

class ChooseConfigTest : public testing::Test {
 protected:
  FakeFileSystem files_{std::map<std::string, std::string>{
      {kPath, kubeconfig("{server: 'https://from-file'}", "{}")},
      {"/var/run/secrets/kubernetes.io/serviceaccount/ca.crt", kPemText},
      {"/var/run/secrets/kubernetes.io/serviceaccount/token", "t0ken"},
      {"/var/run/secrets/kubernetes.io/serviceaccount/namespace", "mainstay-system\n"}}};
};

TEST_F(ChooseConfigTest, AnExplicitFileThatFailsNeverFallsBack) {
  const auto config = chooseConfig(files_, {.kubeconfig = "/no/such/file",
                                            .serviceHost = "10.96.0.1",
                                            .servicePort = "443",
                                            .homeKubeconfig = kPath});
  ASSERT_FALSE(config.has_value());
  EXPECT_NE(config.error().toString().find("/no/such/file"), std::string::npos);
}

TEST_F(ChooseConfigTest, UsesTheServiceAccountInsideACluster) {
  const auto config =
      chooseConfig(files_, {.serviceHost = "fd00::1", .servicePort = "443", .homeKubeconfig = kPath});
  ASSERT_TRUE(config.has_value()) << config.error().toString();
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->ns, "mainstay-system");
  EXPECT_EQ(config->tokenFile, "/var/run/secrets/kubernetes.io/serviceaccount/token");
  EXPECT_EQ(config->caCertificates, kPemText);
  EXPECT_TRUE(config->token.empty());
}

TEST_F(ChooseConfigTest, UsesTheHomeFileLastAndSaysWhatToGiveWithout) {
  ConfigChoice choice;
  choice.homeKubeconfig = kPath;
  EXPECT_EQ(chooseConfig(files_, choice).value().server, "https://from-file");
  choice.homeKubeconfig = "/home/nobody/.kube/config";
  EXPECT_NE(chooseConfig(files_, choice).error().toString().find("--kubeconfig"), std::string::npos);
}

TEST_F(ChooseConfigTest, MergesAListOfFiles) {
  ConfigChoice choice;
  choice.kubeconfig = "/no/such/file:" + std::string(kPath);
  EXPECT_EQ(chooseConfig(files_, choice).value().server, "https://from-file");
}

}  // namespace
}  // namespace mainstay::kube
