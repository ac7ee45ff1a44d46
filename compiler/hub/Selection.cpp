// SPDX-License-Identifier: Apache-2.0
// Files are told apart by their names, as the Hub's users write them.
#include "compiler/hub/Selection.h"

#include "compiler/build/Progress.h"
#include "compiler/hub/Url.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <unistd.h>

using namespace ingot::checkpoint;
using ingot::compiler::readableBytes;

namespace ingot::hub {
namespace {

constexpr char kDefaultQuantization[] = "q4_k_m"; // of llama.cpp and ollama as well
// Beside its weights a model needs room for its cache and for what runs beside it.
constexpr uint64_t kRoomBeside = uint64_t{1} << 30;

bool endsWithAny(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

bool isAtTop(const std::string &name) { return name.find('/') == name.npos; }

bool runsPrograms(const std::string &name) {
  return endsWithAny(name, {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".py", ".sh", ".so",
                            ".h5", ".msgpack"});
}

/// A GGUF file, or all parts of a split one.
struct GgufModel {
  std::string stem; ///< of its name, in lower case, without the number of a part
  std::vector<std::string> files;
  uint64_t bytes = 0;
  size_t parts = 1; ///< that there should be

  /// The end of the stem, such as "q4_k_m"; empty where it says nothing.
  std::string quantization() const {
    const size_t at = stem.find_last_of("-.");
    const std::string word = at == stem.npos ? "" : stem.substr(at + 1);
    const bool is = word.starts_with("q") || word.starts_with("iq") || word.starts_with("tq") ||
                    word.starts_with("mxfp") || isPlain(word);
    return is ? word : "";
  }
  static bool isPlain(const std::string &word) {
    return word == "f32" || word == "f16" || word == "bf16" || word == "fp16" || word == "fp32";
  }
  std::string title() const {
    return quantization().empty() ? files.front() : upper(quantization());
  }
  static std::string upper(std::string text) {
    for (char &c : text)
      if (c >= 'a' && c <= 'z')
        c = char(c - 'a' + 'A');
    return text;
  }
  bool isCalled(const std::string &part) const {
    const std::string end = lowered(part);
    return std::find(files.begin(), files.end(), part) != files.end() ||
           (stem.size() > end.size() && stem.ends_with(end) &&
            std::string_view("-.").find(stem[stem.size() - end.size() - 1]) != std::string::npos);
  }
};

/// The number of parts behind "-00001-of-", which is then cut from `stem`; 1 where there is none.
size_t cutPart(std::string &stem) {
  constexpr size_t length = sizeof("-00001-of-00002") - 1;
  if (stem.size() <= length)
    return 1;
  const std::string end = stem.substr(stem.size() - length);
  unsigned number = 0, parts = 0;
  if (std::sscanf(end.c_str(), "-%5u-of-%5u", &number, &parts) != 2 || parts == 0)
    return 1;
  stem.erase(stem.size() - length);
  return parts;
}

/// The models of GGUF files, all parts of which are there; projectors and importance are none.
std::vector<GgufModel> ggufModels(const std::vector<NamedSize> &files) {
  std::map<std::pair<std::string, size_t>, GgufModel> found;
  for (const NamedSize &file : files) {
    std::string stem = lowered(file.name);
    if (!stem.ends_with(".gguf") || stem.find("mmproj") != stem.npos ||
        stem.find("imatrix") != stem.npos)
      continue;
    stem.erase(stem.size() - 5);
    const size_t parts = cutPart(stem);
    GgufModel &model = found[{stem, parts}];
    model.stem = stem;
    model.parts = parts;
    model.files.push_back(file.name);
    model.bytes += file.bytes;
  }
  std::vector<GgufModel> models;
  for (auto &[key, model] : found)
    if (model.files.size() == model.parts) {
      std::sort(model.files.begin(), model.files.end());
      models.push_back(std::move(model));
    }
  return models;
}

std::string listOf(const std::vector<GgufModel> &models) {
  std::string text;
  for (const GgufModel &model : models)
    text += (text.empty() ? "" : ", ") + printable(model.title());
  return text;
}

Selection selectionOf(const GgufModel &model) {
  Selection selection;
  selection.files = model.files;
  selection.model = model.files.front();
  return selection;
}

Expected<Selection> selectCalled(const std::vector<GgufModel> &models, const std::string &part,
                                 const std::string &where) {
  std::vector<GgufModel> called;
  for (const GgufModel &model : models)
    if (model.isCalled(part))
      called.push_back(model);
  if (called.size() == 1)
    return selectionOf(called.front());
  return Error{"INGOT-E7315",
               called.empty() ? message("no GGUF file is called ", inQuotes(part))
                              : message("several GGUF files are called ", inQuotes(part)),
               where,
               models.empty() ? "there are no GGUF files: leave out what follows `:`"
                              : "there are " + listOf(called.empty() ? models : called) +
                                    "; a file's whole name is taken too"};
}

/// The one that this machine runs best, and why.
Expected<Selection> selectFitting(const std::vector<GgufModel> &models, uint64_t memory,
                                  const std::string &where) {
  std::vector<GgufModel> candidates;
  for (const GgufModel &model : models)
    if (!GgufModel::isPlain(model.quantization()))
      candidates.push_back(model);
  if (candidates.empty())
    candidates = models;
  const GgufModel *best = nullptr, *least = &candidates.front();
  for (const GgufModel &model : candidates) {
    if (model.bytes < least->bytes)
      least = &model;
    if (model.bytes + kRoomBeside > memory)
      continue;
    const bool isDefault = model.quantization() == kDefaultQuantization;
    if (!best || isDefault ||
        (best->quantization() != kDefaultQuantization && model.bytes > best->bytes))
      best = &model;
  }
  if (!best)
    return Error{"INGOT-E7316",
                 message("no GGUF file fits in the ", readableBytes(memory),
                         " of this machine; the "
                         "least, ",
                         least->title(), ", has ", readableBytes(least->bytes)),
                 where, "take a smaller model, or name the file behind `:`"};
  Selection selection = selectionOf(*best);
  if (models.size() > 1)
    selection.why =
        message(best->title(), " is chosen, ", readableBytes(best->bytes), " on a machine of ",
                readableBytes(memory), "; there are ", listOf(models));
  return selection;
}

/// What a folder of safetensors weights is read from; empty where it has none.
Selection selectFolder(const std::vector<NamedSize> &files) {
  auto has = [&](std::string_view name) {
    return std::any_of(files.begin(), files.end(),
                       [&](const NamedSize &file) { return file.name == name; });
  };
  const bool isWhole = has("model.safetensors"), isSharded = has("model.safetensors.index.json");
  Selection selection;
  bool hasWeights = false;
  for (const NamedSize &file : files) {
    const std::string &name = file.name;
    if (!isAtTop(name))
      continue;
    if (name.ends_with(".safetensors")) {
      // Copies of the same weights in another form are not fetched too.
      if ((isWhole || isSharded) && name.starts_with("consolidated"))
        continue;
      if (isWhole && name != "model.safetensors" && !name.starts_with("adapter"))
        continue;
      hasWeights = true;
    } else if (!endsWithAny(name, {".json", ".jinja", ".model", ".tiktoken", ".txt"}) ||
               (isWhole && name.ends_with(".index.json"))) {
      continue;
    }
    selection.files.push_back(name);
  }
  if (!hasWeights || !(has("config.json") || has("params.json")))
    selection.files.clear();
  return selection;
}

} // namespace

Expected<Selection> selectFiles(const std::vector<NamedSize> &files, const std::string &part,
                                uint64_t memory, const std::string &where) {
  const std::vector<GgufModel> models = ggufModels(files);
  Selection folder = selectFolder(files);
  Expected<Selection> selected = std::move(folder);
  if (!part.empty())
    selected = selectCalled(models, part, where);
  else if (selected->files.empty() && !models.empty())
    selected = selectFitting(models, memory, where);
  if (!selected)
    return selected;
  for (const NamedSize &file : files)
    if (isAtTop(file.name) && runsPrograms(file.name))
      selected->skipped.push_back(file.name);
  if (selected->files.empty())
    return Error{"INGOT-E7314",
                 selected->skipped.empty()
                     ? "the repository has neither safetensors weights with a config.json nor GGUF "
                       "files"
                     : "the repository has weights only in files that can run programs when they "
                       "are read: " +
                           printable(selected->skipped.front()),
                 where, "take one with safetensors or GGUF files"};
  return selected;
}

uint64_t memoryOfMachine() {
  uint64_t bytes = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  std::ifstream limit("/sys/fs/cgroup/memory.max");
  if (uint64_t most = 0; limit >> most && most > 0) // else it says "max"
    bytes = std::min(bytes, most);
  return bytes;
}

} // namespace ingot::hub
