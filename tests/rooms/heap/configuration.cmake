# cmake -DCOMPILER=... -DINCLUDE=... -DOBJECT=... -P configuration.cmake: a program that was
# compiled with another HF_WINDOW_BITS, or with libstdc++'s debug containers, must ask the linker
# for names that a library of the other configuration does not have.
cmake_minimum_required(VERSION 3.25)
set(source "${CMAKE_CURRENT_LIST_DIR}/refused/accepted.cpp")
foreach(pair IN ITEMS "-DHF_WINDOW_BITS=36=::window_bits_36::next_type_number"
                      "-DHF_WINDOW_BITS=40=::window_bits_40::next_type_number"
                      "-D_GLIBCXX_DEBUG=::debug_containers_window_bits_40::next_type_number")
  string(REGEX MATCH "^(.*)=(::.*)$" matched "${pair}")
  set(option "${CMAKE_MATCH_1}")
  set(name "${CMAKE_MATCH_2}")
  execute_process(COMMAND "${COMPILER}" -std=c++20 "${option}" "-I${INCLUDE}" -c "${source}"
    -o "${OBJECT}" RESULT_VARIABLE failed ERROR_VARIABLE text)
  if(failed)
    message(FATAL_ERROR "${COMPILER} ${option} fails:\n${text}")
  endif()
  execute_process(COMMAND nm -C --undefined-only "${OBJECT}" OUTPUT_VARIABLE names)
  string(FIND "${names}" "${name}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "with ${option} it does not ask for ${name}:\n${names}")
  endif()
endforeach()
