// SPDX-License-Identifier: Apache-2.0
// The texts and conversations that files and folders hold.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <filesystem>
#include <span>
#include <vector>

namespace ingot::quantize {

/// One text, or one conversation as the body of a chat request.
struct Document {
  std::string words;
  bool isConversation = false;
  std::string where; ///< for errors: "chats.jsonl:3"
};

/// `paths`, with the files of each folder that end in .txt, .md or .jsonl in its place, by name.
/// Errors: INGOT-E2142 where a folder has none, E7001 where it cannot be read.
checkpoint::Expected<std::vector<std::filesystem::path>>
textFiles(std::span<const std::filesystem::path> paths);

/// What the file of that name says: of .jsonl a document a line, {"messages": [...]} or
/// {"text": "..."}; empty lines are none. Of other files their text. Errors: INGOT-E2143 and E2144,
/// which name file and line.
checkpoint::Expected<std::vector<Document>> documentsOf(const std::filesystem::path &file,
                                                        std::string text);

} // namespace ingot::quantize
