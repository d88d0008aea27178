#include "cli/rules.h"

#include <gmock/gmock.h>

#include <sstream>

#include "base/file_system.h"
#include "base/json.h"

namespace mainstay::cli {
namespace {

using testing::HasSubstr;

class RulesTest : public testing::Test {
 protected:
  static RulesOptions in(const std::string& format) {
    RulesOptions options;
    options.format = format;
    return options;
  }
  RulesOptions with(const std::string& text) {
    const std::string path = folder_.path() + "/site.yaml";
    EXPECT_TRUE(RealFileSystem().write(path, text));
    RulesOptions options;
    options.rules = {path};
    return options;
  }

  TemporaryFolder folder_{"rules"};
  std::ostringstream out_;
  std::ostringstream errors_;
};

TEST_F(RulesTest, OursAreWithoutComplaint) {
  EXPECT_EQ(lintRules({}, out_, errors_), 0) << out_.str();
  EXPECT_EQ(testRules({}, out_, errors_), 0) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("examples: all as they say"));
}

TEST_F(RulesTest, ComplaintsAreToldWithTheirPlace) {
  const RulesOptions options =
      with("pack: site\nrules:\n  - {id: a, name: a, pattern: '^alpha', examples: [beta]}\n");
  EXPECT_EQ(testRules(options, out_, errors_), 1);
  EXPECT_THAT(out_.str(), HasSubstr("site.yaml:3: site/a: its example does not match: \"beta\""));
  EXPECT_EQ(lintRules(options, out_, errors_), 1);
  EXPECT_THAT(out_.str(), HasSubstr("site.yaml:3: site/a: no source and date"));
  EXPECT_EQ(lintRules(with("pack: site\nrules: 3\n"), out_, errors_), 2);
  EXPECT_THAT(errors_.str(), HasSubstr("site.yaml:2:8: rules: expected a list, found an integer"));
}

TEST_F(RulesTest, AreListedInEveryForm) {
  EXPECT_EQ(listRules({}, out_, errors_), 0);
  EXPECT_THAT(out_.str(), HasSubstr("nvidia/xid/79"));
  out_.str("");
  EXPECT_EQ(listRules(in("json"), out_, errors_), 0);
  EXPECT_TRUE(parseJson(out_.str()));
  out_.str("");
  EXPECT_EQ(listRules(in("markdown"), out_, errors_), 0);
  EXPECT_THAT(out_.str(),
              HasSubstr("| xid/79 | GPU has fallen off the bus | fatal | GPUFault Xid79 | reboot | boot |"));
  EXPECT_LT(out_.str().find("| xid/9 |"), out_.str().find("| xid/10 |")) << "by number";
}

TEST_F(RulesTest, OneIsShown) {
  EXPECT_EQ(showRule({}, "nvidia/xid/64", out_, errors_), 0);
  EXPECT_THAT(out_.str(), HasSubstr("nvidia/xid/64/pending"));
  EXPECT_THAT(out_.str(), testing::Not(HasSubstr("nvidia/xid/79")));
  EXPECT_EQ(showRule({}, "nvidia/xid/6400", out_, errors_), 1);
  EXPECT_THAT(errors_.str(), HasSubstr("there is no \"nvidia/xid/6400\""));
}

TEST_F(RulesTest, OneLineIsExplained) {
  EXPECT_EQ(explainLine(in("json"), "NVRM: Xid (PCI:0000:5e:00): 31, pid=7, name=python3, MMU Fault", out_,
                        errors_),
            0);
  const Json told = *parseJson(out_.str());
  EXPECT_EQ(findString(told.as_array().at(0), "action"), "restart-app");
  EXPECT_EQ(explainLine({}, "nothing at all", out_, errors_), 1);
  EXPECT_THAT(errors_.str(), HasSubstr("no rule knows this line"));
}

}  // namespace
}  // namespace mainstay::cli
