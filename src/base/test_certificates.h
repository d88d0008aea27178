// For tests of TLS: self-signed certificates, made by the openssl program in a folder of their own.
#pragma once

#include <gtest/gtest.h>

#include "base/file_system.h"
#include "base/subprocess.h"

namespace mainstay {

class TestCertificates {
 public:
  // Tests are skipped where this is false.
  static bool available() { return openssl({"version"}); }

  // NAME.pem and NAME.key, for a subjectAltName such as "DNS:server.test,IP:127.0.0.1".
  void make(const std::string& name, const std::string& names) {
    ASSERT_TRUE(openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                         "-nodes", "-days", "2", "-subj", "/CN=" + name, "-addext", "subjectAltName=" + names,
                         "-keyout", path(name + ".key"), "-out", path(name + ".pem")}));
  }

  std::string path(const std::string& file) const { return folder_.path() + "/" + file; }
  std::string text(const std::string& file) const { return files_.read(path(file), 1 << 16).value(); }
  void write(const std::string& file, const std::string& content) {
    ASSERT_TRUE(files_.write(path(file), content));
  }

 private:
  static bool openssl(std::vector<std::string> words) {
    words.insert(words.begin(), "openssl");
    const auto output = run({.arguments = words, .environment = safeEnvironment()},
                            Deadline::after(std::chrono::seconds(30)));
    return output && output->status.code == 0;
  }

  TemporaryFolder folder_{"mainstay-tls-"};
  RealFileSystem files_;
};

}  // namespace mainstay
