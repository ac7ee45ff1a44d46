# SPDX-License-Identifier: Apache-2.0
# Compiler flags shared by every target, and `ingot_library`, the one way to add a library.

add_library(IngotFlags INTERFACE)
target_include_directories(IngotFlags INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}>)
target_compile_options(IngotFlags INTERFACE -Wall -Wextra -Wno-unused-parameter
  -fno-omit-frame-pointer)
if(INGOT_SANITIZE STREQUAL "thread")
  target_compile_options(IngotFlags INTERFACE -fsanitize=thread)
  target_link_options(IngotFlags INTERFACE -fsanitize=thread)
elseif(INGOT_SANITIZE)
  target_compile_options(IngotFlags INTERFACE -fsanitize=address,undefined
    -fno-sanitize-recover=undefined)
  target_link_options(IngotFlags INTERFACE -fsanitize=address,undefined)
endif()
if(INGOT_FUZZ)
  target_compile_options(IngotFlags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(IngotFlags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# ingot_quick_to_compile(Name): under the sanitizers this target is not optimised; for what is dear
# to compile and takes next to no time to run (decision 0079).
function(ingot_quick_to_compile name)
  if(INGOT_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)
  endif()
endfunction()

# ingot_small_code(Name): for what runs once a request, for microseconds; that programs and the
# library are small matters more.
function(ingot_small_code name)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT INGOT_SANITIZE)
    target_compile_options(${name} PRIVATE -Os)
  endif()
endfunction()

# ingot_runtime_program(Name): what runs at its user's: small, and with the C++ library in it.
function(ingot_runtime_program name)
  target_link_options(${name} PRIVATE LINKER:--gc-sections)
  if(NOT INGOT_SANITIZE)
    target_link_options(${name} PRIVATE -static-libstdc++)
    if(CMAKE_BUILD_TYPE STREQUAL "Release")
      target_link_options(${name} PRIVATE -s)
    endif()
  endif()
endfunction()

# ingot_library(Name SOURCES a.cpp ... LINK lib ...): a static library with the project's flags.
function(ingot_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC IngotFlags ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# Programs are compiled as libraries are, so that both can use the same parsed headers.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})

# Parsed headers that know no time of their files: equal content gives equal bytes, which is what a
# compiler cache goes by.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND CMAKE_CXX_COMPILE_OPTIONS_CREATE_PCH -Xclang -fno-pch-timestamp)
endif()

# ingot_parsed_headers(Name LINK lib... HEADERS <header>...): a target that parses headers of
# other projects once, for the targets that say `REUSE_FROM Name` (decision 0041). Every file still
# includes what it uses: the preset `dev` leaves these headers out.
function(ingot_parsed_headers name)
  cmake_parse_arguments(ARG "" "" "LINK;HEADERS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE IngotFlags ${ARG_LINK})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# ingot_compiler_library: the same, for code that includes MLIR or LLVM headers.
function(ingot_compiler_library name)
  if(NOT TARGET IngotMlirHeaders)
    ingot_parsed_headers(IngotMlirHeaders HEADERS <llvm/ADT/StringExtras.h>
      <llvm/ADT/TypeSwitch.h> <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h>
      <mlir/Dialect/Math/IR/Math.h> <mlir/IR/Builders.h> <mlir/Pass/Pass.h>)
    target_include_directories(IngotMlirHeaders SYSTEM PRIVATE
      ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  endif()
  ingot_library(${name} ${ARGN})
  target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_link_libraries(${name} PUBLIC IngotLlvm)
  target_precompile_headers(${name} REUSE_FROM IngotMlirHeaders)
endfunction()

# Tests are dear to compile and wait for what they test (decision 0079).
set(INGOT_TEST_FLAGS -O0)

# ingot_unit_test(name a_test.cpp LINK lib ...): one GoogleTest program. The target `unit_tests`
# builds all of them and what they start. OPTIMIZED: it computes much by itself.
function(ingot_unit_test name)
  if(NOT TARGET IngotTestHeaders)
    ingot_parsed_headers(IngotTestHeaders LINK GTest::gmock
      HEADERS <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp> <filesystem> <map> <random>
        <string> <vector>)
    target_compile_options(IngotTestHeaders PRIVATE ${INGOT_TEST_FLAGS})
  endif()
  cmake_parse_arguments(ARG "OPTIMIZED" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS})
  if(INGOT_SANITIZE OR NOT ARG_OPTIMIZED) # Parsed headers fit one level.
    target_compile_options(${name} PRIVATE ${INGOT_TEST_FLAGS})
    target_precompile_headers(${name} REUSE_FROM IngotTestHeaders)
  endif()
  target_link_libraries(${name} PRIVATE IngotFlags ${ARG_LINK} GTest::gtest_main GTest::gmock)
  target_compile_definitions(${name} PRIVATE
    INGOT_SOURCE_DIR="${CMAKE_SOURCE_DIR}" INGOT_SHARED_DIR="${CMAKE_SOURCE_DIR}/../shared")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit)
  if(NOT TARGET unit_tests)
    add_custom_target(unit_tests)
  endif()
  add_dependencies(unit_tests ${name})
endfunction()

# ingot_source_digest(TARGET NAMESPACE FILE...): gives TARGET a header SourceDigest.h with the
# digest of the files, in the folder of the generated ones.
function(ingot_source_digest target namespace)
  set(header ${CMAKE_CURRENT_BINARY_DIR}/SourceDigest.h)
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${ARGN}"
      -DFROM=${CMAKE_SOURCE_DIR}/cmake/SourceDigest.h.in -DTO=${header}
      -DINGOT_DIGEST_NAMESPACE=${namespace}
      -P ${CMAKE_SOURCE_DIR}/cmake/SourceDigest.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/SourceDigest.h.in
      ${CMAKE_SOURCE_DIR}/cmake/SourceDigest.cmake
    COMMENT "Digest of the sources of ${target}" VERBATIM)
  target_sources(${target} PRIVATE ${header})
endfunction()
