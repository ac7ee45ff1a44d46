// SPDX-License-Identifier: Apache-2.0
// Opening a model directory or a GGUF file.
#include "compiler/checkpoint/Checkpoint.h"

#include "compiler/checkpoint/config/ConfigReader.h"
#include "compiler/checkpoint/config/MistralFiles.h"
#include "compiler/checkpoint/config/VisionReader.h"
#include "compiler/checkpoint/config/families/Family.h"
#include "compiler/checkpoint/config/families/VisionFamily.h"
#include "compiler/checkpoint/files/Entry.h"
#include "compiler/checkpoint/files/NearestName.h"
#include "compiler/checkpoint/files/ShardIndex.h"
#include "compiler/checkpoint/gguf/GgufConfig.h"
#include "compiler/checkpoint/gguf/GgufNames.h"
#include "compiler/checkpoint/gguf/ModelFile.h"
#include "compiler/checkpoint/quantized/QuantizationReader.h"

#include <algorithm>
#include <utility>

namespace ingot::checkpoint {

namespace fs = std::filesystem;

Checkpoint::Checkpoint(ModelConfig config)
    : modelConfig(std::make_unique<ModelConfig>(std::move(config))) {}
Checkpoint::Checkpoint(Checkpoint &&) noexcept = default;
Checkpoint &Checkpoint::operator=(Checkpoint &&) noexcept = default;
Checkpoint::~Checkpoint() = default;

static constexpr std::string_view adapterConfigFile = "adapter_config.json",
                                  adapterWeightsFile = "adapter_model.safetensors";

static std::string embeddingOf(const ModelConfig &config) {
  return message(config.names.embedding, ".weight");
}
static std::string headOf(const ModelConfig &config) {
  return message(config.names.head, ".weight");
}

static bool isPickle(const fs::path &path) {
  const fs::path extension = path.extension();
  return extension == ".bin" || extension == ".pt" || extension == ".pth" || extension == ".ckpt";
}

static Error refusePickle(const fs::path &path, const std::string &where) {
  return {"INGOT-E1031",
          message("the weights are in ", inQuotes(path.filename().string()),
                  ", a Python pickle; reading one can run any program hidden in it"),
          where, "convert the checkpoint to safetensors"};
}

/// The first entry of `directory` that `matches` accepts; an empty path if there is none.
static fs::path findEntry(const fs::path &directory, bool (*matches)(const fs::path &)) {
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed))
    if (matches(entry->path()))
      return entry->path();
  return {};
}

/// Why a directory without safetensors files is refused: by what lies there instead.
static Error noWeights(const fs::path &directory, const std::string &name) {
  const std::string where = printable(directory.string());
  if (const fs::path pickle = findEntry(directory, isPickle); !pickle.empty())
    return refusePickle(pickle, where);
  return Error{"INGOT-E1030", message("there is no ", name, " and no ", name, ".index.json"), where,
               "give a Hugging Face model directory with safetensors weights"};
}

/// Why a file is refused that is no GGUF file.
static Error notAModel(const fs::path &file) {
  const std::string where = printable(file.string());
  if (isPickle(file))
    return refusePickle(file, where);
  return Error{"INGOT-E1030", "the file is no GGUF file, and no directory", where,
               "give a GGUF file, or the directory that holds config.json and the weights"};
}

