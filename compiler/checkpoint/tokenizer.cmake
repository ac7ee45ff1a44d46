# SPDX-License-Identifier: Apache-2.0
# The tokenizer readers, and the writer of the engine's tokenizer section: it stands in compiler/
# because only EngineWriter* may know the schema, and is built here because it needs no MLIR.
find_package(Protobuf REQUIRED)

set(proto_stem ${CMAKE_BINARY_DIR}/compiler/checkpoint/SentencePiece)
add_custom_command(OUTPUT ${proto_stem}.pb.h ${proto_stem}.pb.cc
  COMMAND protobuf::protoc -I ${CMAKE_SOURCE_DIR} --cpp_out=${CMAKE_BINARY_DIR}
          compiler/checkpoint/SentencePiece.proto
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/SentencePiece.proto
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  COMMENT "protoc SentencePiece.proto")

ingot_library(IngotTokenizerReader
  SOURCES Base64.cpp GgufTokenizer.cpp SentencePieceReader.cpp SentencePieces.cpp
          TiktokenReader.cpp TokenizerConfig.cpp
          TokenizerJson.cpp TokenizerReader.cpp TokenizerRegex.cpp TokenizerSteps.cpp
          TokenizerVocabulary.cpp ${proto_stem}.pb.h ${proto_stem}.pb.cc
  LINK IngotCheckpoint protobuf::libprotobuf-lite ${PCRE2_STATIC})
target_include_directories(IngotTokenizerReader SYSTEM PRIVATE ${PCRE2_INCLUDE})
target_compile_definitions(IngotTokenizerReader PRIVATE PCRE2_STATIC)

ingot_library(IngotTokenizerWriter
  SOURCES ${CMAKE_SOURCE_DIR}/compiler/engine_file/EngineWriterTokenizer.cpp
  LINK IngotSchema)
