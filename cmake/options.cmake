set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

set(MAINSTAY_SANITIZE "" CACHE STRING "address (with undefined) or thread")
option(MAINSTAY_PRECOMPILE "Precompiled headers: quick one-file rebuilds" OFF)
option(MAINSTAY_FUZZERS "Build the libFuzzer targets (clang only)" OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# Warnings and hardening apply to our own targets only, through this interface.
add_library(mainstay_flags INTERFACE)
target_include_directories(mainstay_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(mainstay_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wextra-semi -Wimplicit-fallthrough -Werror -fno-omit-frame-pointer)
target_compile_definitions(mainstay_flags INTERFACE _GLIBCXX_ASSERTIONS)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports false positives of these three inside std::string and std::variant at -O2.
  target_compile_options(mainstay_flags INTERFACE
    -Wsuggest-override -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow)
endif()

if(MAINSTAY_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(MAINSTAY_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)
  endif()
elseif(CMAKE_BUILD_TYPE MATCHES "Rel")
  target_compile_options(mainstay_flags INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  target_link_options(mainstay_flags INTERFACE -Wl,-z,relro,-z,now -Wl,--as-needed)
  # A unity build joins files into large objects, of which a small program such as log-counter needs a few functions.
  target_compile_options(mainstay_flags INTERFACE -ffunction-sections -fdata-sections)
  target_link_options(mainstay_flags INTERFACE -Wl,--gc-sections)
endif()

if(MAINSTAY_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage, so that the fuzzers see where inputs lead
endif()

# Stamped into every program: --version, User-Agent, the mainstay_build_info metric.
target_compile_definitions(mainstay_flags INTERFACE MAINSTAY_VERSION="${PROJECT_VERSION}")