static bool isRegularFile(const fs::path &path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

static_assert(kTextAlone == ModelParts::Text);

Expected<Checkpoint> Checkpoint::open(const fs::path &path, ModelParts parts) {
  if (isModelFile(path))
    return openGgufModel(path);
  auto checkpoint = openConfig(path, /*readsQuantization=*/true, parts);
  if (!checkpoint)
    return checkpoint.error();
  if (auto opened = checkpoint->openWeights(path); !opened)
    return opened.error();
  return checkpoint;
}

static void append(const std::vector<Deviation> &told, std::vector<Deviation> &all) {
  all.insert(all.end(), told.begin(), told.end());
}

Expected<Checkpoint> Checkpoint::openGgufModel(const fs::path &path) {
  auto model = openModelFile(path);
  if (!model)
    return model.error();
  auto config = readGgufConfig(*model);
  if (!config)
    return config.error();
  auto generation = readGgufGeneration(model->metadata, config->vocabSize);
  if (!generation)
    return generation.error();
  Checkpoint checkpoint(*std::move(config));
  checkpoint.directory = path.parent_path();
  checkpoint.fromGguf = true;
  checkpoint.generationConfig = *std::move(generation);
  append(checkpoint.generationConfig.deviations, checkpoint.allDeviations);
  for (const File &file : model->files)
    checkpoint.inputFiles.push_back(file.path());
  checkpoint.files = std::move(model->files);
  auto named =
      nameTensors(std::move(model->tensors), checkpoint.config(), printable(path.string()));
  if (!named)
    return named.error();
  checkpoint.stored = *std::move(named);
  checkpoint.dropDraftLayers();
  if (auto sorted = checkpoint.sortTensors(); !sorted)
    return sorted.error();
  if (auto resolved = checkpoint.resolveAliases(); !resolved)
    return resolved.error();
  return checkpoint;
}

Expected<Checkpoint> Checkpoint::openWithoutWeights(const fs::path &directory, ModelParts parts) {
  if (isModelFile(directory))
    return Error{"INGOT-E1119", "a model whose weights are random needs no GGUF file",
                 printable(directory.string()),
                 "give a Hugging Face model directory, or leave --random-weights out"};
  auto checkpoint = openConfig(directory, /*readsQuantization=*/false, parts);
  if (!checkpoint)
    return checkpoint.error();
  const Json &config = checkpoint->modelConfig->raw;
  if (auto quantization = config.find("quantization_config");
      quantization && !quantization->isNull()) {
    auto member = quantization->find("quant_method");
    auto method = member ? member->string() : Expected<std::string>(std::string("of some method"));
    checkpoint->allDeviations.push_back(
        {"quantization_config", printable(method ? *method : ""), "not used",
         "random weights are of the type that config.json states; a recipe quantizes them",
         /*isTold=*/true});
  }
  checkpoint->weightless = checkpoint->modelConfig->declaredType;
  if (!checkpoint->weightless)
    return Error{"INGOT-E1058", "config.json does not say of which type the weights are",
                 printable((directory / "config.json").string()),
                 "add \"torch_dtype\": \"bfloat16\" or the type that was meant"};
  if (checkpoint->modelConfig->tiedEmbeddings)
    checkpoint->aliases.emplace(headOf(*checkpoint->modelConfig),
                                embeddingOf(*checkpoint->modelConfig));
  return checkpoint;
}

void Checkpoint::expectTensors(std::vector<Tensor> tensors) {
  stored = std::move(tensors);
  std::sort(stored.begin(), stored.end(),
            [](const Tensor &a, const Tensor &b) { return a.name < b.name; });
}

Outcome Checkpoint::addAdapter(const fs::path &directory, double factor) {
  const std::string where = printable(directory.string());
  if (fromGguf || weightless || quantizationConfig.isQuantized())
    return Error{"INGOT-E1121",
                 message("no adapter can be merged into ",
                         fromGguf     ? "a GGUF file"
                         : weightless ? "random weights"
                                      : "weights that are quantized already"),
                 where,
                 "give the model that the adapter was trained on, and let a recipe quantize"};
  auto config = AdapterConfig::read(directory / adapterConfigFile);
  if (!config)
    return config.error();
  const fs::path weights = directory / adapterWeightsFile;
  if (!isThere(weights)) {
    if (const fs::path pickle = findEntry(directory, isPickle); !pickle.empty())
      return refusePickle(pickle, where);
    return Error{"INGOT-E1030", message("there is no ", adapterWeightsFile), where,
                 "give the folder of a PEFT adapter"};
  }
  config->factor = factor;
  inputFiles.push_back(directory / adapterConfigFile);
  const size_t first = stored.size();
  if (auto added = addFile(weights); !added)
    return added;
  for (size_t i = first; i < stored.size(); ++i) {
    auto name = config->tensorNamed(stored[i].name);
    if (!name)
      return Error{
          "INGOT-E1120", message("tensor ", inQuotes(stored[i].name), " is no factor of a matrix"),
          printable(weights.string()), "merge the adapter with PEFT and give the merged model"};
    stored[i].name = *std::move(name);
  }
  const Experts *experts = modelConfig->firstExperts();
  if (auto settled = config->settle(std::span(stored).subspan(first), printable(weights.string()),
                                    experts ? experts->count : 1);
      !settled)
    return settled;
  allDeviations.insert(allDeviations.end(), config->deviations.begin(), config->deviations.end());
  adapterConfig = *std::move(config);
  return sortTensors();
}

Outcome Checkpoint::replaceTensors(const fs::path &path) {
  const size_t first = stored.size();
  if (auto added = addFile(path); !added)
    return added;
  const std::vector<Tensor> replacing(stored.begin() + std::ptrdiff_t(first), stored.end());
  stored.resize(first);
  for (const Tensor &tensor : replacing) {
    auto own = std::lower_bound(
        stored.begin(), stored.end(), tensor.name,
        [](const Tensor &one, const std::string &name) { return one.name < name; });
    if (own == stored.end() || own->name != tensor.name)
      stored.insert(own, tensor);
    else if (own->shape == tensor.shape)
      *own = tensor;
    else
      return Error{"INGOT-E1126",
                   message("tensor ", inQuotes(tensor.name), " has another shape than the model's"),
                   printable(path.string()), "give tensors of the model's shapes"};
  }
  return {};
}

/// The snapshot in a cache of the hub that its main branch is at; else the first one there is.
static fs::path snapshotOf(const fs::path &cache) {
  if (auto main = readText(cache / "refs/main", 256)) {
    const std::string name = main->substr(0, main->find_first_of("\r\n/"));
    if (const fs::path snapshot = cache / "snapshots" / name;
        !name.empty() && isThere(snapshot / "config.json"))
      return snapshot;
  }
  return findEntry(cache / "snapshots",
                   [](const fs::path &path) { return isThere(path / "config.json"); });
}

/// Whether `path` looks like "organisation/model", and is no path that leads anywhere.
static bool isHubName(const fs::path &path) {
  return path.is_relative() && !isThere(path) && std::distance(path.begin(), path.end()) == 2 &&
         *path.begin() != "." && *path.begin() != ".." && !isThere(*path.begin());
}

/// What else a path without a configuration is, and what to give instead; nothing where that is not
/// known.
static std::optional<Error> otherThanAModel(const fs::path &path) {
  const std::string where = printable(path.string());
  auto other = [&](std::string what, std::string fix) {
    return Error{"INGOT-E1030", std::move(what), where, std::move(fix)};
  };
  if (const fs::path gguf = findEntry(path, isGguf); !gguf.empty())
    return other(
        message("there is no config.json, but a GGUF file, ", inQuotes(gguf.filename().string())),
        "give the file itself");
  if (isThere(path / adapterConfigFile))
    return other("the folder holds an adapter, and no model",
                 "give the model that it was trained on, and the folder by --lora");
  if (isThere(path / "snapshots")) {
    const fs::path snapshot = snapshotOf(path);
    return other("the folder is a cache of the hub, whose models lie in its snapshots",
                 snapshot.empty() ? "download the model's config.json and weights"
                                  : message("give ", printable(snapshot.string())));
  }
  if (isHubName(path))
    return other("there is no such folder or file",
                 message("if it is a model's name on the hub, download it: hf download ", where,
                         " --local-dir FOLDER, and give the folder"));
  return std::nullopt;
}

/// Everything but the weights.
Expected<Checkpoint> Checkpoint::openConfig(const fs::path &directory, bool readsQuantization,
                                            ModelParts parts) {
  if (isRegularFile(directory))
    return notAModel(directory);
  std::error_code ignored;
  if (isThere(directory) && !fs::exists(directory, ignored)) // a link that leads nowhere
    if (auto file = File::open(directory); !file)
      return file.error();
  const bool published =
      !isThere(directory / "config.json") && isThere(directory / mistralParamsFile);
  if (!published && !isThere(directory / "config.json"))
    if (auto other = otherThanAModel(directory))
      return *std::move(other);
  const fs::path file = directory / (published ? mistralParamsFile : "config.json");
  auto config = published ? readMistralParams(file) : readModelConfig(file, parts);
  if (!config)
    return config.error();
  Checkpoint checkpoint(*std::move(config));
  checkpoint.directory = directory;
  checkpoint.allDeviations = checkpoint.modelConfig->deviations;
  checkpoint.fromMistral = published;
  checkpoint.inputFiles.push_back(file);

  if (readsQuantization) {
    auto quantization =
        readQuantization(checkpoint.modelConfig->raw, directory, checkpoint.inputFiles);
    if (!quantization)
      return quantization.error();
    checkpoint.quantizationConfig = *std::move(quantization);
  }
  if (checkpoint.modelConfig->vision) {
    VisionPlan plan = *checkpoint.modelConfig->vision;
    if (auto read = readImageSettings(directory, *checkpoint.modelConfig->wrapper->vision, plan,
                                      checkpoint.inputFiles);
        !read)
      return read.error();
    checkpoint.modelConfig->vision = std::make_shared<const VisionPlan>(std::move(plan));
  }
  fs::path generationPath = directory / "generation_config.json";
  if (isThere(generationPath)) {
    auto generation = GenerationConfig::read(generationPath, checkpoint.modelConfig->vocabSize);
    if (!generation)
      return generation.error();
    checkpoint.generationConfig = *std::move(generation);
    append(checkpoint.generationConfig.deviations, checkpoint.allDeviations);
    checkpoint.inputFiles.push_back(generationPath);
  }
  return checkpoint;
}

Outcome Checkpoint::openWeights(const fs::path &directory) {
  const std::string name = fromMistral ? "consolidated.safetensors" : "model.safetensors";
  fs::path single = directory / name;
  fs::path index = directory / (name + ".index.json");
  Outcome opened;
  if (isThere(single))
    opened = openSingle(single);
  else if (isThere(index))
    opened = openShards(directory, index);
  else
    opened = noWeights(directory, name);
  if (!opened)
    return opened;
  sayUnreadFiles(isThere(single) ? single : index);
  if (auto taken = modelConfig->wrapper ? takeParts() : Outcome(); !taken)
    return taken;
  if (auto known = renameTensors(modelConfig->names.beginnings); !known)
    return known;
  if (fromMistral)
    for (const Tensor &tensor : stored)
      if (auto known = modelNameOfMistral(tensor.name))
        aliases.emplace(*std::move(known), tensor.name);
  return resolveAliases();
}

/// Weight files that lie beside those that are read. Mistral publishes a model twice.
void Checkpoint::sayUnreadFiles(const fs::path &read) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const fs::path &path = entry->path();
    const std::string name = path.filename().string();
    if (path.extension() == ".safetensors" && !name.starts_with("consolidated") && !fromMistral &&
        std::find(inputFiles.begin(), inputFiles.end(), path) == inputFiles.end())
      names.push_back(printable(name));
  }
  if (names.empty())
    return;
  std::sort(names.begin(), names.end());
  constexpr size_t shown = 3;
  std::string list;
  for (size_t i = 0; i < std::min(shown, names.size()); ++i)
    list += message(i ? ", " : "", names[i]);
  if (names.size() > shown)
    list += message(" and ", names.size() - shown, " more");
  allDeviations.push_back({"weight files", list, "not read",
                           message("the weights are those of ", read.filename().string()),
                           /*isTold=*/true});
}

