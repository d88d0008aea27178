// Metrics of one program, and their Prometheus text.
#pragma once

#include <map>
#include <memory>
#include <string>

namespace mainstay {

using MetricLabels = std::map<std::string, std::string>;

// Thread-safe. A metric's name, kind and help are given at its first use; later uses must agree.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  void count(const std::string& name, const std::string& help, const MetricLabels& labels, double add = 1);
  void set(const std::string& name, const std::string& help, const MetricLabels& labels, double value);
  // A counter that somebody else keeps, such as the kernel: shown as it stands there, lower when it began
  // anew.
  void setTotal(const std::string& name, const std::string& help, const MetricLabels& labels, double total);
  // Seconds into buckets from 1 ms to 30 min.
  void observe(const std::string& name, const std::string& help, const MetricLabels& labels, double seconds);
  // The series is not shown any more; nothing happens when it never was.
  void remove(const std::string& name, const MetricLabels& labels);
  // Prometheus text exposition 0.0.4.
  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mainstay
