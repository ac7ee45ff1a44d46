# SPDX-License-Identifier: Apache-2.0
# Compiler flags shared by every target, and `ingot_library`, the one way to add a library.

add_library(IngotFlags INTERFACE)
target_include_directories(IngotFlags INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}>)
target_compile_options(IngotFlags INTERFACE -Wall -Wextra -Wno-unused-parameter
  -fno-omit-frame-pointer)
if(INGOT_SANITIZE)
  target_compile_options(IngotFlags INTERFACE -fsanitize=address,undefined
    -fno-sanitize-recover=undefined)
  target_link_options(IngotFlags INTERFACE -fsanitize=address,undefined)
endif()

# ingot_library(Name SOURCES a.cpp ... LINK lib ...): a static library with the project's flags.
function(ingot_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC IngotFlags ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# ingot_compiler_library: the same, for code that includes MLIR or LLVM headers.
function(ingot_compiler_library name)
  ingot_library(${name} ${ARGN})
  target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_link_libraries(${name} PUBLIC MLIR LLVM)
endfunction()

# ingot_unit_test(name a_test.cpp LINK lib ...): one GoogleTest program under tests/unit.
function(ingot_unit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE IngotFlags ${ARG_LINK} GTest::gtest_main GTest::gmock)
  target_compile_definitions(${name} PRIVATE
    INGOT_SOURCE_DIR="${CMAKE_SOURCE_DIR}" INGOT_SHARED_DIR="${CMAKE_SOURCE_DIR}/../shared")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit)
endfunction()