Outcome Checkpoint::openSingle(const fs::path &path) {
  if (auto added = addFile(path); !added)
    return added;
  return sortTensors();
}

Outcome Checkpoint::openShards(const fs::path &directory, const fs::path &indexPath) {
  auto index = ShardIndex::read(indexPath);
  if (!index)
    return index.error();
  inputFiles.push_back(indexPath);
  for (const std::string &name : index->files) {
    fs::path shard = directory / name;
    if (!isThere(shard))
      return Error{"INGOT-E1036", message("the weight file ", inQuotes(name), " is missing"),
                   printable(indexPath.string()), "download the missing file"};
    if (auto added = addFile(shard); !added)
      return added;
  }
  if (auto sorted = sortTensors(); !sorted)
    return sorted;
  for (const auto &[name, fileIndex] : index->tensors) {
    const Tensor *tensor = findStored(name);
    if (!tensor || tensor->fileIndex != fileIndex)
      return Error{"INGOT-E1033",
                   message("tensor ", inQuotes(name), " is not in ",
                           inQuotes(index->files[fileIndex]), ", where the index says it is"),
                   printable(indexPath.string()),
                   "index and weight files do not belong together; download both again"};
  }
  return {};
}

/// Opens one weight file and appends its tensors.
Outcome Checkpoint::addFile(const fs::path &path) {
  auto file = File::open(path);
  if (!file)
    return file.error();
  auto header = readSafetensors(*file, static_cast<uint32_t>(files.size()));
  if (!header)
    return header.error();
  files.push_back(*std::move(file));
  inputFiles.push_back(path);
  stored.insert(stored.end(), std::make_move_iterator(header->tensors.begin()),
                std::make_move_iterator(header->tensors.end()));
  metadata.merge(header->metadata);
  return {};
}

