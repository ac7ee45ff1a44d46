// SPDX-License-Identifier: Apache-2.0
// Checkpoint: a Hugging Face model directory or a GGUF file, opened: its configuration and where
// each weight lies.
#pragma once

#include "compiler/checkpoint/config/Adapter.h"
#include "compiler/checkpoint/config/GenerationConfig.h"
#include "compiler/checkpoint/files/Safetensors.h"
#include "compiler/checkpoint/quantized/QuantizationConfig.h"

#include <map>
#include <memory>

namespace ingot::checkpoint {

struct ModelConfig;
struct NameBeginning;
enum class ModelParts : uint8_t; // ModelConfig.h
inline constexpr ModelParts kTextAlone = ModelParts(0);

/// Holds its weight files open and no weight data. Reading is safe from several threads at once.
class Checkpoint {
public:
  Checkpoint(Checkpoint &&) noexcept;
  Checkpoint &operator=(Checkpoint &&) noexcept;
  ~Checkpoint();

  /// Of a directory: reads config.json, generation_config.json (optional), and the headers of
  /// model.safetensors or of the shards that model.safetensors.index.json names. Of a GGUF file:
  /// everything before the tensors' bytes, and the other parts of a model in several files; its
  /// tensors get the names that a Hugging Face checkpoint has for them.
  /// With ModelParts::All also what is known of its vision part, whose tensors get names that begin
  /// with "vision.". Errors: those of the readers of these files, and INGOT-E1030 to E1036.
  static Expected<Checkpoint> open(const std::filesystem::path &path,
                                   ModelParts parts = kTextAlone);

  /// A directory without its weight files, even if there are some. Until expectTensors it has no
  /// tensors; afterwards they can be found but not read. Errors: those of the readers, INGOT-E1058
  /// where config.json states no element type, and E1119 for a GGUF file. A quantization that it
  /// states is not used.
  static Expected<Checkpoint> openWithoutWeights(const std::filesystem::path &path,
                                                 ModelParts parts = kTextAlone);

  /// The type that every tensor of a checkpoint without weights is taken to have; else nothing.
  std::optional<DType> assumedType() const { return weightless; }

  /// Says which tensors a checkpoint without weights has: by name, with shapes.
  void expectTensors(std::vector<Tensor> tensors);

  /// Adds the tensors of the LoRA adapter in `directory`, called as adapterTensor() says, whose
  /// scale is multiplied by `factor`. Errors: those of the readers, INGOT-E1030 and E1031 where no
  /// weights are, E1120 for an adapter that cannot be merged and E1121 for a checkpoint that none
  /// can be merged into.
  Outcome addAdapter(const std::filesystem::path &directory, double factor);
  /// The adapter that was added.
  const std::optional<AdapterConfig> &adapter() const { return adapterConfig; }

  /// Takes the tensors of a safetensors file in place of those of the same names, whose shapes they
  /// must have, and others beside them. Errors: those of the readers, and INGOT-E1126 for another
  /// shape.
  Outcome replaceTensors(const std::filesystem::path &path);

  const ModelConfig &config() const { return *modelConfig; }
  const GenerationConfig &generation() const { return generationConfig; }
  const QuantizationConfig &quantization() const { return quantizationConfig; }

  /// The stop tokens: generation_config.json's where it gives any, else config.json's.
  const std::vector<uint64_t> &eosIds() const;

  /// Every stored tensor, sorted by name. Tensors known under a second name are listed once.
  const std::vector<Tensor> &tensors() const { return stored; }

  /// Those of parts of the model that are not read, such as one that sees where only text is: not
  /// among tensors(), and called as in the files.
  const std::vector<Tensor> &tensorsOfOtherParts() const { return otherTensors; }

  /// The tensor called `name`, or one stored under another name that stands for it: by an alias in
  /// the file's `__metadata__`, or because embedding and output head are tied. Null: no such
  /// tensor. The pointer is valid as long as this checkpoint.
  const Tensor *find(std::string_view name) const;

  /// find(), or INGOT-E1038 with the nearest existing name.
  Expected<const Tensor *> get(std::string_view name) const;

  /// Fills `out` with the bytes of `tensor` from its byte `offset` on. Errors: INGOT-E1039 when
  /// they do not lie in the tensor, and those of File.
  Outcome read(const Tensor &tensor, uint64_t offset, std::span<std::byte> out) const;

  /// The name under which the tensor called `name` is stored, if it is.
  std::string storedName(std::string_view name) const;

  /// What the `__metadata__` of a weight file says of `key`; null where none does.
  const std::string *fileMetadata(std::string_view key) const;

  /// All of it.
  const std::map<std::string, std::string, std::less<>> &allFileMetadata() const {
    return metadata;
  }

  /// The file that holds `tensor`, relative to folder().
  std::string fileName(const Tensor &tensor) const;

  /// The tensor called `name` as messages call it: with the name its file has for it.
  std::string shownName(std::string_view name) const;

  /// What an engine calls the input `file`: its place in folder(); those of an adapter stand under
  /// "adapter", wherever they lie.
  std::string inputName(const std::filesystem::path &file) const;

  /// The folder that the model's files lie in.
  const std::filesystem::path &folder() const { return directory; }

  /// Whether every tensor takes part in the model, so that one that no importer asks for shows a
  /// model that is not understood. True of GGUF files and of what Mistral publishes; others may
  /// hold leftovers of training.
  bool isComplete() const { return fromGguf || fromMistral; }

  /// What an engine of this checkpoint does otherwise than its files state, or does not read.
  const std::vector<Deviation> &deviations() const { return allDeviations; }

  /// Every file this checkpoint was read from, in a fixed order: what an engine's provenance
  /// digests, together with the tokenizer's files.
  const std::vector<std::filesystem::path> &inputs() const { return inputFiles; }

private:
  explicit Checkpoint(ModelConfig config);
  static Expected<Checkpoint> openGgufModel(const std::filesystem::path &path);
  static Expected<Checkpoint> openConfig(const std::filesystem::path &directory,
                                         bool readsQuantization, ModelParts parts);
  Outcome openWeights(const std::filesystem::path &directory);
  Outcome openShards(const std::filesystem::path &directory, const std::filesystem::path &index);
  void sayUnreadFiles(const std::filesystem::path &read);
  Outcome openSingle(const std::filesystem::path &path);
  Outcome addFile(const std::filesystem::path &path);
  Outcome sortTensors();
  void dropDraftLayers();
  Outcome renameTensors(std::span<const NameBeginning> beginnings);
  Outcome takeParts();
  Outcome resolveAliases();
  Outcome tieEmbeddings();
  Expected<bool> holdTheSame(const Tensor &one, const Tensor &other) const;
  const Tensor *findStored(std::string_view name) const;

  std::filesystem::path directory;
  std::unique_ptr<ModelConfig> modelConfig; ///< never null
  GenerationConfig generationConfig;
  QuantizationConfig quantizationConfig;
  std::vector<std::filesystem::path> inputFiles;
  std::vector<File> files; ///< by Tensor::fileIndex
  bool fromGguf = false;
  bool fromMistral = false; ///< as Mistral publishes models
  std::vector<Deviation> allDeviations;
  std::optional<AdapterConfig> adapterConfig;
  std::optional<DType> weightless;
  std::vector<Tensor> stored, otherTensors;
  std::map<std::string, std::string, std::less<>> metadata; ///< of all files
  std::map<std::string, std::string, std::less<>> aliases;  ///< second name → stored name
  std::map<std::string, std::string, std::less<>> renamed;  ///< name here → name in the file
};

} // namespace ingot::checkpoint
