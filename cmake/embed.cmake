# mainstay_embed(TARGET HEADER FUNCTION FILES...): a library with the files' text inside, so that a program needs
# nothing beside it. The header declares the function, in its own folder's namespace; the texts are found by their path in
# the repository.
function(mainstay_embed target header function)
  set(rows "")
  foreach(file ${ARGN})
    file(READ ${CMAKE_SOURCE_DIR}/${file} text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${file})
    string(APPEND rows "    {\"${file}\", R\"mainstay(${text})mainstay\"},\n")
  endforeach()
  get_filename_component(namespace ${header} DIRECTORY)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc @ONLY CONTENT
[=[#include "@header@"

namespace mainstay::@namespace@ {

const std::map<std::string_view, std::string_view>& @function@() {
  static const std::map<std::string_view, std::string_view> kTexts = {
@rows@  };
  return kTexts;
}

}  // namespace mainstay::@namespace@
]=])
  add_library(${target} STATIC ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src)
endfunction()
