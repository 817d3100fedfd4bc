# Flags of every target of the project: the language, warnings, sanitizers.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()

if(HF_MARCH AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-march=${HF_MARCH})
endif()

if(PROJECT_IS_TOP_LEVEL)
  add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # GCC's -Wconversion leaves signedness alone in C++; so that both compilers ask for the same.
    add_compile_options(-Wno-sign-conversion)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 finds fault with the library's own `"literal" + std::string` (GCC's bug 105651).
    add_compile_options(-Wno-restrict)
  endif()
  if(HF_WERROR)
    add_compile_options(-Werror)
  endif()
endif()

if(HF_SANITIZE)
  add_compile_options(-fsanitize=${HF_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HF_SANITIZE})
  if(HF_SANITIZE MATCHES "address" AND HF_SANITIZE MATCHES "undefined")
    # An access through a null pointer, or to an object that is none, ends the program in
    # AddressSanitizer as well. To check each pointer for it first is a sixth of what a build takes.
    add_compile_options(-fno-sanitize=null,vptr,object-size)
  endif()
endif()

if(HF_PERSIST_POINTS)
  add_compile_definitions(HF_PERSIST_POINTS=1)
endif()
if(HF_MUTATION)
  add_compile_definitions(HF_MUTATION_${HF_MUTATION}=1)
  message(STATUS "HF_MUTATION=${HF_MUTATION}: this build is broken on purpose")
endif()

# hf_compiled_as(<target> <rooms | programs | tests | hot | indexes>): what the build saves on
# targets of that kind; hot is what other targets hold but is worth optimising as a room is. Tests
# of indexes are a kind of their own: under sanitizers, to optimise one takes two minutes and saves
# seconds.
#
# HF_TOGETHER: the files of a target are compiled as one. Every header is then read once a target
# and not once a file, which is most of what a build costs. Anonymous namespaces of one target must
# have different names therefore. Shadowed names and missing includes are left to other builds.
# HF_UNOPTIMISED: code that is called seldom; optimising it takes longer than it saves.
# HF_LITTLE_OPTIMISED: code that is called often, but not in what is measured.
function(hf_compiled_as target kind)
  if(kind IN_LIST HF_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    # GCC takes an included file for a header, in which an anonymous namespace would be a mistake.
    target_compile_options(${target} PRIVATE -Wno-shadow
      "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>")
  endif()
  if(kind IN_LIST HF_UNOPTIMISED)
    target_compile_options(${target} PRIVATE -O0)
  elseif(kind IN_LIST HF_LITTLE_OPTIMISED)
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# hf_instrument(<target>): its loads and stores are seen by the crash lab (crashlab/runtime), which
# stands in for the runtime that the compiler's instrumentation is made for. No vectors
# are made of scalar accesses: the pass leaves an access of 32 bytes without a call, and the lab
# would not see it.
set(HF_INSTRUMENTATION [[-fsanitize=thread -fno-vectorize -fno-slp-vectorize
    "SHELL:-mllvm -tsan-instrument-func-entry-exit=0"
    "SHELL:-mllvm -tsan-instrument-read-before-write=1"]])
function(hf_instrument target)
  if(HF_CRASHLAB)
    separate_arguments(options UNIX_COMMAND "${HF_INSTRUMENTATION}")
    target_compile_options(${target} PRIVATE ${options})
  endif()
endfunction()
