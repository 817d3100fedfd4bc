# Installation: the rooms' libraries, the public headers, find_package(holdfast) and pkg-config.
#
# Programs link holdfast::holdfast, which brings every library room with it. The server is part of
# the command line, not of the library.
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY HF_ROOMS)
list(REMOVE_ITEM rooms server)
list(TRANSFORM rooms PREPEND hf_ OUTPUT_VARIABLE room_targets)

add_library(hf_holdfast INTERFACE)
set_target_properties(hf_holdfast PROPERTIES EXPORT_NAME holdfast)
target_link_libraries(hf_holdfast INTERFACE hf_headers ${room_targets})
add_library(holdfast::holdfast ALIAS hf_holdfast)

# Builds what is installed, and nothing else.
get_property(programs GLOBAL PROPERTY HF_INSTALLED_PROGRAMS)
add_custom_target(installables)
add_dependencies(installables ${room_targets} ${programs})

set(config_directory "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")
install(TARGETS hf_headers hf_holdfast ${room_targets} EXPORT holdfast
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library)
install(EXPORT holdfast NAMESPACE holdfast:: FILE holdfastTargets.cmake
  DESTINATION "${config_directory}" COMPONENT library)
install(DIRECTORY include/holdfast DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT library
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "crashlab" EXCLUDE)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT library)

# A static library hands on what its rooms link. Only what is named here may be linked by them.
set(dependencies Threads tl-expected)
set(pc_libraries "")
foreach(room IN LISTS rooms)
  get_target_property(kind hf_${room} TYPE)
  if(kind STREQUAL "STATIC_LIBRARY")
    list(PREPEND pc_libraries "-lholdfast_${room}")
    get_target_property(links hf_${room} LINK_LIBRARIES)
    if(links MATCHES "fmt::fmt")
      list(APPEND dependencies fmt)
    endif()
  endif()
endforeach()
list(REMOVE_DUPLICATES dependencies)
if(fmt IN_LIST dependencies)
  list(APPEND pc_libraries -lfmt)
endif()
list(JOIN pc_libraries " " pc_libraries)
set(find_dependencies "")
foreach(dependency IN LISTS dependencies)
  string(APPEND find_dependencies "find_dependency(${dependency})\n")
endforeach()

configure_package_config_file(cmake/holdfastConfig.cmake.in holdfastConfig.cmake
  INSTALL_DESTINATION "${config_directory}"
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(holdfastConfigVersion.cmake COMPATIBILITY SameMinorVersion)
set(pc_directory "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_prefix "/p/${pc_directory}" "/p")
configure_file(cmake/holdfast.pc.in holdfast.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/holdfastConfig.cmake"
              "${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake"
  DESTINATION "${config_directory}" COMPONENT library)
install(FILES "${PROJECT_BINARY_DIR}/holdfast.pc"
  DESTINATION "${pc_directory}" COMPONENT library)
