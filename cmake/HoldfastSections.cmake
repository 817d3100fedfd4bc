# holdfast_sections(<target> [STRICT] [DYNAMIC_ARENA] [REPORT <path>])
#
# Compiles the C and C++ sources of a target with the plugin of failure-atomic sections and links
# the runtime, as hf-clang does (docs/compiler_plugin.md). The compiler must be clang 19. STRICT: a
# write that cannot be announced is an error. DYNAMIC_ARENA: for sanitizers. REPORT: a file or
# directory for the report on every write. HF_SECTION_PLUGIN names the plugin where it is not
# installed.
include_guard(GLOBAL)

function(holdfast_sections target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STRICT;DYNAMIC_ARENA" "REPORT" "")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "holdfast_sections(${target}): unknown argument '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  foreach(language IN ITEMS C CXX)
    if(NOT CMAKE_${language}_COMPILER)
      continue()
    endif()
    if(NOT CMAKE_${language}_COMPILER_ID STREQUAL "Clang"
        OR NOT CMAKE_${language}_COMPILER_VERSION MATCHES "^19\\.")
      message(FATAL_ERROR "holdfast_sections(${target}): the plugin is for clang 19, and "
        "CMAKE_${language}_COMPILER is ${CMAKE_${language}_COMPILER_ID} "
        "${CMAKE_${language}_COMPILER_VERSION}")
    endif()
  endforeach()
  find_file(HF_SECTION_PLUGIN hf_section_pass.so
    HINTS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../holdfast" NO_DEFAULT_PATH
    DOC "The compiler plugin of failure-atomic sections")
  if(NOT HF_SECTION_PLUGIN)
    message(FATAL_ERROR "holdfast_sections(${target}): hf_section_pass.so is not installed; "
      "`./dev pass` builds it, and HF_SECTION_PLUGIN names it")
  endif()

  set(own "")
  if(arg_STRICT)
    list(APPEND own -hf-strict)
  endif()
  if(arg_DYNAMIC_ARENA)
    list(APPEND own -hf-arena=dynamic)
  endif()
  if(arg_REPORT)
    list(APPEND own "-hf-report=${arg_REPORT}")
    target_compile_options(${target} PRIVATE -gline-tables-only)
  endif()
  list(TRANSFORM own PREPEND "SHELL:-Xclang -mllvm -Xclang ")
  target_compile_options(${target} PRIVATE "-fpass-plugin=${HF_SECTION_PLUGIN}"
    "SHELL:-Xclang -load -Xclang ${HF_SECTION_PLUGIN}" ${own})
  target_compile_definitions(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_EXTERN_TEMPLATE=0>")
  # The wrappers call the runtime, which is among the rooms. The locks are objects.
  foreach(library IN ITEMS holdfast::section_locks holdfast::section_libc holdfast::holdfast)
    if(TARGET ${library})
      target_link_libraries(${target} PRIVATE ${library})
    endif()
  endforeach()
endfunction()
