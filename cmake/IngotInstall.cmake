# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies and CPack packs. Component `runtime`: its programs, the library in
# both forms, its headers and what find_package(Ingot) and pkg-config read. Component `compiler`:
# ingot.
include(CMakePackageConfigHelpers)

set(INGOT_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Ingot)
set(generated ${CMAKE_CURRENT_BINARY_DIR}/install)

install(TARGETS ingot-run ingot-server RUNTIME COMPONENT runtime)
install(TARGETS IngotShared EXPORT IngotTargets
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT runtime
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set_target_properties(IngotShared PROPERTIES EXPORT_NAME ingot)
install(FILES ${CMAKE_BINARY_DIR}/lib/libingot.a
  DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
# All that the component installs.
add_custom_target(runtime-component
  DEPENDS ingot-run ingot-server IngotShared IngotStatic IngotCudaSim)
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/ingot
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT runtime)
install(EXPORT IngotTargets NAMESPACE Ingot:: DESTINATION ${INGOT_CMAKE_DIR} COMPONENT runtime)

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/IngotConfig.cmake.in
  ${generated}/IngotConfig.cmake
  INSTALL_DESTINATION ${INGOT_CMAKE_DIR}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${generated}/IngotConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${generated}/IngotConfig.cmake ${generated}/IngotConfigVersion.cmake
  DESTINATION ${INGOT_CMAKE_DIR} COMPONENT runtime)

# Without absolute parts, so that pkg-config finds the folder wherever it was unpacked.
file(RELATIVE_PATH INGOT_PREFIX_FROM_PKGCONFIG
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" INGOT_PREFIX_FROM_PKGCONFIG "${INGOT_PREFIX_FROM_PKGCONFIG}")
configure_file(${CMAKE_SOURCE_DIR}/cmake/ingot.pc.in ${generated}/ingot.pc @ONLY)
install(FILES ${generated}/ingot.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT runtime)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/ingot COMPONENT runtime)

# The runtime tarball; scripts/package makes it.
set(CPACK_GENERATOR TGZ)
set(CPACK_COMPONENTS_ALL runtime)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_NAME ingot-runtime)
set(CPACK_PACKAGE_FILE_NAME
  ingot-runtime-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
include(CPack)
