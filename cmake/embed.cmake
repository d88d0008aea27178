# mainstay_embed(TARGET FILES...): a library with the files' text inside, so that a program needs nothing beside it.
# The texts are found by their path in the repository through local/assets.h.
function(mainstay_embed target)
  set(rows "")
  foreach(file ${ARGN})
    file(READ ${CMAKE_SOURCE_DIR}/${file} text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${file})
    string(APPEND rows "    {\"${file}\", R\"mainstay(${text})mainstay\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc @ONLY CONTENT
[=[#include "local/assets.h"

namespace mainstay::local {

const std::map<std::string_view, std::string_view>& assets() {
  static const std::map<std::string_view, std::string_view> kAssets = {
@rows@  };
  return kAssets;
}

}  // namespace mainstay::local
]=])
  add_library(${target} STATIC ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src)
endfunction()
