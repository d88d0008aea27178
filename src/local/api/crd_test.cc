#include "local/api/crd.h"

#include "base/file_system.h"
#include "base/yaml.h"
#include "local/api/api_server_testing.h"
#include "local/api/rules.h"

namespace mainstay::local {
namespace {

// A kind with a bit of everything.
constexpr char kWidgets[] = R"json({
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "widgets.example.com"},
  "spec": {
    "group": "example.com", "scope": "Namespaced",
    "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
    "versions": [{
      "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
      "additionalPrinterColumns": [{"name": "Mode", "type": "string", "jsonPath": ".spec.mode"}],
      "schema": {"openAPIV3Schema": {
        "type": "object", "required": ["spec"],
        "properties": {
          "spec": {
            "type": "object", "required": ["size"],
            "x-kubernetes-validations": [{"rule": "!has(self.old)",
               "message" : "old is not implemented"
},
                                         {"rule": "self.list.all(x, x > 0)"}],
            "properties": {
  "size" : {"type" : "integer", "minimum" : 1, "maximum" : 9},
           "mode" : {"type" : "string", "enum" : [ "Slow", "Fast" ], "default" : "Slow"},
                    "name" : {"type" : "string", "pattern" : "^[a-z]+$", "maxLength" : 5},
                             "port" : {"x-kubernetes-int-or-string" : true},
                                      "old" : {"type" : "string"},
                                              "owner"
      : {"type" : "string", "x-kubernetes-validations" : [ {"rule" : "self == oldSelf"} ]},
        "tags" : {"type" : "object", "additionalProperties" : {"type" : "string"}},
                 "free" : {"type" : "object", "x-kubernetes-preserve-unknown-fields" : true},
                          "items" : {
    "type" : "array", "maxItems" : 2, "items" : {
      "type" : "object", "required" : ["id"], "properties" : {
        "id" : {
          "type" : "string"
        }
      }
    }
  }
}
}
, "status" : {
  "type" : "object", "properties" : {
    "phase" : {
      "type" : "string"
    }
  }
}
}
}
}
}]
}
})json";
constexpr char kWidgetsDefinition[] =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
constexpr char kWidgetsPath[] = "/apis/example.com/v1/namespaces/default/widgets";

class CrdTest : public ApiServerTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kWidgets).status, 201);
  }
  Answer widget(const std::string& spec, const std::string& query = "fieldManager=test") {
    const std::string head =
        R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"w-"},"spec":)";
    return create(kWidgetsPath, head + spec + "}", query);
  }
  // The message about the only wrong field.
  std::string complaint(const std::string& spec) {
    const Answer answer = widget(spec);
    if (answer.status != 422) {
      return "status " + std::to_string(answer.status);
    }
    const Json& cause = answer.body.at("details").at("causes").as_array().front();
    return findString(cause, "field") + ": " + findString(cause, "message");
  }
};

TEST_F(CrdTest, ServesTheKindAtOnce) {
  EXPECT_EQ(get(kWidgetsPath).status, 200);
  EXPECT_EQ(findString(get(kWidgetsPath).body, "kind"), "WidgetList");
  const Answer list = get("/apis/example.com/v1");
  EXPECT_EQ(list.body.at("resources").as_array().front().at("shortNames"), json(R"(["wd"])"));
  const Json status =
      get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com").body.at("status");
  EXPECT_EQ(findString(status, "acceptedNames", "singular"), "widget");
  EXPECT_EQ(findString(status.at("conditions").as_array()[1], "type"), "Established");
}

TEST_F(CrdTest, PrunesUnknownFieldsAndFillsInDefaults) {
  const Answer answer = widget(R"({"size":1,"color":"red","mode":null,"tags":{"a":"b"},"free":{"x":{"y":1}},
                                   "items":[{"id":"1","extra":2}]})");
  ASSERT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body.at("spec"),
            json(R"({"size":1,"mode":"Slow","tags":{"a":"b"},"free":{"x":{"y":1}},"items":[{"id":"1"}]})"));
  const Answer strict = widget(R"({"size":1,"color":"red"})", "fieldValidation=Strict");
  EXPECT_EQ(strict.status, 400);
  EXPECT_EQ(findString(strict.body, "message"), "strict decoding error: unknown field \"spec.color\"");
}

