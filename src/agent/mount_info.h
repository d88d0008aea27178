// The kernel's table of mounts taken apart (proc_pid_mountinfo(5)).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mainstay::agent {

// "27 1 254:0 / /var\040lib rw,relatime shared:1 - ext4 /dev/vda rw,discard"
struct MountLine {
  std::string number;        // of the device: "254:0"
  std::string root;          // what of the filesystem is mounted: "/"
  std::string point;         // "/var lib": any bytes
  std::string options;       // of this mount: "rw,relatime"
  std::string type;          // "ext4"
  std::string source;        // "/dev/vda": any bytes
  std::string superOptions;  // of the filesystem: "rw,discard"
};
// nullopt: not such a line. Escapes (\040) are undone.
std::optional<MountLine> parseMountLine(std::string_view line);

}  // namespace mainstay::agent
