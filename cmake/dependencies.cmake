# Everything comes from the distribution (scripts/dependencies lists the packages). Each library stays behind one
# folder's border: see ARCHITECTURE.md, "Dependencies".
find_package(Threads REQUIRED)
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(yaml-cpp REQUIRED)
find_package(pugixml REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)
find_package(GTest REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)

find_path(EXPECTED_INCLUDE tl/expected.hpp REQUIRED)
find_path(CLI11_INCLUDE CLI/CLI.hpp REQUIRED)