TEST_F(CrdTest, NamesEveryFieldThatBreaksTheSchema) {
  EXPECT_EQ(complaint("{}"), "spec.size: Required value");
  EXPECT_EQ(complaint(R"({"size":"x"})"),
            R"(spec.size: Invalid value: "x": spec.size in body must be of type integer: "string")");
  EXPECT_EQ(complaint(R"({"size":0})"),
            "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1");
  EXPECT_EQ(complaint(R"({"size":10})"),
            "spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9");
  EXPECT_EQ(complaint(R"({"size":1,"mode":"Odd"})"),
            R"(spec.mode: Unsupported value: "Odd": supported values: "Slow", "Fast")");
  EXPECT_EQ(complaint(R"({"size":1,"name":"A"})"),
            R"(spec.name: Invalid value: "A": spec.name in body should match '^[a-z]+$')");
  EXPECT_EQ(complaint(R"({"size":1,"name":"abcdef"})"),
            R"(spec.name: Invalid value: "abcdef": spec.name in body should be at most 5 chars long)");
  EXPECT_EQ(complaint(R"({"size":1,"tags":{"a":1}})"),
            R"(spec.tags.a: Invalid value: 1: spec.tags.a in body must be of type string: "integer")");
  EXPECT_EQ(complaint(R"({"size":1,"items":[{}]})"), "spec.items[0].id: Required value");
  EXPECT_EQ(complaint(R"({"size":1,"port":true})"),
            "spec.port: Invalid value: true: spec.port in body must be of type integer or string");
  EXPECT_EQ(complaint(R"({"size":1,"old":"x"})"),
            R"(spec: Invalid value: {"size":1,"old":"x","mode":"Slow"}: old is not implemented)");
  EXPECT_EQ(widget(R"({"size":1,"port":"http"})").status, 201);
  EXPECT_EQ(widget(R"({"size":1,"port":80})").status, 201);
}

TEST_F(CrdTest, KeepsAnImmutableField) {
  const Json made = widget(R"({"size":1,"owner":"ann"})").body;
  const std::string path = std::string(kWidgetsPath) + "/" + findString(made, "metadata", "name");
  EXPECT_EQ(patch(path, R"({"spec":{"size":2}})").status, 200);
  EXPECT_EQ(patch(path, R"({"spec":{"owner":"bob"}})").status, 422);
}

TEST_F(CrdTest, LetsTheStatusChangeNothingElse) {
  const Json made = widget(R"({"size":1})").body;
  const std::string path = std::string(kWidgetsPath) + "/" + findString(made, "metadata", "name");

  const Json written =
      patch(path + "/status",
            R"({"metadata":{"labels":{"x":"y"}},"spec":{"size":5},"status":{"phase":"Done"}})")
          .body;

  EXPECT_EQ(findString(written, "status", "phase"), "Done");
  EXPECT_EQ(written.at("spec"), made.at("spec"));
  EXPECT_EQ(find(written, "metadata", "labels"), nullptr);
  EXPECT_EQ(written.at("metadata").at("generation"), Json(1));
  EXPECT_EQ(patch(path, R"({"spec":{"size":5}})").body.at("metadata").at("generation"), Json(2));
}

TEST_F(CrdTest, WantsAResourceVersionForAReplacementAndNoStrategicMerge) {
  Json made = widget(R"({"size":1})").body;
  const std::string path = std::string(kWidgetsPath) + "/" + findString(made, "metadata", "name");
  EXPECT_EQ(patch(path, R"({"spec":{"size":2}})", kube::Body::kStrategicMergePatch).status, 415);
  made.at("metadata").as_object().erase("resourceVersion");
  EXPECT_EQ(put(path, made).status, 422);
}

TEST_F(CrdTest, TellsWhichRulesItDoesNotCheck) {
  const Json crd = get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com").body;
  const Json& note = crd.at("status").at("conditions").as_array().back();
  EXPECT_EQ(findString(note, "type"), "RulesNotEvaluated");
  EXPECT_NE(findString(note, "message").find("spec: self.list.all(x, x > 0)"), std::string::npos);
}

TEST_F(CrdTest, RefusesADefinitionThatCannotBeServed) {
  const auto refused = [&](const std::function<void(JsonObject&)>& spoil) {
    Json definition = json(kWidgets);
    definition.at("metadata").as_object()["name"] = "gadgets.example.com";
    definition.at("spec").at("names").as_object()["plural"] = "gadgets";
    spoil(definition.at("spec").as_object());
    return create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", toText(definition)).status;
  };
  const auto version = [](JsonObject& spec) -> JsonObject& {
    return spec["versions"].as_array()[0].as_object();
  };
  EXPECT_EQ(refused([](JsonObject& spec) { spec["group"] = "other.com"; }), 422);
  EXPECT_EQ(refused([](JsonObject& spec) { spec["scope"] = "Galaxy"; }), 422);
  EXPECT_EQ(refused([&](JsonObject& spec) { version(spec).erase("schema"); }), 422);
  EXPECT_EQ(refused([&](JsonObject& spec) { version(spec)["storage"] = false; }), 422);
  EXPECT_EQ(refused([&](JsonObject& spec) {
              version(spec)["schema"] =
                  JsonObject{{"openAPIV3Schema", JsonObject{{"type", "object"}, {"pattern", "("}}}};
            }),
            422);
  EXPECT_EQ(refused([](JsonObject&) {}), 201);
}