/// Orders the tensors by name, which find() needs.
Outcome Checkpoint::sortTensors() {
  std::sort(stored.begin(), stored.end(),
            [](const Tensor &a, const Tensor &b) { return a.name < b.name; });
  auto twice = std::adjacent_find(stored.begin(), stored.end(),
                                  [](const auto &a, const auto &b) { return a.name == b.name; });
  if (twice == stored.end())
    return {};
  return Error{"INGOT-E1034", message("tensor ", inQuotes(twice->name), " is in two weight files"),
               message(printable(files[twice->fileIndex].path().string()), " and ",
                       printable(files[(twice + 1)->fileIndex].path().string())),
               "remove the file that does not belong to this checkpoint"};
}

/// Leaves out the layers behind the model's own that only predict more tokens than the next one.
void Checkpoint::dropDraftLayers() {
  for (uint64_t i = 0; i < modelConfig->draftLayers; ++i) {
    const uint64_t layer = modelConfig->layerCount() + i;
    const std::string known = message("model.layers.", layer, "."),
                      own = message("blk.", layer, ".");
    std::erase_if(stored, [&](const Tensor &tensor) {
      return tensor.name.starts_with(known) || tensor.name.starts_with(own);
    });
  }
  if (modelConfig->draftLayers != 0)
    allDeviations.push_back({"nextn_predict_layers", std::to_string(modelConfig->draftLayers),
                             "not read", "layers that only draft take no part",
                             /*isTold=*/true});
}

