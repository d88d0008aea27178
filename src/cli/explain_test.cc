#include "cli/explain.h"

#include <gmock/gmock.h>

#include <sstream>

#include "base/file_system.h"

namespace mainstay::cli {
namespace {

using testing::HasSubstr;

constexpr char kLog[] =
    "3,1038,86412337114,-;NVRM: Xid (PCI:0000:5e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen "
    "off the bus.\n"
    "12,1039,86412337200,-;NVRM: Xid (PCI:0000:5f:00): 95, pid=1, name=x, Uncontained: FBHUB.\n";

class ExplainTest : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    const std::string path = folder_.path() + "/" + name;
    EXPECT_TRUE(RealFileSystem().write(path, content));
    return path;
  }
  int run(const std::string& kmsg, const std::string& context = "", std::vector<std::string> rules = {},
          Format format = Format::kText) {
    ExplainOptions options;
    options.kmsg = kmsg;
    options.context = context;
    options.rules = std::move(rules);
    options.format = format;
    out_.str("");
    errors_.str("");
    return explain(options, out_, errors_);
  }
  Json json(const std::string& kmsg, const std::string& context = "", std::vector<std::string> rules = {}) {
    EXPECT_EQ(run(kmsg, context, std::move(rules), Format::kJson), 0) << errors_.str();
    return *parseJson(out_.str());
  }

  TemporaryFolder folder_{"explain"};
  std::ostringstream out_;
  std::ostringstream errors_;
};

TEST_F(ExplainTest, TellsFindingsConditionsEventsAndTheAction) {
  const Json told = json(file("log", kLog));
  EXPECT_EQ(find(told, "records")->to_number<int>(), 2);
  const JsonArray& findings = find(told, "findings")->as_array();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findString(findings[0], "device"), "0000:5e:00.0");
  EXPECT_EQ(findString(findings[0], "code"), "79");
  EXPECT_EQ(findString(findings[0], "severity"), "fatal");
  EXPECT_EQ(findString(findings[0], "hyperpod", "type"), "NvidiaGPUUnhealthy");
  EXPECT_EQ(findString(findings[0], "eks", "reason"), "NvidiaXID79Error");
  EXPECT_EQ(findString(findings[1], "state"), "untrusted");
  const JsonArray& conditions = find(told, "conditions")->as_array();
  ASSERT_EQ(conditions.size(), 1u);
  EXPECT_EQ(findString(conditions[0], "type"), "GPUFault");
  EXPECT_EQ(findString(conditions[0], "subject"), "0000:5e:00.0");
  EXPECT_EQ(findString(conditions[0], "reason"), "Xid79");
  EXPECT_EQ(findString(told, "action", "action"), "reboot");
  EXPECT_THAT(findString(told, "action", "why"), HasSubstr("record 1038 matches nvidia/xid"));
}

TEST_F(ExplainTest, PeopleGetATable) {
  EXPECT_EQ(run(file("log", kLog)), 0);
  EXPECT_THAT(out_.str(), HasSubstr("24 h        0000:5e:00.0  nvidia/xid/79  fatal     reboot  stands"));
  EXPECT_THAT(out_.str(), HasSubstr("GPUFault  Xid79  0000:5e:00.0"));
  EXPECT_THAT(out_.str(), HasSubstr("Action: reboot"));
  EXPECT_EQ(run(file("log", "6,1,1,-;all is well\n")), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Nothing was found."));
  EXPECT_THAT(out_.str(), HasSubstr("Action: none"));
}

TEST_F(ExplainTest, ContextSaysWhatTheLogDoesNot) {
  const std::string log = file("log", kLog);
  const Json trusted = json(log, file("context", R"({"test_mode": true})"));
  EXPECT_EQ(find(trusted, "conditions")->as_array().size(), 2u);
  const std::string handled =
      R"({"boot_id": "b", "saved_state": {"boot_id": "b", "recovered_at_usec": 86412337114}})";
  EXPECT_EQ(find(json(log, file("context", handled)), "conditions")->as_array().size(), 0u);
  const std::string other =
      R"({"boot_id": "c", "saved_state": {"boot_id": "b", "recovered_at_usec": 86412337114}})";
  EXPECT_EQ(find(json(log, file("context", other)), "conditions")->as_array().size(), 1u)
      << "the stamps of another boot say nothing";
}

TEST_F(ExplainTest, ContextBearsOutALineOfANeuronDevice) {
  const std::string log =
      file("neuron",
           "3,7,86412337114,-;neuron: NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR instance-id=i "
           "hostname=h nd-id=0 nc-id=0 serial-num=1\n");
  const std::string rules =
      file("site.yaml",
           "pack: neuron\nrules:\n  - {id: hw-error, corroborate: require, codes: [{code: "
           "SRAM_UNCORRECTABLE_ERROR, effect: replace, corroborate: require, name: SRAM}]}\n");
  const Json unknown = json(log, "", {rules});
  EXPECT_EQ(findString(find(unknown, "findings")->as_array()[0], "state"), "uncorroborated");
  EXPECT_EQ(find(unknown, "conditions")->as_array().size(), 0u);
  EXPECT_THAT(toText(unknown), HasSubstr("sram_ecc_uncorrected of Neuron device 0 cannot be read"));
  const Json borneOut =
      json(log, file("context", R"({"neuron_counters": {"0": {"sram_ecc_uncorrected": 1}}})"), {rules});
  EXPECT_EQ(findString(find(borneOut, "findings")->as_array()[0], "state"), "stands");
  EXPECT_EQ(findString(borneOut, "action", "action"), "replace");
  EXPECT_EQ(run(log, file("wrong", R"({"neuron_counters": {"0": {"sram_ecc_uncorrected": "1"}}})"), {rules}),
            2);
}

TEST_F(ExplainTest, PacksOfAPersonAreLaidOverOurs) {
  const std::string rules = file("site.yaml",
                                 "pack: nvidia\nrules:\n  - id: xid\n    codes:\n"
                                 "      - {code: 79, effect: replace, name: off the bus}\n");
  EXPECT_EQ(findString(json(file("log", kLog), "", {rules}), "action", "action"), "replace");
}

TEST_F(ExplainTest, WrongFilesAreRefused) {
  const std::string log = file("log", kLog);
  EXPECT_EQ(run(folder_.path() + "/none"), 2);
  EXPECT_THAT(errors_.str(), HasSubstr("/none"));
  EXPECT_EQ(run(file("text", "hello\n")), 2);
  EXPECT_THAT(errors_.str(), HasSubstr("no record of a kernel log"));
  EXPECT_EQ(run(log, file("bad.json", "{\"test_mode\": 1}")), 2);
  EXPECT_THAT(errors_.str(), HasSubstr("test_mode: expected true or false"));
  EXPECT_EQ(run(log, "", {file("bad.yaml", "pack: x\nrules: [{}]\n")}), 2);
  EXPECT_THAT(errors_.str(), HasSubstr("bad.yaml:2:9: rules[0].id: expected a string, but it is missing"));
}

}  // namespace
}  // namespace mainstay::cli
