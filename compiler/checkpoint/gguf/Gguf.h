// SPDX-License-Identifier: Apache-2.0
// The GGUF container, versions 2 and 3, little-endian: metadata of typed values, the places of
// tensors, then their bytes. Format: `docs/gguf.md` and `include/gguf.h` of ggml. Only what stands
// before the tensors' bytes is read here.
#pragma once

#include "compiler/checkpoint/files/File.h"
#include "compiler/checkpoint/files/Json.h"
#include "compiler/checkpoint/files/Tensor.h"

namespace ingot::checkpoint {

/// One file.
struct Gguf {
  Json metadata; ///< an object: key → number, string, boolean or array of these
  /// In file order, under the names the file gives them. A GGUF file lists the dimensions of a
  /// tensor innermost first; `Tensor::shape` has them outermost first, as everywhere else.
  std::vector<Tensor> tensors;
};

/// Reads and checks everything before the tensors' bytes: afterwards each tensor lies inside the
/// file, at a multiple of the alignment, and overlaps no other. `fileIndex` is copied to the
/// tensors. Errors, each with a byte offset or a name: INGOT-E1100 to E1108, and those of File.
Expected<Gguf> readGguf(const File &file, uint32_t fileIndex = 0);

/// A model in one file or in several that are called NAME-00001-of-00003.gguf and so on.
struct GgufModel {
  Json metadata;               ///< the first file's; the others repeat at most parts of it
  std::vector<File> files;     ///< in order; Tensor::fileIndex counts them
  std::vector<Tensor> tensors; ///< of all files
};

/// Opens the file at `path` and, where it is one of several, all of them. Any may be named.
/// Errors: those of readGguf(), INGOT-E1105 for a tensor in two files, INGOT-E1109 where the files
/// do not belong together, INGOT-E1110 where one is missing.
Expected<GgufModel> openGguf(const std::filesystem::path &path);

/// Whether `path` names a file to be read as GGUF: by its suffix, or because it begins like one.
bool isGguf(const std::filesystem::path &path);

} // namespace ingot::checkpoint