/// Leaves the tensors of the parts of a model that are read: of text under the names that it has
/// alone. Whether its embedding is tied is told by what is stored: releases differ in what the file
/// says.
Outcome Checkpoint::takeParts() {
  static constexpr NameBeginning beginnings[] = {{"model.language_model.", "model."},
                                                 {"language_model.model.", "model."},
                                                 {"language_model.lm_head.", "lm_head."},
                                                 {"model.text_model.", "model."}};
  const auto startsWith = [](const std::string &name) {
    return [&](std::string_view beginning) { return name.starts_with(beginning); };
  };
  if (modelConfig->vision)
    if (auto known = renameTensors(modelConfig->wrapper->vision->beginnings); !known)
      return known;
  if (modelConfig->vision && std::ranges::none_of(stored, [](const Tensor &tensor) {
        return tensor.name.starts_with("vision.");
      })) {
    modelConfig->vision = nullptr;
    allDeviations.push_back({"vision_config", "given", "not used",
                             "no weights of a vision part are stored", /*isTold=*/true});
  }
  std::vector<Tensor> kept;
  for (Tensor &tensor : stored) {
    const bool isOther =
        std::ranges::any_of(modelConfig->wrapper->skipped, startsWith(tensor.name));
    (isOther ? otherTensors : kept).push_back(std::move(tensor));
  }
  stored = std::move(kept);
  if (!otherTensors.empty())
    allDeviations.push_back({"tensors of other parts", std::to_string(otherTensors.size()),
                             "not read", "the engine has the model's text part alone",
                             /*isTold=*/true});
  if (auto known = renameTensors(beginnings); !known)
    return known;
  modelConfig->tiedEmbeddings = !findStored(headOf(*modelConfig));
  return {};
}

