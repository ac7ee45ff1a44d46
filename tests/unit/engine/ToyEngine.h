// SPDX-License-Identifier: Apache-2.0
// Builds engine files in memory around a toy model, so that the runtime is tested without a
// compiler.
#pragma once

#include "runtime/devices/Device.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/serving/Session.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ingot::test {

/// Bytes as a mapping would give them: aligned to 64 and readable for 64 bytes past their end.
class AlignedBytes {
public:
  explicit AlignedBytes(const std::vector<uint8_t> &bytes);
  std::span<const uint8_t> view() const { return {data.get(), size}; }

private:
  struct Free {
    void operator()(uint8_t *memory) const { std::free(memory); }
  };
  size_t size;
  std::unique_ptr<uint8_t[], Free> data;
};

/// A range of T a variant claims, and the guard of its kernel.
struct ToyVariant {
  int64_t rangeMin, rangeMax, guardMin, guardMax;
};

/// A kernel that forms the toy's product.
struct ToyProductKernel {
  std::string symbol;
  bool plain = false;
};

struct ToyOptions {
  int64_t maxTokens = 32;
  int64_t maxSequences = 8;
  int64_t maxLogitRows = 32;
  int64_t maxContext = 96;
  int32_t blockTokens = 16;
  int64_t window = 0;    ///< > 0: a sliding KV group
  bool tokenizer = true; ///< of the characters below
  /// Of the ids, one a piece.
  std::string characters = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ .";
  std::map<int32_t, std::string> bytePieces; ///< "<0xNN>" of ids that are parts of characters
  std::string chatTemplate;                  ///< empty: none
  int32_t bos = -1;
  bool prefixed = false; ///< the tokenizer puts `bos` before texts
  std::vector<int32_t> eos = {63};
  std::vector<int32_t> goldenPrompt; ///< not empty: one golden case
  std::vector<int32_t> goldenTokens;
  std::vector<float> goldenMargins;
  std::vector<std::string> features;
  uint32_t kernelAbi = INGOT_KERNEL_ABI_VERSION;
  std::vector<ToyVariant> appendVariants = {{1, 32, 1, 32}};
  std::string extraInput;       ///< name of an input the runtime does not know
  std::string stepDim = "T";    ///< name of the token dim
  int64_t hiddenOffset = -1;    ///< >= 0: offset of "hidden" in the arena, right or wrong
  std::vector<uint8_t> library; ///< instead of the real kernels
  /// Of the kernel of the logits, whose buffers are hidden, logit_rows, the table of
  /// toyVocabulary * 4 bytes and logits.
  std::vector<runtime::TensorMapRecipe> tensorMaps;
  std::string mapRowsDim;        ///< not empty: the rows of these maps are this dim
  bool fencedMaps = false;       ///< they read what launches write
  std::vector<uint32_t> cluster; ///< of that kernel; not empty: its grid is in clusters
  std::string hiddenKernel = "toy_hidden";
  /// Not empty: the logits are a product of a workspace, and these kernels may form it. The first
  /// one runs; all but one that is called plain state themselves as candidates.
  std::vector<ToyProductKernel> productKernels;
  bool randomWeight = false; ///< a weight that the loader makes: two parts in turn, in tiles
};

/// What makes the model repeat what stands 512 tokens before: characters of which answers with
/// calls are made, the last of which, "~", ends an answer.
ToyOptions echoingToy();

constexpr int64_t toyVocabulary = 64;
/// Bytes of ToyOptions::randomWeight.
constexpr int64_t toyRandomBytes = 320 * 48 / 2;

/// The kernels' shared object.
std::vector<uint8_t> toyLibrary();

/// A whole engine file.
std::vector<uint8_t> makeToyEngine(const ToyOptions &options = {});

/// Writes the header's digest anew after the metadata was changed.
void fixMetadataDigest(std::vector<uint8_t> &file);

/// An opened toy engine; the bytes live as long as the session.
struct ToySession {
  std::unique_ptr<AlignedBytes> bytes;
  std::unique_ptr<runtime::Session> session;
  runtime::Session *operator->() { return session.get(); }
};

ToySession openToy(const ToyOptions &options = {}, const runtime::SessionOptions &limits = {});

/// The same on a host device that lets reads be finished later, as a GPU does.
ToySession openToyAhead(const ToyOptions &options = {}, const runtime::SessionOptions &limits = {});

} // namespace ingot::test