TEST_F(CrdTest, ServesTheKindsOfThisProductAndChecksAllTheirRules) {
  for (const char* name : {"recoverypolicies", "noderecoveries"}) {
    const std::string file = std::string(MAINSTAY_SOURCE_DIR) + "/deploy/crds/" + name + ".yaml";
    const auto documents = parseYaml(*RealFileSystem().read(file, 1 << 20), file);
    ASSERT_TRUE(documents) << documents.error().toString();
    const Answer made =
        create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", toText(documents->front().value));
    ASSERT_EQ(made.status, 201) << toText(made.body);
    EXPECT_EQ(toText(made.body).find("RulesNotEvaluated"), std::string::npos);
  }
  const std::string policies = "/apis/mainstay.dev/v1alpha1/recoverypolicies";
  const auto policy = [&](const std::string& spec) {
    const std::string head = R"({"apiVersion":"mainstay.dev/v1alpha1","kind":"RecoveryPolicy",)";
    return create(policies, head + R"("metadata":{"generateName":"p-"},"spec":)" + spec + "}").status;
  };
  EXPECT_EQ(policy(R"({"nodes":{}})"), 201);
  EXPECT_EQ(policy(R"({"nodes":{},"mode":"Enforce"})"), 422);
  EXPECT_EQ(policy(R"({"nodes":{},"mode":"Enforce","provider":"local"})"), 201);
}

TEST_F(CrdTest, WantsToBeToldWhatAnObjectIs) {
  EXPECT_EQ(create(kWidgetsPath, R"({"metadata":{"name":"w"},"spec":{"size":1}})").status, 400);
}

TEST_F(CrdTest, FindsDoubledElementsOfSetsAndMaps) {
  Json definition = json(kWidgets);
  JsonObject& spec = definition.at("spec")
                         .as_object()["versions"]
                         .as_array()[0]
                         .at("schema")
                         .at("openAPIV3Schema")
                         .at("properties")
                         .at("spec")
                         .as_object();
  spec["properties"].as_object()["items"].as_object()["x-kubernetes-list-type"] = "map";
  spec["properties"].as_object()["items"].as_object()["x-kubernetes-list-map-keys"] = JsonArray{"id"};
  definition.at("metadata").as_object()["resourceVersion"] =
      findString(get(kWidgetsDefinition).body, "metadata", "resourceVersion");
  ASSERT_EQ(put(kWidgetsDefinition, definition).status, 200);
  EXPECT_EQ(complaint(R"({"size":1,"items":[{"id":"a"},{"id":"a"}]})"),
            R"(spec.items[1]: Duplicate value: {"id":"a"})");
}

TEST(RulesTest, EvaluatesTheFormsThatItKnows) {
  const Json self = *parseJson(R"({"mode":"Enforce","n":3,"on":true})");
  const auto verdict = [&](std::string_view rule) { return evaluateRule(rule, self, nullptr); };
  for (const char* rule :
       {"has(self.mode)", "!has(self.other)", "self.mode == 'Enforce'", "self.mode != \"x\" && self.n >= 3",
        "!has(self.provider) || self.provider == 'aws'", "self.on",
        "(self.n < 3 || self.n == 3) && !(self.n > 3)", "self == oldSelf"}) {
    EXPECT_EQ(verdict(rule), Verdict::kHolds) << rule;
  }
  for (const char* rule :
       {"has(self.other)", "self.mode == 'x'", "self.other == 'x'", "self.n < 3 || self.n > 3",
        "!has(self.mode) || self.mode != 'Enforce' || has(self.provider)"}) {
    EXPECT_EQ(verdict(rule), Verdict::kBroken) << rule;
  }
  for (const char* rule :
       {"", "self.list.all(x, x > 0)", "size(self.mode) > 1", "self.mode.startsWith('E')", "self.n + 1 == 4",
        "has(self.mode", "self.list[0] == 1", "self.n == 1.5", "self.mode == 'a\\'b'"}) {
    EXPECT_EQ(verdict(rule), Verdict::kUnevaluated) << rule;
  }
  EXPECT_EQ(evaluateRule("self == oldSelf", Json(1), &self), Verdict::kBroken);
  EXPECT_EQ(evaluateRule(std::string(500, '!') + "self.on", self, nullptr), Verdict::kUnevaluated);
}

}  // namespace
}  // namespace mainstay::local