/// `name` as it begins here; nothing for one that begins otherwise.
static std::optional<std::string> renamedBy(const NameBeginning &beginning, std::string_view name) {
  const auto [stored, known] = beginning;
  const size_t star = stored.find('*');
  if (!name.starts_with(stored.substr(0, star)))
    return std::nullopt;
  if (star == stored.npos)
    return message(known, name.substr(stored.size()));
  name.remove_prefix(star);
  const std::string_view number = name.substr(0, name.find_first_not_of("0123456789")),
                         behind = stored.substr(star + 1);
  name.remove_prefix(number.size());
  if (number.empty() || !name.starts_with(behind))
    return std::nullopt;
  const size_t place = known.find('*');
  return message(known.substr(0, place), number, known.substr(place + 1),
                 name.substr(behind.size()));
}

/// Gives tensors the names that they have here, by how those in the files begin.
Outcome Checkpoint::renameTensors(std::span<const NameBeginning> beginnings) {
  if (beginnings.empty())
    return {};
  for (Tensor &tensor : stored)
    for (const NameBeginning &beginning : beginnings)
      if (auto name = renamedBy(beginning, tensor.name)) {
        const auto earlier = renamed.extract(tensor.name);
        renamed.emplace(*name, earlier ? earlier.mapped() : tensor.name);
        tensor.name = *std::move(name);
        break;
      }
  return sortTensors();
}

/// Collects the second names of stored tensors.
Outcome Checkpoint::resolveAliases() {
  for (const auto &[name, storedName] : metadata)
    if (!findStored(name) && findStored(storedName))
      aliases.emplace(name, storedName);
  // A GGUF file states nothing: it stores the matrix once, or twice.
  return modelConfig->tiedEmbeddings || fromGguf ? tieEmbeddings() : Outcome();
}

/// A tied model stores the matrix under either name. Where both are stored and differ, which
/// programs for training leave behind, each is what it says, as transformers has it since 5.0.
Outcome Checkpoint::tieEmbeddings() {
  const bool isStated = modelConfig->tiedEmbeddings;
  const std::string embeddingName = embeddingOf(*modelConfig), headName = headOf(*modelConfig);
  const Tensor *embedding = find(embeddingName), *head = find(headName);
  if (embedding && head && embedding != head) {
    auto same = holdTheSame(*embedding, *head);
    if (!same)
      return same.error();
    modelConfig->tiedEmbeddings = *same;
    if (!*same && isStated)
      allDeviations.push_back({"tie_word_embeddings", "true", "false",
                               message("tensors ", shownName(embeddingName), " and ",
                                       shownName(headName), " are both stored, and differ"),
                               /*isTold=*/true});
  }
  if (!modelConfig->tiedEmbeddings)
    return {};
  if (embedding)
    aliases.insert_or_assign(headName, embedding->name);
  else if (head)
    aliases.insert_or_assign(embeddingName, head->name);
  return {};
}

