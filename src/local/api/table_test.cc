#include "local/api/table.h"

#include <gtest/gtest.h>

#include "local/api/json_path.h"

namespace mainstay::local {
namespace {

Json document(std::string_view text) {
  auto value = parseJson(text);
  EXPECT_TRUE(value) << text;
  return value ? *std::move(value) : Json();
}

KindPtr kindNamed(const std::string& plural) {
  return KindTable().find("", "v1", plural);
}

// The cells of one object, "a|b|c", without those of -o wide.
std::string row(const Kind& kind, std::string_view object, std::string_view now = "2026-01-01T01:00:00Z") {
  const Json table = toTable(kind, document(object), {true, false, *parseTime(now)});
  const JsonArray& columns = table.at("columnDefinitions").as_array();
  const JsonArray& cells = table.at("rows").at(0).at("cells").as_array();
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (columns[i].at("priority") == Json(0)) {
      text += (text.empty() ? "" : "|") +
              (cells[i].is_string() ? std::string(cells[i].get_string()) : toText(cells[i]));
    }
  }
  return text;
}

TEST(TableTest, ShowsANodeAsKubectlUsersKnowIt) {
  EXPECT_EQ(row(*kindNamed("nodes"),
                R"({"kind":"Node","metadata":{"name":"a","creationTimestamp":"2026-01-01T00:00:00Z",
                    "labels":{"node-role.kubernetes.io/worker":""}},"spec":{"unschedulable":true},
                    "status":{"conditions":[{"type":"Ready","status":"Unknown"}],"nodeInfo":{"kubeletVersion":"v1"}}})"),
            "a|NotReady,SchedulingDisabled|worker|60m|v1");
}

TEST(TableTest, ShowsWhatAPodIsDoing) {
  const KindPtr kind = kindNamed("pods");
  const Kind& pods = *kind;
  EXPECT_EQ(
      row(pods,
          R"({"metadata":{"name":"p","creationTimestamp":"2026-01-01T00:59:00Z"},"spec":{"containers":[{}]},
                          "status":{"phase":"Running","containerStatuses":[{"ready":true,"restartCount":2,"state":{"running":{}},
                          "lastState":{"terminated":{"finishedAt":"2026-01-01T00:57:00Z"}}}]}})"),
      "p|1/1|Running|2 (3m ago)|60s");
  EXPECT_EQ(row(pods, R"({"metadata":{"name":"p"},"spec":{"containers":[{}]},"status":{"phase":"Pending",
                          "containerStatuses":[{"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}})"),
            "p|0/1|CrashLoopBackOff|0|<unknown>");
  EXPECT_EQ(
      row(pods,
          R"({"metadata":{"name":"p","deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"Running"}})"),
      "p|0/0|Terminating|0|<unknown>");
  EXPECT_EQ(row(pods, R"({"metadata":{"name":"p"},"status":{"phase":"Failed","containerStatuses":[
                          {"state":{"terminated":{"exitCode":3}}}]}})"),
            "p|0/0|ExitCode:3|0|<unknown>");
}

TEST(TableTest, ShowsThePrinterColumnsOfACustomKind) {
  Kind kind;
  kind.resource = {"x.io", "v1", "ts", "T", false};
  kind.custom = true;
  kind.columns = {{"Phase", "string", ".status.phase", 0}, {"Since", "date", ".status.since", 0}};
  EXPECT_EQ(
      row(kind, R"({"metadata":{"name":"t"},"status":{"phase":"Held","since":"2026-01-01T00:59:50Z"}})"),
      "t|Held|10s");
  EXPECT_EQ(row(kind, R"({"metadata":{"name":"t"}})"), "t|null|null");
}

TEST(TableTest, HasARowForEachItemAndNoHeaderTheSecondTime) {
  const Json list = document(
      R"({"kind":"NodeList","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{}]})");
  const Json table = toTable(*kindNamed("nodes"), list, {false, true, {}});
  EXPECT_EQ(table.at("rows").as_array().size(), 2u);
  EXPECT_TRUE(table.at("columnDefinitions").as_array().empty());
  EXPECT_EQ(findString(table, "metadata", "resourceVersion"), "7");
  EXPECT_EQ(findString(table.at("rows").at(0), "object", "metadata", "name"), "a");
}

TEST(TableTest, WritesAgesAsKubectlDoes) {
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::seconds;
  EXPECT_EQ(shortAge(seconds(-5)), "<invalid>");
  EXPECT_EQ(shortAge(seconds(119)), "119s");
  EXPECT_EQ(shortAge(seconds(200)), "3m20s");
  EXPECT_EQ(shortAge(minutes(100)), "100m");
  EXPECT_EQ(shortAge(minutes(190)), "3h10m");
  EXPECT_EQ(shortAge(hours(47)), "47h");
  EXPECT_EQ(shortAge(hours(51)), "2d3h");
  EXPECT_EQ(shortAge(hours(24 * 100)), "100d");
  EXPECT_EQ(shortAge(hours(24 * 800)), "2y70d");
}

TEST(JsonPathTest, FindsWhatPrinterColumnsPointAt) {
  const Json object =
      document(R"({"a":{"b":"1","x.y/z":"2"},"list":[{"type":"A","v":"3"},{"type":"B","v":"4"}]})");
  const auto found = [&](std::string_view path) {
    std::string text;
    for (const Json* value : findByPath(object, path)) {
      text += toText(*value);
    }
    return text;
  };
  EXPECT_EQ(found(".a.b"), "\"1\"");
  EXPECT_EQ(found(R"(.a.x\.y/z)"), "\"2\"");
  EXPECT_EQ(found(".a['x.y/z']"), "\"2\"");
  EXPECT_EQ(found(".list[1].v"), "\"4\"");
  EXPECT_EQ(found(".list[*].v"), "\"3\"\"4\"");
  EXPECT_EQ(found(".list[-1:].v"), "\"4\"");
  EXPECT_EQ(found(".list[-2].v"), "\"3\"");
  EXPECT_EQ(found(R"(.list[?(@.type=="B")].v)"), "\"4\"");
  EXPECT_EQ(found(".list[?(@.type == 'A')].v"), "\"3\"");
  for (const char* path : {".none", ".list[9]", ".list[", ".list[x]", ".list[?(@.type)]", ".list[]",
                           ".list[:]", ".list[-3]", "[?(", "."}) {
    EXPECT_TRUE(found(path).empty() || path == std::string(".")) << path;
  }
}

}  // namespace
}  // namespace mainstay::local
