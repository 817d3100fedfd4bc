# Installation of the crash lab: its library, the rooms as it sees them (instrumented), and their
# headers.
#
#   find_package(holdfast REQUIRED COMPONENTS crashlab)
#   add_library(my_queue STATIC my_queue.cpp my_target.cpp)
#   holdfast_instrument(my_queue)
#   target_link_libraries(my_queue PUBLIC holdfast::crashlab)
#
# The rooms are installed a second time, beside the ordinary ones, in a directory of their own: a
# program links one kind or the other.
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY HF_ROOMS)
list(TRANSFORM rooms PREPEND hf_ OUTPUT_VARIABLE room_targets)
list(TRANSFORM rooms PREPEND holdfast::lab:: OUTPUT_VARIABLE lab_rooms)
list(JOIN lab_rooms " " lab_rooms)
set(lab_directory "${CMAKE_INSTALL_LIBDIR}/holdfast-crashlab")
set(lab_includes "${CMAKE_INSTALL_INCLUDEDIR}/holdfast/internal")
set(config_directory "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")

install(TARGETS hf_headers hf_crashlab ${room_targets} EXPORT holdfast_crashlab
  ARCHIVE DESTINATION "${lab_directory}" COMPONENT crashlab)
install(EXPORT holdfast_crashlab NAMESPACE holdfast::lab:: FILE holdfastCrashlabTargets.cmake
  DESTINATION "${config_directory}" COMPONENT crashlab)
install(DIRECTORY include/holdfast DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT crashlab
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
# What a structure of one's own is built on lies in the rooms, as long as there is no public face of
# it (holdfast/checkpoint.hpp).
install(DIRECTORY src/ DESTINATION "${lab_includes}" COMPONENT crashlab
  FILES_MATCHING PATTERN "*.hpp")

configure_file(cmake/holdfastCrashlab.cmake.in holdfastCrashlab.cmake @ONLY)
set(find_dependencies "")
foreach(dependency IN ITEMS Threads tl-expected fmt)
  string(APPEND find_dependencies "find_dependency(${dependency})\n")
endforeach()
configure_package_config_file(cmake/holdfastConfig.cmake.in holdfastConfig.cmake
  INSTALL_DESTINATION "${config_directory}"
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(holdfastConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/holdfastConfig.cmake"
              "${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake"
              "${PROJECT_BINARY_DIR}/holdfastCrashlab.cmake"
  DESTINATION "${config_directory}" COMPONENT crashlab)
