#include "cli/app.h"

#include <unistd.h>

#include <iostream>

#include "base/flags.h"
#include "cli/clear.h"
#include "cli/connection.h"
#include "cli/demo.h"
#include "cli/explain.h"
#include "cli/local.h"
#include "cli/operate.h"
#include "cli/rules.h"
#include "cli/simulate.h"

namespace mainstay::cli {

namespace {

// Everything that flags write into; one per run.
struct Choices {
  explicit Choices(const Surroundings& surroundings) : connection(surroundings) {
    demo.programs = surroundings.programs;
    clear.by = surroundings.environment("USER");
    demo.allowRealKmsg = surroundings.environment("MAINSTAY_REAL_KMSG") == "1";
  }
  Connection connection;
  DemoOptions demo;
  SimulateOptions simulate;
  ExplainOptions explain;
  RulesOptions rules;
  ReleaseOptions release;
  ClearOptions clear;
  std::string ns = "default";
  std::string name;
  std::string text;
  std::string format = "text";
  int seed = 0;
  bool all = false;
};

void addOutput(Flags& flags, Choices& choices) {
  flags.addChoice("o,output", choices.format, formatNames(), "form of the output");
}

void addDemo(Flags& flags, Choices& choices) {
  Flags& demoCommand = flags.command(
      "demo", "A fault in a kernel log, from its line to the resumed training step, in a local cluster.",
      [&] {
        choices.demo.format = parseFormat(choices.format);
        return demo(choices.demo, std::cout);
      });
  demoCommand
      .add("keep", choices.demo.keep, "leave the cluster up until interrupted, and print how to reach it")
      .add("kmsg", choices.demo.kmsg,
           "device that node-b's agent reads, and the fault is written to, instead of a stand-in")
      .add("launch-delay", choices.demo.launchDelay, "how long the cloud takes to launch an instance");
  addOutput(demoCommand, choices);
}

void addLocal(Flags& flags, Choices& choices) {
  Flags& local =
      flags.command("local", "A cluster in one process on this machine, and things that befall it.");
  Flags& up =
      local.command("up", "Bring one up, with agents, controller and policy, until interrupted.", [&] {
        choices.demo.format = parseFormat(choices.format);
        return localUp(choices.demo, std::cout, std::cerr);
      });
  up.add("launch-delay", choices.demo.launchDelay, "how long the cloud takes to launch an instance")
      .add("controller", choices.demo.controller, "start a mainstay-controller; without it, start your own");
  addOutput(up, choices);
  Flags& nodes = local.command("nodes", "Its machines and kubelets.", [&] {
    return localNodes(choices.connection, parseFormat(choices.format), std::cout, std::cerr);
  });
  choices.connection.addFlags(nodes);
  addOutput(nodes, choices);
  Flags& kmsg = local.command("kmsg", "Write a line into a node's kernel log.", [&] {
    return localPost(choices.connection, "/local/v1/nodes/" + percentEncode(choices.name) + "/kmsg",
                     choices.text, std::cerr);
  });
  kmsg.addArgument("node", choices.name, "name of the node")
      .addArgument("text", choices.text, "the line; <3>... sets its level");
  choices.connection.addFlags(kmsg);
  Flags& kill = local.command("kill", "Everything on a node dies without a word.", [&] {
    return localPost(choices.connection, "/local/v1/nodes/" + percentEncode(choices.name) + "/kill", "",
                     std::cerr);
  });
  kill.addArgument("node", choices.name, "name of the node");
  choices.connection.addFlags(kill);
}

void addSimulate(Flags& flags, Choices& choices) {
  Flags& command = flags.command("simulate", "Play a scenario with the real planners in virtual time.", [&] {
    choices.simulate.format = parseFormat(choices.format);
    if (choices.seed > 0) {
      choices.simulate.seed = static_cast<std::uint64_t>(choices.seed);
    }
    choices.simulate.palette = Palette::ofTerminal(STDOUT_FILENO);
    return simulate(choices.simulate, std::cout, std::cerr);
  });
  command.add("scenario", choices.simulate.scenario, "the YAML page (docs/scenarios.md)")
      .add("seeds", choices.simulate.seeds, "so many seeds from the first on; the first that fails is told")
      .add("seed", choices.seed, "instead of the page's; 0 is the page's");
  addOutput(command, choices);
}

void addExplain(Flags& flags, Choices& choices) {
  Flags& command = flags.command(
      "explain", "What the agent would find in a kernel log, and what it would have done about it.", [&] {
        choices.explain.format = parseFormat(choices.format);
        choices.explain.palette = Palette::ofTerminal(STDOUT_FILENO);
        return explain(choices.explain, std::cout, std::cerr);
      });
  command.add("kmsg", choices.explain.kmsg, "the log: records as read from /dev/kmsg")
      .add("context", choices.explain.context, "JSON with what the log does not say (docs/explain.md)")
      .add("rules", choices.explain.rules, "packs of your own, laid over ours in this order");
  addOutput(command, choices);
}

void addRules(Flags& flags, Choices& choices) {
  Flags& rules = flags.command("rules", "Rule packs: what faults look like, mean and need.");
  rules.add("rules", choices.rules.rules, "packs of your own, laid over ours in this order");
  const auto add = [&](const char* name, const char* description, auto run) -> Flags& {
    return rules.command(name, description, [run, &choices] { return run(choices); });
  };
  add("lint", "Tell mistakes, and what is probably one.",
      [](Choices& all) { return lintRules(all.rules, std::cout, std::cerr); });
  add("test", "Check that the examples of all rules hold.",
      [](Choices& all) { return testRules(all.rules, std::cout, std::cerr); });
  add("list", "All that is known.", [](Choices& all) {
    return listRules(all.rules, std::cout, std::cerr);
  }).addChoice("o,output", choices.rules.format, {"text", "json", "yaml", "markdown"}, "form of the output");
  add("show", "One rule, or one of its codes.",
      [](Choices& all) { return showRule(all.rules, all.name, std::cout, std::cerr); })
      .addArgument("id", choices.name, "nvidia/xid, nvidia/xid/79")
      .addChoice("o,output", choices.rules.format, formatNames(), "form of the output");
  add("explain", "What one line of the kernel means.",
      [](Choices& all) { return explainLine(all.rules, all.text, std::cout, std::cerr); })
      .addArgument("line", choices.text, "the text of the record")
      .addChoice("o,output", choices.rules.format, formatNames(), "form of the output");
}

void addWhy(Flags& flags, Choices& choices) {
  Flags& node = flags.command("why", "Why something is as it is.")
                    .command("node", "Why a node is in or out of service, and what is next.", [&] {
                      return whyNode(choices.connection, choices.name, parseFormat(choices.format), std::cout,
                                     std::cerr);
                    });
  node.addArgument("name", choices.name, "name of the node");
  choices.connection.addFlags(node);
  addOutput(node, choices);
}

void addReleaseFlags(Flags& flags, Choices& choices) {
  flags.add("reason", choices.release.reason, "why; kept with the incident or job")
      .add("dry-run", choices.release.dryRun, "only say what would be done");
  choices.connection.addFlags(flags);
}

void addNode(Flags& flags, Choices& choices) {
  Flags& nodes = flags.command("node", "Nodes.");
  Flags& release = nodes.command(
      "release", "Call a node healthy: undo what is ours and close its incident.",
      [&] { return releaseNode(choices.connection, choices.name, choices.release, std::cout, std::cerr); });
  release.addArgument("name", choices.name, "name of the node");
  addReleaseFlags(release, choices);
  Flags& clear = nodes.command(
      "clear", "Call faults of a node over: its agent clears their conditions.",
      [&] { return clearNode(choices.connection, choices.name, choices.clear, std::cout, std::cerr); });
  clear.addArgument("name", choices.name, "name of the node")
      .add("reason", choices.clear.reason, "why; told in the Event")
      .add("condition", choices.clear.condition, "type of the one to clear; empty: all that its agent writes")
      .add("dry-run", choices.clear.dryRun, "only say what would be done");
  choices.connection.addFlags(clear);
}

void addRelease(Flags& flags, Choices& choices) {
  Flags& job = flags.command("job", "Training jobs.")
                   .command("release", "Start a job that we hold, and let it be.", [&] {
                     return releaseJob(choices.connection, choices.ns, choices.name, choices.release,
                                       std::cout, std::cerr);
                   });
  job.addArgument("name", choices.name, "name of the PyTorchJob")
      .add("n,namespace", choices.ns, "its namespace");
  addReleaseFlags(job, choices);
  Flags& everything =
      flags.command("release", "Undo everything of ours, on all nodes and jobs (before uninstalling).", [&] {
        if (!choices.all) {
          std::cerr << "mainstay release: say --all to release every node and job, or use: mainstay node "
                       "release NAME, mainstay job "
                       "release NAME\n";
          return 2;
        }
        return releaseAll(choices.connection, choices.release, std::cout, std::cerr);
      });
  everything.add("all", choices.all, "every node and job");
  addReleaseFlags(everything, choices);
}

}  // namespace

int run(int argc, const char* const* argv, const Surroundings& surroundings) {
  Choices choices(surroundings);
  Flags flags("mainstay", "Keeps distributed training jobs running through hardware faults on Kubernetes.");
  addDemo(flags, choices);
  addLocal(flags, choices);
  addSimulate(flags, choices);
  addExplain(flags, choices);
  addRules(flags, choices);
  addWhy(flags, choices);
  addNode(flags, choices);
  addRelease(flags, choices);
  if (const auto code = flags.parse(argc, argv)) {
    return *code;
  }
  std::cerr << "mainstay: which command? See mainstay --help\n";
  return 2;
}

}  // namespace mainstay::cli
