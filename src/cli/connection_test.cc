#include "cli/connection.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace mainstay::cli {
namespace {

// Surroundings that hold only these variables.
Surroundings surroundingsWith(std::map<std::string, std::string> variables) {
  Surroundings surroundings;
  surroundings.environment = [variables = std::move(variables)](const std::string& name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::string() : at->second;
  };
  return surroundings;
}

std::string whatFails(const Surroundings& surroundings) {
  Connection connection(surroundings);
  const auto api = connection.open();
  return api ? "" : api.error().toString();
}

TEST(ConnectionTest, TakesThePodsAccountWhenNoKubeconfigIsAtHand) {
  const std::string trouble = whatFails(
      surroundingsWith({{"KUBERNETES_SERVICE_HOST", "127.0.0.1"}, {"KUBERNETES_SERVICE_PORT", "1"}}));
  EXPECT_NE(trouble.find("/var/run/secrets/kubernetes.io/serviceaccount"), std::string::npos) << trouble;
}

TEST(ConnectionTest, APersonsOwnFileGoesBeforeThePodsAccount) {
  const TemporaryFolder home("mainstay-connection");
  std::filesystem::create_directory(home.path() + "/.kube");
  std::ofstream(home.path() + "/.kube/config")
      << "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
         "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: u, user: {}}]\n";
  const Surroundings surroundings = surroundingsWith(
      {{"HOME", home.path()}, {"KUBERNETES_SERVICE_HOST", "127.0.0.2"}, {"KUBERNETES_SERVICE_PORT", "1"}});
  Connection connection(surroundings);
  const auto api = connection.open();
  ASSERT_TRUE(api) << api.error().toString();
  EXPECT_EQ((*api)->config().server, "http://127.0.0.1:1");
}

TEST(ConnectionTest, SaysWhatToGiveWhenThereIsNeither) {
  EXPECT_NE(whatFails(surroundingsWith({})).find("--kubeconfig"), std::string::npos);
}

}  // namespace
}  // namespace mainstay::cli
