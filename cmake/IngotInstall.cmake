# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies and CPack packs. Component `library`: libingot.so.N. Component
# `development`: the archive, the headers and what find_package(Ingot) and pkg-config read.
# Component `runtime`: the programs and the simulator. Component `compiler`: ingot. Component
# `notices`: licences, for the tarball; Debian's packages have a form of their own
# (packaging/debian).
include(CMakePackageConfigHelpers)

set(INGOT_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Ingot)
set(generated ${CMAKE_CURRENT_BINARY_DIR}/install)

install(TARGETS ingot-run ingot-server ingot-images RUNTIME COMPONENT runtime)
install(TARGETS IngotShared EXPORT IngotTargets
  LIBRARY COMPONENT library NAMELINK_COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set_target_properties(IngotShared PROPERTIES EXPORT_NAME ingot)
install(FILES ${CMAKE_BINARY_DIR}/lib/libingot.a
  DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
# All that is installed without the compiler.
add_custom_target(runtime-component
  DEPENDS ingot-run ingot-server ingot-images IngotShared IngotStatic IngotCudaSim)
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/ingot
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT IngotTargets NAMESPACE Ingot:: DESTINATION ${INGOT_CMAKE_DIR} COMPONENT development)

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/IngotConfig.cmake.in
  ${generated}/IngotConfig.cmake
  INSTALL_DESTINATION ${INGOT_CMAKE_DIR}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${generated}/IngotConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${generated}/IngotConfig.cmake ${generated}/IngotConfigVersion.cmake
  DESTINATION ${INGOT_CMAKE_DIR} COMPONENT development)

# Without absolute parts, so that pkg-config finds the folder wherever it was unpacked.
file(RELATIVE_PATH INGOT_PREFIX_FROM_PKGCONFIG
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" INGOT_PREFIX_FROM_PKGCONFIG "${INGOT_PREFIX_FROM_PKGCONFIG}")
configure_file(${CMAKE_SOURCE_DIR}/cmake/ingot.pc.in ${generated}/ingot.pc @ONLY)
install(FILES ${generated}/ingot.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# What scripts/package writes before: man pages and completion, and the notices of the tarball.
foreach(component runtime compiler notices)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/documents/${component}/
    DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT ${component} OPTIONAL)
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/ingot COMPONENT notices)

# The tarball of all that runs without the compiler; scripts/package makes it.
set(CPACK_GENERATOR TGZ)
set(CPACK_COMPONENTS_ALL library development runtime notices)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_NAME ingot-runtime)
set(CPACK_PACKAGE_FILE_NAME
  ingot-runtime-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
include(CPack)
