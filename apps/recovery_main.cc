// mainstay-recovery: beside a problem detector on a node, tells CloudWatch of hardware errors and has the instance replaced.
#include <iostream>

#include "environment.h"

#include "base/file_system.h"
#include "base/http_client.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cloud/aws/aws_provider.h"
#include "sidecar/doors.h"
#include "sidecar/options.h"
#include "sidecar/sidecar.h"

namespace mainstay {
namespace {

constexpr int kBadInput = 2;

Result<> runRecovery(const sidecar::Options& options) {
  blockInterrupts();
  MAINSTAY_ASSIGN(sidecar::Settings settings, sidecar::settingsOf(options, environmentOf));
  MAINSTAY_ASSIGN(const Duration delay, sidecar::startupDelayOf(options));
  const SteadyWallClock clock;
  const RealFileSystem files;
  std::stop_source stop;
  const auto surroundings = cloud::aws::realSurroundings(environmentOf, files, clock, stop.get_token());
  cloud::aws::AwsProvider provider(surroundings);
  cloud::aws::Session session(surroundings);
  sidecar::AwsDoors aws(session, options);
  sidecar::DetectorPage detector(options.metricsUrl, stop.get_token());
  sidecar::Parts parts{.readMetrics = [&detector] { return detector.read(); },
                       .identify = [&aws] { return aws.identify(); },
                       .publish = [&aws](const auto& values) { return aws.publish(values); },
                       .provider = &provider};
  RealDriver driver(clock);
  driver.start(std::make_shared<sidecar::Sidecar>(std::move(parts), settings, clock.now() + delay));
  logInfo("started", {{"version", MAINSTAY_VERSION},
                      {"node", environmentOf("NODE_NAME")},
                      {"metrics", options.metricsUrl},
                      {"recovery", settings.recover},
                      {"firstLookIn", formatDuration(delay)}});
  logInfo("stopping", {{"signal", waitForInterrupt()}});
  stop.request_stop();
  return {};
}

}  // namespace
}  // namespace mainstay

int main(int argc, char** argv) {
  using namespace mainstay;
  sidecar::Options options;
  Flags flags("mainstay-recovery",
              "Reads a problem detector's metrics, publishes its hardware errors to CloudWatch and, when the environment says "
              "ENABLE_RECOVERY=true, marks the instance unhealthy in its Auto Scaling group.");
  sidecar::addFlags(flags, options);
  if (const auto code = flags.parse(argc, argv)) {
    return *code;
  }
  configureLog(options.logFormat, options.logLevel);
  if (const Result<> ran = runRecovery(options); !ran) {
    std::cerr << "mainstay-recovery: " << ran.error().toString() << "\n";
    return kBadInput;
  }
  return 0;
}
