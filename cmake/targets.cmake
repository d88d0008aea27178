# mainstay_library(NAME base SRCS a.cc ... DEPS ... TESTS a_test.cc ... TEST_DEPS ... LABELS threads ...)
#
# One static library and one test binary (NAME_test) per folder. DEPS are what its headers need; TESTS are found by
# ctest one by one, as NAME.Suite.Case. LABELS marks the test binary, with one word (gtest_discover_tests cuts lists):
# `threads` runs under the thread sanitizer too.
function(mainstay_library)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS;TESTS;TEST_DEPS;LABELS" ${ARGN})
  set(target mainstay_${ARG_NAME})
  if(ARG_SRCS)
    add_library(${target} STATIC ${ARG_SRCS})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE mainstay_flags)
    mainstay_speed(${target})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${target} ${scope} ${ARG_DEPS})
  if(ARG_TESTS)
    mainstay_test(NAME ${ARG_NAME} SRCS ${ARG_TESTS} DEPS ${target} ${ARG_TEST_DEPS} LABELS ${ARG_LABELS})
  endif()
endfunction()

# mainstay_test(NAME base SRCS ... DEPS ... LABELS ...): the binary NAME_test, each case known to ctest.
function(mainstay_test)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS;LABELS" ${ARGN})
  add_executable(${ARG_NAME}_test ${ARG_SRCS})
  target_link_libraries(${ARG_NAME}_test PRIVATE mainstay_flags ${ARG_DEPS} GTest::gtest_main GTest::gmock)
  target_compile_definitions(${ARG_NAME}_test PRIVATE MAINSTAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                             MAINSTAY_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  set_target_properties(${ARG_NAME}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  mainstay_speed(${ARG_NAME}_test)
  include(GoogleTest)
  gtest_discover_tests(${ARG_NAME}_test TEST_PREFIX "${ARG_NAME}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 120 LABELS "${ARG_LABELS}")
endfunction()

# mainstay_program(NAME mainstay-agent SRCS ... DEPS ...)
function(mainstay_program)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE mainstay_flags ${ARG_DEPS})
endfunction()

# Precompiled headers help when one file changes; unity builds (CMAKE_UNITY_BUILD, a preset's choice) when all do.
function(mainstay_speed target)
  if(MAINSTAY_PRECOMPILE AND NOT CMAKE_UNITY_BUILD)
    target_precompile_headers(${target} PRIVATE <algorithm> <chrono> <functional> <map> <memory> <optional> <string>
                              <string_view> <vector> <boost/json/value.hpp> <tl/expected.hpp>)
    if(target MATCHES "_test$")
      target_precompile_headers(${target} PRIVATE <gtest/gtest.h>)
    endif()
  endif()
endfunction()
