#include "agent/stats/metric_table.h"

#include <array>

namespace mainstay::agent::stats {
namespace {

using enum MetricKind;

constexpr std::array kCpu = {
    MetricSpec{"cpu/runnable_task_count", kGauge, "loadavg",
               "The average number of runnable tasks in the run-queue during the last minute"},
    MetricSpec{"cpu/usage_time", kCounter, "stat", "CPU usage, in seconds"},
    MetricSpec{"cpu/load_1m", kGauge, "loadavg", "CPU average load (1m)"},
    MetricSpec{"cpu/load_5m", kGauge, "loadavg", "CPU average load (5m)"},
    MetricSpec{"cpu/load_15m", kGauge, "loadavg", "CPU average load (15m)"},
    MetricSpec{"system/processes_total", kSummedCounter, "stat", "Number of forks since boot."},
    MetricSpec{"system/procs_running", kGauge, "stat", "Number of processes currently running."},
    MetricSpec{"system/procs_blocked", kGauge, "stat", "Number of processes currently blocked."},
    MetricSpec{"system/interrupts_total", kSummedCounter, "stat",
               "Total number of interrupts serviced (cumulative)."},
    MetricSpec{"system/cpu_stat", kSummedCounter, "stat",
               "Cumulative time each cpu spent in various stages."},
};

constexpr std::array kDisk = {
    MetricSpec{"disk/io_time", kCounter, "diskstats", "The IO time spent on the disk, in ms"},
    MetricSpec{"disk/weighted_io", kCounter, "diskstats", "The weighted IO on the disk, in ms"},
    MetricSpec{"disk/avg_queue_len", kGauge, "diskstats", "The average queue length on the disk"},
    MetricSpec{"disk/operation_count", kCounter, "diskstats", "Disk operations count"},
    MetricSpec{"disk/merged_operation_count", kCounter, "diskstats", "Disk merged operations count"},
    MetricSpec{"disk/operation_bytes_count", kCounter, "diskstats", "Bytes transferred in disk operations"},
    MetricSpec{"disk/operation_time", kCounter, "diskstats", "Time spent in disk operations, in ms"},
    MetricSpec{"disk/bytes_used", kGauge, "statvfs", "Disk bytes used, in Bytes"},
    MetricSpec{"disk/percent_used", kGauge, "statvfs", "Disk usage in percentage of total space"},
};

constexpr std::array kHost = {
    MetricSpec{"host/uptime", kGauge, "uptime", "The uptime of the operating system"}};

constexpr std::array kMemory = {
    MetricSpec{"memory/bytes_used", kGauge, "meminfo",
               "Memory usage by each memory state, in Bytes. Summing values of all states yields the total "
               "memory on the node."},
    MetricSpec{"memory/percent_used", kGauge, "meminfo", "Memory usage in percentage of total memory."},
    MetricSpec{"memory/anonymous_used", kGauge, "meminfo",
               "Anonymous memory usage, in Bytes. Summing values of all states yields the total anonymous "
               "memory used."},
    MetricSpec{"memory/page_cache_used", kGauge, "meminfo",
               "Page cache memory usage, in Bytes. Summing values of all states yields the total anonymous "
               "memory used."},
    MetricSpec{"memory/unevictable_used", kGauge, "meminfo", "Unevictable memory usage, in Bytes"},
    MetricSpec{"memory/dirty_used", kGauge, "meminfo",
               "Dirty pages usage, in Bytes. Dirty means the memory is waiting to be written back to disk, "
               "and writeback means the memory is actively being written back to disk."},
};

constexpr std::array kOsFeature = {
    MetricSpec{"system/os_feature", kGauge, "modules",
               "OS Features like GPU support, KTD kernel, third party modules as unknown modules. 1 if the "
               "feature is enabled and 0, if disabled."},
};

constexpr std::array kNet = {
    MetricSpec{"net/rx_bytes", kSummedCounter, "net/dev", "Cumulative count of bytes received."},
    MetricSpec{"net/rx_packets", kSummedCounter, "net/dev", "Cumulative count of packets received."},
    MetricSpec{"net/rx_errors", kSummedCounter, "net/dev", "Cumulative count of receive errors encountered."},
    MetricSpec{"net/rx_dropped", kSummedCounter, "net/dev",
               "Cumulative count of packets dropped while receiving."},
    MetricSpec{"net/rx_fifo", kSummedCounter, "net/dev", "Cumulative count of FIFO buffer errors."},
    MetricSpec{"net/rx_frame", kSummedCounter, "net/dev", "Cumulative count of packet framing errors."},
    MetricSpec{"net/rx_compressed", kSummedCounter, "net/dev",
               "Cumulative count of compressed packets received by the device driver."},
    MetricSpec{"net/rx_multicast", kSummedCounter, "net/dev",
               "Cumulative count of multicast frames received by the device driver."},
    MetricSpec{"net/tx_bytes", kSummedCounter, "net/dev", "Cumulative count of bytes transmitted."},
    MetricSpec{"net/tx_packets", kSummedCounter, "net/dev", "Cumulative count of packets transmitted."},
    MetricSpec{"net/tx_errors", kSummedCounter, "net/dev",
               "Cumulative count of transmit errors encountered."},
    MetricSpec{"net/tx_dropped", kSummedCounter, "net/dev",
               "Cumulative count of packets dropped while transmitting."},
    MetricSpec{"net/tx_fifo", kSummedCounter, "net/dev", "Cumulative count of FIFO buffer errors."},
    MetricSpec{"net/tx_collisions", kSummedCounter, "net/dev",
               "Cumulative count of collisions detected on the interface."},
    MetricSpec{"net/tx_carrier", kSummedCounter, "net/dev",
               "Cumulative count of carrier losses detected by the device driver."},
    MetricSpec{"net/tx_compressed", kSummedCounter, "net/dev",
               "Cumulative count of compressed packets transmitted by the device driver."},
};

constexpr std::array kComponents = {
    Component{"cpu", kCpu},       Component{"disk", kDisk},           Component{"host", kHost},
    Component{"memory", kMemory}, Component{"osFeature", kOsFeature}, Component{"net", kNet}};

constexpr std::size_t kMaxName = 100;  // bytes, before a prefix

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || isDigit(c) || c == ':';
}

}  // namespace

std::span<const Component> components() {
  return kComponents;
}

std::string prometheusName(std::string_view displayName) {
  std::string name;
  for (const char c : displayName.substr(0, kMaxName)) {
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;  // the rest of a character
    name += isNameCharacter(c) ? std::string(1, c) : continues ? "" : "_";
  }
  if (!name.empty() && isDigit(name.front())) {
    name.insert(0, "key_");
  }
  return name.starts_with('_') ? "key" + name : name;
}

}  // namespace mainstay::agent::stats
