# What test programs share (tests/support): their main, with its watchdog; scratch.cpp; headers.

add_library(hf_test_support STATIC tests/support/main.cpp tests/support/watchdog.cpp)
target_link_libraries(hf_test_support PUBLIC hf_headers GTest::gtest)
target_include_directories(hf_test_support PUBLIC "${PROJECT_SOURCE_DIR}/tests")

add_library(hf_test_scratch STATIC tests/support/scratch.cpp)
target_link_libraries(hf_test_scratch PUBLIC hf_test_support hf_region)
target_include_directories(hf_test_scratch PUBLIC "${PROJECT_SOURCE_DIR}/src")

# A test program that links it has these calls come to it first: tests/support/kernel.hpp.
add_library(hf_test_kernel STATIC tests/support/kernel.cpp)
target_link_libraries(hf_test_kernel PUBLIC hf_headers)
target_include_directories(hf_test_kernel
  PUBLIC "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/src")
foreach(call IN ITEMS open openat fcntl ioctl lstat fstat fstatfs fchmod fsync fdatasync ftruncate
        fallocate posix_fadvise sync_file_range pread pwrite pwritev copy_file_range getrandom
        unlink link linkat rename renameat2 mmap munmap madvise nanosleep clock_gettime lseek)
  target_link_options(hf_test_kernel INTERFACE "LINKER:--wrap=${call}")
endforeach()

# hf_precompile_test(<test> <kind>): has it read the headers that most tests include as they were
# compiled once for its kind of flags (hf_compiled_as).
function(hf_precompile_test name kind)
  if(NOT kind IN_LIST HF_TOGETHER)
    return()
  endif()
  set(holder hf_test_headers_of_${kind})
  if(NOT TARGET ${holder})
    # A program, for its flags are to be those of programs.
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/test_headers.cpp" CONTENT "int main() {}\n" @ONLY)
    add_executable(${holder} "${PROJECT_BINARY_DIR}/test_headers.cpp")
    target_link_libraries(${holder} PRIVATE hf_headers GTest::gtest)
    target_include_directories(${holder} PRIVATE
      "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
    hf_compiled_as(${holder} ${kind})
    target_precompile_headers(${holder} PRIVATE
      "${PROJECT_SOURCE_DIR}/tests/support/test_headers.hpp")
  endif()
  target_precompile_headers(${name} REUSE_FROM ${holder})
endfunction()
