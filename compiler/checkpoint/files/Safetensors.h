// SPDX-License-Identifier: Apache-2.0
// The safetensors container: 8 bytes of header length (little-endian), a JSON header that names
// tensors, then their bytes. Only the header is read here; format: the huggingface/safetensors
// project, `safetensors/src/tensor.rs`.
#pragma once

#include "compiler/checkpoint/files/File.h"
#include "compiler/checkpoint/files/Tensor.h"

#include <map>

namespace ingot::checkpoint {

struct SafetensorsHeader {
  std::vector<Tensor> tensors;                              ///< in file order
  std::map<std::string, std::string, std::less<>> metadata; ///< `__metadata__`
};

/// Reads and checks the header of a file: afterwards every tensor lies inside the file, its bytes
/// fit its shape and type, and the tensors tile the data part without holes or overlaps.
/// Errors: INGOT-E1010 to E1016, those of Json::parse and those of File. `fileIndex` is copied to
/// the tensors.
Expected<SafetensorsHeader> readSafetensors(const File &file, uint32_t fileIndex = 0);

/// The same for a header already in memory: `json` without the 8 length bytes, `fileBytes` the
/// size of the whole file.
Expected<SafetensorsHeader> parseSafetensors(std::string_view json, uint64_t fileBytes,
                                             const std::string &fileName, uint32_t fileIndex = 0);

} // namespace ingot::checkpoint