/// Reads up to the first difference, and never more than a part of either at once.
Expected<bool> Checkpoint::holdTheSame(const Tensor &one, const Tensor &other) const {
  if (one.dtype != other.dtype || one.shape != other.shape || one.bytes != other.bytes)
    return false;
  constexpr uint64_t most = uint64_t{1} << 20;
  std::vector<std::byte> mine(std::min(one.bytes, most)), theirs(mine.size());
  for (uint64_t done = 0; done < one.bytes; done += mine.size()) {
    mine.resize(std::min(one.bytes - done, most));
    theirs.resize(mine.size());
    for (auto [tensor, bytes] : {std::pair(&one, &mine), std::pair(&other, &theirs)})
      if (auto filled = read(*tensor, done, *bytes); !filled)
        return filled.error();
    if (mine != theirs)
      return false;
  }
  return true;
}

const std::vector<uint64_t> &Checkpoint::eosIds() const {
  return generationConfig.eosIds ? *generationConfig.eosIds : modelConfig->eosIds;
}

std::string Checkpoint::storedName(std::string_view name) const {
  auto alias = aliases.find(name);
  return alias == aliases.end() ? std::string(name) : alias->second;
}

const std::string *Checkpoint::fileMetadata(std::string_view key) const {
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : &found->second;
}

const Tensor *Checkpoint::find(std::string_view name) const { return findStored(storedName(name)); }

const Tensor *Checkpoint::findStored(std::string_view name) const {
  auto found = std::lower_bound(
      stored.begin(), stored.end(), name,
      [](const Tensor &tensor, std::string_view wanted) { return tensor.name < wanted; });
  return found != stored.end() && found->name == name ? &*found : nullptr;
}

Expected<const Tensor *> Checkpoint::get(std::string_view name) const {
  if (const Tensor *tensor = find(name))
    return tensor;
  std::vector<std::string> names;
  for (const Tensor &tensor : stored)
    names.push_back(shownName(tensor.name));
  std::string fix = fromGguf ? "the file lacks what its architecture needs; convert the model again"
                             : "check that config.json belongs to these weights";
  if (!fromGguf && name == headOf(*modelConfig) && find(embeddingOf(*modelConfig)))
    fix = "if embedding and output head are one matrix, set tie_word_embeddings in config.json";
  return Error{"INGOT-E1038",
               message("tensor ", inQuotes(shownName(name)), " is missing",
                       didYouMean(shownName(name), names)),
               printable(directory.string()), std::move(fix)};
}

std::string Checkpoint::shownName(std::string_view name) const {
  if (const auto found = renamed.find(name); found != renamed.end())
    return found->second;
  return fromGguf ? ggufNameOf(name, config()).value_or(std::string(name)) : std::string(name);
}

std::string Checkpoint::inputName(const fs::path &file) const {
  const fs::path name = file.filename();
  if (name == adapterConfigFile || name == adapterWeightsFile)
    return ("adapter" / name).generic_string();
  return file.lexically_relative(directory).generic_string();
}

std::string Checkpoint::fileName(const Tensor &tensor) const {
  if (weightless)
    return "absent";
  return files[tensor.fileIndex].path().filename().string();
}

Outcome Checkpoint::read(const Tensor &tensor, uint64_t offset, std::span<std::byte> out) const {
  if (tensor.fileIndex >= files.size() || offset > tensor.bytes ||
      out.size() > tensor.bytes - offset)
    return Error{"INGOT-E1039",
                 message(out.size(), " bytes at byte ", offset, " do not lie in tensor ",
                         inQuotes(tensor.name), ", which has ", tensor.bytes, " bytes"),
                 printable(directory.string()), "report this as an error of Ingot"};
  return files[tensor.fileIndex].readAt(tensor.offset + offset, out);
}

} // namespace ingot::checkpoint
