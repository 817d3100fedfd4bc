# hf_room, hf_program and hf_test: how rooms, programs and tests are declared.
include_guard(GLOBAL)
include(GNUInstallDirs)

# What every room and program sees: the public headers and what these need.
add_library(hf_headers INTERFACE)
set_target_properties(hf_headers PROPERTIES EXPORT_NAME headers)
target_compile_features(hf_headers INTERFACE cxx_std_20)
target_include_directories(hf_headers INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(hf_headers INTERFACE tl::expected Threads::Threads)
# Regions lie in windows of 1 TiB; ThreadSanitizer leaves 1.5 TiB of addresses for all mappings.
set(HF_WINDOW_BITS 40)
if(HF_SANITIZE MATCHES "thread")
  set(HF_WINDOW_BITS 36)
endif()
target_compile_definitions(hf_headers INTERFACE HF_WINDOW_BITS=${HF_WINDOW_BITS})
if(HF_CRASHLAB)
  target_compile_definitions(hf_headers INTERFACE HF_TRACE=1 HF_PERSIST_POINTS=1)
  target_include_directories(hf_headers INTERFACE
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/holdfast/internal>")
endif()

# Adds those of the given directories (patterns are allowed) that have a CMakeLists.txt.
macro(hf_add_directories)
  foreach(pattern IN ITEMS ${ARGV})
    file(GLOB found CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
         "${PROJECT_SOURCE_DIR}/${pattern}/CMakeLists.txt")
    foreach(list_file IN LISTS found)
      get_filename_component(directory "${list_file}" DIRECTORY)
      add_subdirectory("${directory}")
    endforeach()
  endforeach()
endmacro()

# hf_room(<room> [SOURCES file...] [USES room...] [LINKS target...])
#
# The static library hf_<room> (an interface library when it has no sources). USES names rooms,
# LINKS other targets. Both are public: a room's headers may include those of the rooms below.
function(hf_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;USES;LINKS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hf_room(${room}): what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()
  set(target hf_${room})
  list(TRANSFORM arg_USES PREPEND hf_)
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME holdfast_${room})
    hf_lint(${target})
    hf_instrument(${target})
    hf_compiled_as(${target} rooms)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${room})
  target_include_directories(${target} ${scope} "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>")
  target_link_libraries(${target} ${scope} hf_headers ${arg_USES} ${arg_LINKS})
  set_property(GLOBAL APPEND PROPERTY HF_ROOMS ${room})
endfunction()

# hf_program(<name> SOURCES file... [USES room...] [LINKS target...] [INSTALL])
#
# Programs under tests and examples are built whenever the tests are.
function(hf_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INSTALL" "" "SOURCES;USES;LINKS")
  list(TRANSFORM arg_USES PREPEND hf_)
  add_executable(${name} ${arg_SOURCES})
  hf_lint(${name})
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/(tests|examples)/")
    hf_compiled_as(${name} tests)
    if(TARGET all_tests)
      add_dependencies(all_tests ${name})
    endif()
  else()
    hf_compiled_as(${name} programs)
  endif()
  target_link_libraries(${name} PRIVATE hf_headers ${arg_USES} ${arg_LINKS})
  if(arg_INSTALL)
    install(TARGETS ${name} RUNTIME COMPONENT programs)
    set_property(GLOBAL APPEND PROPERTY HF_INSTALLED_PROGRAMS ${name})
  endif()
endfunction()

# From where tests include: what they share, and files of the rooms.
set(HF_TEST_INCLUDES "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests"
  "${PROJECT_SOURCE_DIR}/tests/rooms" "${PROJECT_SOURCE_DIR}/tests/programs"
  "${PROJECT_SOURCE_DIR}/tests/campaigns")

# hf_sanitizers_suffice(<out> <labels> <sources>)
#
# Whether a build without sanitizers would repeat what a build with them has shown: the test has one
# thread and no label but its room's, and its sources do not ask whether they are sanitized
# (tests/support/effort.hpp: effort of two numbers, scaled), so it does the same work there.
function(hf_sanitizers_suffice out labels sources)
  set(${out} OFF PARENT_SCOPE)
  list(LENGTH labels count)
  if(NOT count EQUAL 1)
    return()
  endif()
  foreach(source IN LISTS sources)
    get_filename_component(file "${source}" ABSOLUTE)
    if(EXISTS "${file}")
      file(STRINGS "${file}" asks LIMIT_COUNT 1
        REGEX "effort\\([^()]*,|scaled\\(|is_sanitized|__SANITIZE_|has_feature")
      if(asks)
        return()
      endif()
    endif()
  endforeach()
  set(${out} ON PARENT_SCOPE)
endfunction()

# hf_test(<name> SOURCES file... [USES room...] [LINKS target...] [LABELS label...]
#         [TIMEOUT seconds] [TOGETHER] [ALWAYS])
#
# A GoogleTest program; each of its tests (TOGETHER: all of them) is one of ctest's, labelled with
# the room (the directory's name). `scratch.cpp` among the sources means the library that holds
# it. A test that has run for nine tenths of its time says where it hangs and ends
# (tests/support/watchdog.hpp). Where the list file sets HF_HOT_TESTS to a kind (hf_compiled_as),
# its tests are worth optimising in some presets, as rooms are.
#
# Without HF_REPEAT_TESTS a test that the sanitizers' builds run as fully is neither built nor run,
# unless it says ALWAYS: those builds do not have what it tests.
#
# Tests about threads also bear the label `concurrency`, which the ThreadSanitizer stage runs: those
# that say so, and those whose program or sources are named after concurrency, races or threads.
function(hf_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TOGETHER;ALWAYS" "TIMEOUT" "SOURCES;USES;LINKS;LABELS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hf_test(${name}): what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()
  get_filename_component(room "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  set(labels ${room} ${arg_LABELS})
  if("${name};${arg_SOURCES}" MATCHES "concurren|(^|[;/_])race|thread"
     AND NOT "concurrency" IN_LIST labels)
    list(APPEND labels concurrency)
  endif()
  list(TRANSFORM arg_USES PREPEND hf_)
  if("scratch.cpp" IN_LIST arg_SOURCES)
    list(REMOVE_ITEM arg_SOURCES scratch.cpp)
    list(APPEND arg_LINKS hf_test_scratch)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE hf_headers ${arg_USES} ${arg_LINKS} hf_test_support)
  target_include_directories(${name} PRIVATE ${HF_TEST_INCLUDES})
  set(kind tests)
  if(HF_HOT_TESTS)
    set(kind ${HF_HOT_TESTS})
  endif()
  hf_compiled_as(${name} ${kind})
  if(COMMAND hf_precompile_test)
    hf_precompile_test(${name} ${kind})
  endif()
  hf_sanitizers_suffice(suffices "${labels}" "${arg_SOURCES}")
  if(suffices AND NOT HF_REPEAT_TESTS AND NOT arg_ALWAYS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_dependencies(all_tests ${name})
  if("concurrency" IN_LIST labels)
    add_dependencies(concurrency_tests ${name})
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  math(EXPR deadline "${arg_TIMEOUT} * 9 / 10")
  if(arg_TOGETHER)
    add_test(NAME ${room}/${name} COMMAND ${name})
    set_tests_properties(${room}/${name} PROPERTIES LABELS "${labels}" TIMEOUT ${arg_TIMEOUT}
      ENVIRONMENT HF_TEST_DEADLINE=${deadline})
    return()
  endif()
  # PRE_TEST: a sanitized program may need the environment that only the test run gives it.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX "${room}/"
    TEST_LIST ${name}_tests
    PROPERTIES TIMEOUT ${arg_TIMEOUT} ENVIRONMENT HF_TEST_DEADLINE=${deadline})
  # Only the discovery knows the tests' names, and it cannot carry a list: the labels come after it.
  set(label_file "${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake")
  file(CONFIGURE OUTPUT "${label_file}" @ONLY CONTENT [[
if(@name@_tests)
  set_tests_properties(${@name@_tests} PROPERTIES LABELS "@labels@")
endif()
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${label_file}")
endfunction()

# hf_fuzz(<name> SOURCES file... [USES room...] [LINKS target...] [SEEDS directory] [RUNS n])
#
# A libFuzzer program (LLVMFuzzerTestOneInput), built where clang compiles with AddressSanitizer.
# ctest gives it a short run, of so many inputs; `./dev fuzz` runs it as long as you like.
function(hf_fuzz name)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang" OR NOT HF_SANITIZE MATCHES "address")
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SEEDS;RUNS" "SOURCES;USES;LINKS")
  list(TRANSFORM arg_USES PREPEND hf_)
  if(NOT arg_RUNS)
    set(arg_RUNS 20000)
  endif()
  add_executable(${name} ${arg_SOURCES})
  hf_compiled_as(${name} hot)
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  # Where a room is compiled as one, its library holds what the fuzzer compiles itself: that counts.
  target_link_options(${name} PRIVATE -fsanitize=fuzzer -Wl,--allow-multiple-definition)
  target_link_libraries(${name} PRIVATE hf_headers ${arg_USES} ${arg_LINKS})
  target_include_directories(${name} PRIVATE ${HF_TEST_INCLUDES})
  add_dependencies(fuzzers ${name})
  set(corpus "${PROJECT_BINARY_DIR}/corpus/${name}")
  file(MAKE_DIRECTORY "${corpus}")
  if(arg_SEEDS)
    set(seeds "${CMAKE_CURRENT_SOURCE_DIR}/${arg_SEEDS}")
  endif()
  file(APPEND "${PROJECT_BINARY_DIR}/fuzzers.txt"
    "${name} ${CMAKE_CURRENT_BINARY_DIR}/${name} ${corpus} ${seeds}\n")
  add_test(NAME fuzz/${name} COMMAND ${name} -runs=${arg_RUNS} -seed=1 -max_len=4096 ${seeds})
  set_tests_properties(fuzz/${name} PROPERTIES LABELS "fuzz" TIMEOUT 300)
endfunction()

# Has `./dev check` look at a target's sources.
file(REMOVE "${PROJECT_BINARY_DIR}/linted.txt")
function(hf_lint target)
  file(APPEND "${PROJECT_BINARY_DIR}/linted.txt" "${target}\n")
endfunction()

if(HF_BUILD_TESTS)
  include(GoogleTest)
  add_custom_target(all_tests)
  add_custom_target(concurrency_tests)
  add_custom_target(fuzzers)
  add_dependencies(all_tests fuzzers)
  file(REMOVE "${PROJECT_BINARY_DIR}/fuzzers.txt")
endif()
