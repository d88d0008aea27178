#include "api/managed_fields.h"

#include <gtest/gtest.h>

namespace mainstay::api {
namespace {

using Managers = std::map<std::string, std::set<std::string>>;

TEST(ConditionManagersTest, NamesEveryWriterOfACondition) {
  const Json node = parseJson(R"({"metadata": {"managedFields": [
      {"manager": "kubelet", "fieldsV1": {"f:status": {"f:conditions": {".": {}, "k:{\"type\":\"Ready\"}": {}}}}},
      {"manager": "one", "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"NeuronHealth\"}": {}}}}},
      {"manager": "two", "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"NeuronHealth\"}": {}}}}}]}})")
                        .value();
  EXPECT_EQ(conditionManagers(node), (Managers{{"NeuronHealth", {"one", "two"}}, {"Ready", {"kubelet"}}}));
}

TEST(ConditionManagersTest, PassesOverWhatNoServerWrites) {
  for (const char* text :
       {"{}", R"({"metadata": {"managedFields": 7}})", R"({"metadata": {"managedFields": [null, 1]}})",
        R"({"metadata": {"managedFields": [{"fieldsV1": {"f:status": {"f:conditions": []}}}]}})",
        R"({"metadata": {"managedFields": [{"fieldsV1": {"f:status": {"f:conditions": {"k:{": {}}}}}]}})"}) {
    EXPECT_EQ(conditionManagers(parseJson(text).value()), Managers()) << text;
  }
}

}  // namespace
}  // namespace mainstay::api
