// SPDX-License-Identifier: Apache-2.0
// The toy model as programs, buffers and sections: what the compiler's writer does, by hand.
#include "tests/unit/engine/ToyEngine.h"

#include "runtime/devices/host/HostDevice.h"

#include "runtime/schema/Engine_generated.h"
#include "runtime/schema/FileHeader.h"
#include "runtime/schema/KernelAbi.h"
#include "runtime/schema/Tokenizer_generated.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>

namespace ingot::test {
namespace {

using namespace ingot::schema;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr int64_t kWorkspaceBytes = 20000;

enum DimIndex : uint32_t { T, S, L, B, Threads };
enum BufferIndex : uint32_t {
  Tokens,
  Positions,
  TokenSequences,
  SequenceOffsets,
  ContextLengths,
  BlockTable,
  LogitRows,
  Kv,
  Hidden,
  WeightTable,
  Logits,
  Params,
  BiasIds,
  BiasValues,
  Mask,
  Counts,
  SampledTokens,
  SampledLogprobs,
  TopTokens,
  TopLogprobs,
  Unknown
};

std::vector<uint8_t> makeTokenizer(const ToyOptions &options) {
  FlatBufferBuilder builder;
  std::vector<uint8_t> bytes;
  std::vector<uint32_t> offsets = {0};
  std::vector<uint8_t> flags;
  for (int i = 0; i < toyVocabulary; ++i) {
    auto part = options.bytePieces.find(i);
    std::string piece = part == options.bytePieces.end()
                            ? std::string(1, options.characters.at(size_t(i)))
                            : part->second;
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    offsets.push_back(uint32_t(bytes.size()));
    flags.push_back(uint8_t(PieceFlag::Model));
  }
  auto pieceBytes = builder.CreateVector(bytes);
  auto pieceOffsets = builder.CreateVector(offsets);
  auto pieceFlags = builder.CreateVector(flags);
  auto merges = builder.CreateVectorOfStructs(std::vector<Merge>());
  auto decoder = builder.CreateVector(
      std::vector<Offset<DecoderStep>>{CreateDecoderStep(builder, DecoderKind::ByteFallback),
                                       CreateDecoderStep(builder, DecoderKind::Fuse)});
  std::vector<uint32_t> before;
  if (options.prefixed)
    before.push_back(uint32_t(options.bos));
  auto prefix = builder.CreateVector(before);
  std::vector<Offset<ChatTemplate>> templates;
  if (!options.chatTemplate.empty())
    templates.push_back(CreateChatTemplateDirect(builder, "default", options.chatTemplate.c_str()));
  auto chatTemplates = builder.CreateVector(templates);
  TokenizerBuilder tokenizer(builder);
  tokenizer.add_chat_templates(chatTemplates);
  tokenizer.add_piece_bytes(pieceBytes);
  tokenizer.add_piece_offsets(pieceOffsets);
  tokenizer.add_piece_flags(pieceFlags);
  tokenizer.add_merges(merges);
  tokenizer.add_decoder(decoder);
  tokenizer.add_prefix_ids(prefix);
  FinishTokenizerBuffer(builder, tokenizer.Finish());
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

/// Builds the metadata; sections are given with their final places.
class ToyMetadata {
public:
  struct Place {
    const char *name;
    SectionKind kind;
    uint64_t offset;
    const std::vector<uint8_t> *bytes;
  };

  ToyMetadata(const ToyOptions &options) : options(options) {}

  std::vector<uint8_t> build(const std::vector<Place> &places) {
    auto target = makeTarget();
    std::vector<Offset<Section>> sections;
    std::vector<uint8_t> weightDigest;
    for (const Place &place : places) {
      std::vector<uint8_t> digest = digestOf(place.bytes->data(), place.bytes->size());
      if (place.kind == SectionKind::Weights) {
        weightDigest = digest;
        digest = digestOf(digest.data(), digest.size());
      }
      sections.push_back(CreateSectionDirect(builder, place.name, place.kind, nullptr, place.offset,
                                             place.bytes->size(), &digest));
    }
    std::vector<uint64_t> shape = {uint64_t(toyVocabulary)};
    std::vector<Offset<Weight>> weights = {
        CreateWeightDirect(builder, "table", DType::U32, "u32", &shape, "linear", 1, 0,
                           uint64_t(toyVocabulary) * 4, &weightDigest)};
    if (options.randomWeight)
      weights.push_back(makeRandomWeight());
    std::vector<Offset<Dim>> dims = {
        dim(options.stepDim.c_str(), DimSource::Step, 1, options.maxTokens),
        dim("S", DimSource::Step, 1, options.maxSequences),
        dim("L", DimSource::Step, 1, options.maxLogitRows),
        dim("B", DimSource::Load, 1,
            (options.maxContext + options.blockTokens - 1) / options.blockTokens),
        dim("threads", DimSource::Device, 1, 64)};
    std::vector<Offset<Target>> targets = {target};
    auto provenance = CreateProvenanceDirect(builder, "toy");
    auto serving =
        CreateServingDirect(builder, uint32_t(toyVocabulary), uint32_t(options.maxContext),
                            options.bos, &options.eos, -1, 0.0f);
    std::vector<Offset<GoldenCase>> golden;
    if (!options.goldenPrompt.empty())
      golden.push_back(CreateGoldenCaseDirect(builder, &options.goldenPrompt, &options.goldenTokens,
                                              &options.goldenMargins));
    auto engine = CreateEngineDirect(builder, "toy", "ToyModel", &dims, &targets, &weights,
                                     &sections, provenance, serving, &golden);
    FinishEngineBuffer(builder, engine);
    return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
  }

private:
  static std::vector<uint8_t> digestOf(const void *data, size_t bytes) {
    runtime::Digest digest = runtime::sha256(data, bytes);
    return {digest.begin(), digest.end()};
  }

  /// 2 x 150 rows of 40 columns in tiles of 16 rows, padded to 320 x 48.
  Offset<Weight> makeRandomWeight() {
    std::vector<FillPart> parts = {{11, 150}, {12, 150}};
    std::vector<LayoutDigit> digits = {{16, 20, 0}, {16, 3, 1}, {1, 16, 0}, {1, 16, 1}};
    auto fill = CreateFillDirect(builder, 0, 15, &parts, 8, 64, 40, &digits, 8);
    std::vector<uint64_t> shape = {320, 40};
    return CreateWeightDirect(builder, "random", DType::I4, "int4", &shape, "", 1, 0,
                              uint64_t(toyRandomBytes), nullptr, fill);
  }

  Offset<Dim> dim(const char *name, DimSource source, int64_t min, int64_t max) {
    return CreateDimDirect(builder, name, source, min, max);
  }

  Offset<Expr> expr(std::vector<ExprNode> nodes) { return CreateExprDirect(builder, &nodes); }
  Offset<Expr> constant(int64_t value) { return expr({{value, ExprOp::Const}}); }
  Offset<Expr> dimension(uint32_t index) { return expr({{index, ExprOp::Dim}}); }
  Offset<Expr> times(uint32_t index, int64_t factor) {
    return expr({{index, ExprOp::Dim}, {factor, ExprOp::Const}, {0, ExprOp::Mul}});
  }

  void buffer(const char *name, Role role, DType type, std::vector<Offset<Expr>> shape,
              Offset<Expr> bytes, int32_t weight = -1, int32_t group = -1,
              const char *tap = nullptr, bool zeroed = false) {
    taken.push_back({name, role, bytes, group >= 0});
    buffers.push_back(
        CreateBufferDirect(builder, name, role, type, &shape, bytes, weight, group, tap, zeroed));
  }

  /// The same formula in bytes of its own.
  Offset<Expr> again(Offset<Expr> formula) {
    const auto *stored = flatbuffers::GetTemporaryPointer(builder, formula)->nodes();
    std::vector<ExprNode> nodes;
    for (const ExprNode *node : *stored)
      nodes.push_back(*node);
    return expr(nodes);
  }

  void makeBuffers() {
    int64_t vocabulary = toyVocabulary, block = options.blockTokens;
    for (const char *name : {"tokens", "positions", "token_sequences"})
      buffer(name, Role::Input, DType::I32, {dimension(T)}, times(T, 4));
    auto next = expr({{S, ExprOp::Dim}, {1, ExprOp::Const}, {0, ExprOp::Add}});
    auto nextBytes = expr({{S, ExprOp::Dim},
                           {1, ExprOp::Const},
                           {0, ExprOp::Add},
                           {4, ExprOp::Const},
                           {0, ExprOp::Mul}});
    buffer("sequence_offsets", Role::Input, DType::I32, {next}, nextBytes);
    buffer("context_lengths", Role::Input, DType::I32, {dimension(S)}, times(S, 4));
    buffer("block_table", Role::Input, DType::I32, {dimension(S), dimension(B)},
           expr({{S, ExprOp::Dim},
                 {B, ExprOp::Dim},
                 {0, ExprOp::Mul},
                 {4, ExprOp::Const},
                 {0, ExprOp::Mul}}));
    buffer("logit_rows", Role::Input, DType::I32, {dimension(L)}, times(L, 4));
    buffer("kv", Role::Kv, DType::I32, {constant(block)}, constant(block * 4), -1, 0);
    buffer("hidden", Role::Arena, DType::F32, {dimension(T)}, times(T, 4), -1, -1, "hidden");
    buffer("table", Role::Weight, DType::U32, {constant(vocabulary)}, constant(vocabulary * 4), 0);
    buffer("logits", Role::Output, DType::F32, {dimension(L), constant(vocabulary)},
           times(L, vocabulary * 4), -1, -1, "logits");
    buffer("sample_params", Role::Input, DType::U8, {dimension(L), constant(64)}, times(L, 64));
    buffer("bias_ids", Role::Input, DType::I32, {dimension(L), constant(INGOT_MAX_BIAS)},
           times(L, INGOT_MAX_BIAS * 4));
    buffer("bias_values", Role::Input, DType::F32, {dimension(L), constant(INGOT_MAX_BIAS)},
           times(L, INGOT_MAX_BIAS * 4));
    buffer("allow_mask", Role::Input, DType::U32, {dimension(L), constant(2)}, times(L, 8));
    buffer("token_counts", Role::State, DType::U32, {constant(vocabulary)},
           constant(vocabulary * 4));
    buffer("sampled_tokens", Role::Output, DType::I32, {dimension(L)}, times(L, 4));
    buffer("sampled_logprobs", Role::Output, DType::F32, {dimension(L)}, times(L, 4));
    buffer("top_tokens", Role::Output, DType::I32, {dimension(L), constant(20)}, times(L, 80));
    buffer("top_logprobs", Role::Output, DType::F32, {dimension(L), constant(20)}, times(L, 80));
    if (!options.extraInput.empty())
      buffer(options.extraInput.c_str(), Role::Input, DType::I32, {dimension(T)}, times(T, 4));
    if (!options.productKernels.empty())
      buffer("workspace", Role::Arena, DType::U8, {constant(kWorkspaceBytes)},
             constant(kWorkspaceBytes), -1, -1, nullptr, true);
    if (options.randomWeight) // read twice, made once
      for (const char *name : {"random", "random again"})
        buffer(name, Role::Weight, DType::I4, {constant(320), constant(48)},
               constant(toyRandomBytes), 1);
  }

  /// The buffer behind those that every toy has; the workspace excludes the unknown input.
  uint32_t workspaceBuffer() const { return Unknown; }

  /// Facts of a kernel of the product.
  std::vector<Offset<Fact>> factsOf(const ToyProductKernel &kernel) {
    std::vector<Offset<Fact>> facts = {CreateFactDirect(builder, "product", "matmul 64 1 f32*u32"),
                                       CreateFactDirect(builder, "row_dim", "L")};
    if (kernel.plain) {
      facts.push_back(CreateFactDirect(builder, "plain_kernel", "for comparison only"));
    } else {
      facts.push_back(CreateFactDirect(builder, "tuning_candidate", kernel.symbol.c_str()));
      facts.push_back(CreateFactDirect(builder, "tuning_digest", "0123456789abcdef"));
    }
    return facts;
  }

  void kernel(const char *symbol, std::vector<Offset<Range>> guards,
              const std::vector<runtime::TensorMapRecipe> &recipes = {},
              const std::vector<Offset<Fact>> &facts = {}) {
    std::vector<Offset<TensorMap>> maps;
    for (const runtime::TensorMapRecipe &recipe : recipes) {
      bool ofStep = !options.mapRowsDim.empty();
      Offset<Expr> rows = ofStep ? dimension(options.mapRowsDim == "T" ? T : L) : Offset<Expr>();
      maps.push_back(CreateTensorMap(
          builder, recipe.buffer, ofStep ? 0 : recipe.rows, recipe.rowBytes, recipe.boxRows,
          recipe.boxBytes, DType(recipe.element), recipe.swizzle, rows, options.fencedMaps));
    }
    bool isLogits = std::string_view(symbol) == "toy_logits";
    kernels.push_back(CreateKernelDirect(
        builder, symbol, symbol, 0, &guards, 64, 0, nullptr, isLogits ? &options.cluster : nullptr,
        false, &facts, nullptr, nullptr, nullptr, &maps, &uses[uint32_t(kernels.size())]));
  }

  /// States a use of a kernel: what its only launch gives.
  void sign(uint32_t kernel, uint32_t gridDim, const std::vector<uint32_t> &bufferArgs,
            const std::vector<Offset<Arg>> &scalars) {
    std::vector<Offset<Parameter>> parameters;
    for (uint32_t index : bufferArgs) {
      const Taken &buffer = taken[index];
      auto bytes = again(buffer.bytes);
      parameters.push_back(CreateParameter(
          builder, ArgKind::Buffer, buffer.role, bytes, buffer.hasGroup ? options.blockTokens : 0,
          buffer.hasGroup ? options.window : 0, 0,
          buffer.role == Role::Input ? builder.CreateString(buffer.name) : 0));
    }
    for (Offset<Arg> scalar : scalars) {
      const Arg *arg = flatbuffers::GetTemporaryPointer(builder, scalar);
      ArgKind kind = arg->kind();
      Offset<Expr> value;
      if (arg->value()) {
        std::vector<ExprNode> nodes;
        for (const ExprNode *node : *arg->value()->nodes())
          nodes.push_back(*node);
        value = expr(nodes);
      }
      parameters.push_back(CreateParameter(builder, kind, Role::Input, 0, 0, 0, value));
    }
    std::vector<Offset<Expr>> grid = {dimension(gridDim)};
    uses[kernel].push_back(CreateUseDirect(builder, &grid, &parameters));
  }

  Offset<Arg> bufferArg(uint32_t index) { return CreateArg(builder, ArgKind::Buffer, index); }
  Offset<Arg> integerArg(Offset<Expr> value) {
    return CreateArg(builder, ArgKind::Integer, 0, value);
  }

  Offset<Instruction> launch(const char *name, std::vector<Offset<Variant>> variants,
                             std::vector<uint32_t> bufferArgs, std::vector<Offset<Arg>> scalars) {
    for (Offset<Variant> one : variants)
      sign(variantKernels[one.o].first, variantKernels[one.o].second, bufferArgs, scalars);
    std::vector<Offset<Arg>> args;
    for (uint32_t index : bufferArgs)
      args.push_back(bufferArg(index));
    args.insert(args.end(), scalars.begin(), scalars.end());
    auto operation = CreateLaunchDirect(builder, &variants, &args);
    return CreateInstructionDirect(builder, name, Operation::Launch, operation.Union());
  }

  Offset<Variant> variant(uint32_t kernel, uint32_t gridDim,
                          std::vector<Offset<Range>> ranges = {}) {
    std::vector<Offset<Expr>> grid = {dimension(gridDim)};
    Offset<Variant> made = CreateVariantDirect(builder, kernel, &ranges, &grid);
    variantKernels[made.o] = {kernel, gridDim};
    return made;
  }

  Offset<Program> makeStep() {
    std::vector<Offset<Variant>> appends;
    for (size_t i = 0; i < options.appendVariants.size(); ++i) {
      const ToyVariant &v = options.appendVariants[i];
      appends.push_back(
          variant(uint32_t(3 + i), T, {CreateRange(builder, T, v.rangeMin, v.rangeMax)}));
    }
    auto paging = [&] {
      return std::vector<Offset<Arg>>{integerArg(dimension(B)),
                                      integerArg(constant(options.blockTokens))};
    };
    std::vector<Offset<Variant>> logits;
    std::vector<uint32_t> logitsArgs = {Hidden, LogitRows, WeightTable, Logits};
    for (size_t i = 0; i < options.productKernels.size(); ++i)
      logits.push_back(variant(uint32_t(3 + options.appendVariants.size() + i), L));
    if (logits.empty())
      logits.push_back(variant(1, L));
    else
      logitsArgs.push_back(workspaceBuffer());
    std::vector<Offset<Instruction>> instructions = {
        launch("append", appends, {Tokens, Positions, TokenSequences, BlockTable, Kv}, paging()),
        launch("hidden", {variant(0, T)}, {Positions, TokenSequences, BlockTable, Kv, Hidden},
               paging()),
        launch(
            "logits", logits, logitsArgs,
            {integerArg(constant(toyVocabulary)), CreateArg(builder, ArgKind::Real, 0, 0, 0.5)})};
    std::vector<Offset<Segment>> segments = {CreateSegmentDirect(builder, "body", 0, 2, Hidden),
                                             CreateSegmentDirect(builder, "head", 2, 1, Logits)};
    std::vector<uint32_t> dims = {T, S, L, B};
    std::vector<uint32_t> inputs = {Tokens,         Positions,  TokenSequences, SequenceOffsets,
                                    ContextLengths, BlockTable, LogitRows};
    if (!options.extraInput.empty())
      inputs.push_back(Unknown);
    std::vector<uint32_t> outputs = {Logits};
    return CreateProgramDirect(builder, "step", &dims, &inputs, &outputs, &instructions, &segments);
  }

  Offset<Program> makeSample() {
    std::vector<Offset<Instruction>> instructions = {
        launch("sample", {variant(2, L)},
               {Params, Logits, BiasIds, BiasValues, Mask, Counts, SampledTokens, SampledLogprobs,
                TopTokens, TopLogprobs},
               {integerArg(constant(toyVocabulary))})};
    std::vector<uint32_t> dims = {L};
    std::vector<uint32_t> inputs = {Logits, Params, BiasIds, BiasValues, Mask};
    std::vector<uint32_t> outputs = {SampledTokens, SampledLogprobs, TopTokens, TopLogprobs};
    return CreateProgramDirect(builder, "sample", &dims, &inputs, &outputs, &instructions);
  }

  /// Bytes of the buffers in the arena, in order, at the given limits.
  std::vector<int64_t> arenaBytes(int64_t t, int64_t s, int64_t l) {
    int64_t blocks = (options.maxContext + options.blockTokens - 1) / options.blockTokens;
    std::vector<int64_t> bytes = {t * 4,
                                  t * 4,
                                  t * 4,
                                  (s + 1) * 4,
                                  s * 4,
                                  s * blocks * 4,
                                  l * 4,
                                  t * 4,
                                  l * toyVocabulary * 4,
                                  l * 64,
                                  l * INGOT_MAX_BIAS * 4,
                                  l * INGOT_MAX_BIAS * 4,
                                  l * 8,
                                  l * 4,
                                  l * 4,
                                  l * 80,
                                  l * 80};
    if (!options.extraInput.empty())
      bytes.push_back(t * 4);
    if (!options.productKernels.empty())
      bytes.push_back(kWorkspaceBytes);
    return bytes;
  }

  Offset<ArenaTier> tier(int64_t t, int64_t s, int64_t l) {
    std::vector<uint64_t> offsets;
    uint64_t end = 0;
    for (int64_t bytes : arenaBytes(t, s, l)) {
      offsets.push_back(end);
      end += uint64_t(bytes + 63) / 64 * 64;
    }
    constexpr size_t hidden = 7;
    if (options.hiddenOffset >= 0)
      offsets[hidden] = uint64_t(options.hiddenOffset);
    std::vector<Offset<Range>> limits = {CreateRange(builder, T, 0, t),
                                         CreateRange(builder, S, 0, s),
                                         CreateRange(builder, L, 0, l)};
    return CreateArenaTierDirect(builder, &limits, end, &offsets);
  }

  Offset<Target> makeTarget() {
    makeBuffers();
    std::vector<Offset<Program>> programs = {makeStep(), makeSample()};
    kernel(options.hiddenKernel.c_str(), {});
    kernel("toy_logits", {}, options.tensorMaps);
    kernel("toy_sample", {});
    for (const ToyVariant &v : options.appendVariants)
      kernel("toy_append", {CreateRange(builder, T, v.guardMin, v.guardMax)});
    for (const ToyProductKernel &product : options.productKernels)
      kernel(product.symbol.c_str(), {}, {}, factsOf(product));
    std::vector<Offset<Library>> libraries = {
        CreateLibraryDirect(builder, "kernels", LibraryKind::HostSharedObject, 0)};
    std::vector<Offset<KvGroup>> groups = {CreateKvGroupDirect(
        builder, "main", options.window ? KvKind::Sliding : KvKind::Global, options.blockTokens,
        options.window, uint64_t(options.blockTokens) * 4)};
    std::vector<Offset<ArenaTier>> tiers = {
        tier(1, 1, 1), tier(options.maxTokens, options.maxSequences, options.maxLogitRows)};
    uint64_t weightBytes =
        uint64_t(toyVocabulary) * 4 + (options.randomWeight ? uint64_t(toyRandomBytes) : 0);
    auto memory =
        CreateMemoryContractDirect(builder, weightBytes, &tiers, uint64_t(toyVocabulary) * 4, 64);
    std::vector<Offset<flatbuffers::String>> features;
    for (const std::string &feature : options.features)
      features.push_back(builder.CreateString(feature));
    return CreateTargetDirect(builder, "toy", "x86-64", &features, 0, options.kernelAbi, nullptr,
                              nullptr, &libraries, &kernels, &buffers, &groups, &programs, nullptr,
                              memory);
  }

  const ToyOptions &options;
  FlatBufferBuilder builder;
  std::vector<Offset<Buffer>> buffers;
  struct Taken {
    const char *name;
    Role role;
    Offset<Expr> bytes;
    bool hasGroup;
  };
  std::vector<Taken> taken; ///< of `buffers`
  std::vector<Offset<Kernel>> kernels;
  std::map<uint32_t, std::vector<Offset<Use>>> uses;                ///< by index of the kernel
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> variantKernels; ///< and grids, by offset
};

} // namespace

AlignedBytes::AlignedBytes(const std::vector<uint8_t> &bytes)
    : size(bytes.size()),
      data(static_cast<uint8_t *>(std::aligned_alloc(64, (size + 63) / 64 * 64 + 64))) {
  std::memset(data.get(), 0, (size + 63) / 64 * 64 + 64);
  std::copy(bytes.begin(), bytes.end(), data.get());
}

std::vector<uint8_t> toyLibrary() {
  std::ifstream file(INGOT_TOY_LIBRARY, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

ToyOptions echoingToy() {
  ToyOptions options;
  options.hiddenKernel = "toy_hidden_echo";
  options.characters = "abcdefghijklmnopqrstuvwxyz0123456789 .,:!?'\"{}[]()<>_/|=-+TAPI\n~";
  return options;
}

std::vector<uint8_t> makeToyEngine(const ToyOptions &options) {
  std::vector<uint8_t> library = options.library.empty() ? toyLibrary() : options.library;
  std::vector<uint8_t> weights(size_t(toyVocabulary) * 4);
  for (uint32_t i = 0; i < uint32_t(toyVocabulary); ++i) {
    uint32_t value = i * 2654435761u;
    std::memcpy(weights.data() + 4 * i, &value, 4);
  }
  std::vector<uint8_t> tokenizer = makeTokenizer(options);
  std::vector<ToyMetadata::Place> places = {{"kernels", SectionKind::Kernels, 0, &library},
                                            {"weights", SectionKind::Weights, 0, &weights}};
  if (options.tokenizer)
    places.push_back({"tokenizer", SectionKind::Tokenizer, 0, &tokenizer});
  uint64_t end = 1 << 16; // room for header and metadata
  for (ToyMetadata::Place &place : places) {
    place.offset = end;
    end = (end + place.bytes->size() + 4095) / 4096 * 4096;
  }
  std::vector<uint8_t> metadata = ToyMetadata(options).build(places);
  std::vector<uint8_t> file(places.back().offset + places.back().bytes->size());
  FileHeader header = {};
  std::memcpy(header.magic, fileMagic, sizeof header.magic);
  header.formatVersion = fileFormatVersion;
  header.metadataOffset = sizeof header;
  header.metadataBytes = metadata.size();
  std::memcpy(file.data(), &header, sizeof header);
  std::copy(metadata.begin(), metadata.end(), file.begin() + sizeof header);
  for (const ToyMetadata::Place &place : places)
    std::copy(place.bytes->begin(), place.bytes->end(), file.begin() + long(place.offset));
  fixMetadataDigest(file);
  return file;
}

void fixMetadataDigest(std::vector<uint8_t> &file) {
  FileHeader header;
  if (file.size() < sizeof header)
    return;
  std::memcpy(&header, file.data(), sizeof header);
  if (header.metadataOffset > file.size() ||
      header.metadataBytes > file.size() - header.metadataOffset)
    return;
  runtime::Digest digest =
      runtime::sha256(file.data() + header.metadataOffset, header.metadataBytes);
  std::copy(digest.begin(), digest.end(), file.begin() + offsetof(FileHeader, metadataDigest));
}

namespace {

class AheadDevice final : public runtime::HostDevice {
public:
  using HostDevice::HostDevice;
  uint64_t startedReadBytes() const override { return 1 << 20; }
  void startRead(const void *source, uint64_t bytes) override {
    const auto *from = static_cast<const uint8_t *>(source);
    reads.emplace_back(from, from + bytes);
  }
  runtime::Status finishRead(void *hostDestination) override {
    std::copy(reads.front().begin(), reads.front().end(), static_cast<uint8_t *>(hostDestination));
    reads.pop_front();
    return {};
  }

private:
  std::deque<std::vector<uint8_t>> reads;
};

ToySession open(const ToyOptions &options, const runtime::SessionOptions &limits, bool ahead) {
  ToySession toy;
  toy.bytes = std::make_unique<AlignedBytes>(makeToyEngine(options));
  auto file = runtime::EngineFile::openBytes(toy.bytes->view(), ".", {true});
  EXPECT_TRUE(file.ok()) << file.status().toString();
  if (!file.ok())
    return toy;
  auto session =
      ahead ? runtime::Session::createOn(std::make_unique<AheadDevice>(limits.device.threads),
                                         std::move(*file), limits)
            : runtime::Session::create(std::move(*file), limits);
  EXPECT_TRUE(session.ok()) << session.status().toString();
  if (session.ok())
    toy.session = std::move(*session);
  return toy;
}

} // namespace

ToySession openToy(const ToyOptions &options, const runtime::SessionOptions &limits) {
  return open(options, limits, false);
}

ToySession openToyAhead(const ToyOptions &options, const runtime::SessionOptions &limits) {
  return open(options, limits, true);
}

} // namespace ingot::test
