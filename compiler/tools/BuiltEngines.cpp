// SPDX-License-Identifier: Apache-2.0
// Found by a digest of what decides about an engine. Files of models count by size and time: to
// read them takes as long as to build them.
#include "compiler/tools/BuiltEngines.h"

#include "codegen/BuildCache.h"
#include "compiler/build/Version.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"

#include <algorithm>
#include <unistd.h>

using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Error;
using checkpoint::Expected;
using codegen::CacheKey;
namespace fs = std::filesystem;

static constexpr char kSuffix[] = ".ingot";

/// Name, size and time of a file; of what is none, its name.
static void addFile(CacheKey &key, const fs::path &file) {
  std::error_code error;
  key.add(fs::weakly_canonical(file, error).string());
  key.add(std::to_string(fs::file_size(file, error)));
  key.add(std::to_string(fs::last_write_time(file, error).time_since_epoch().count()));
}

void compiler::addFiles(CacheKey &key, const fs::path &path) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const fs::directory_entry &entry : fs::directory_iterator(path, error))
    if (entry.is_regular_file(error))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (files.empty())
    files.push_back(path);
  for (const fs::path &file : files)
    addFile(key, file);
}

void compiler::addModelFiles(CacheKey &key, const checkpoint::Checkpoint &model,
                             const fs::path &path) {
  addFile(key, "/proc/self/exe");
  for (const fs::path &file : model.inputs())
    addFile(key, file);
  for (const fs::path &file : checkpoint::tokenizerFiles(path))
    addFile(key, file);
}

/// The key of the engine that `options` ask for.
static Expected<std::string> keyOf(mlir::MLIRContext &context, const BuildOptions &options) {
  auto model = checkpoint::Checkpoint::open(options.model);
  if (!model)
    return model.error();
  CacheKey key;
  key.add(kRevision);
  addModelFiles(key, *model, options.model);
  for (const BuildOption &option : buildOptions()) {
    if (option.decides == Decides::Nothing)
      continue;
    const std::string text = option.text(options);
    key.add(option.flag).add(text);
    if (option.decides == Decides::Input && !text.empty())
      addFiles(key, text);
  }
  // `native` is another target on another machine.
  std::vector<std::string> targets = options.targets;
  if (targets.empty())
    targets.push_back(codegen::kNativeTarget.str());
  for (const std::string &name : targets) {
    std::string why;
    auto target = codegen::findTarget(&context, name, why);
    key.add(failed(target) ? name : target->second.getName().str());
  }
  return key.text();
}

namespace {

/// A file, or a folder with all that is in it.
struct KeptItem {
  fs::file_time_type used;
  fs::path path;
  uint64_t bytes;
};

uint64_t bytesOf(const fs::directory_entry &entry) {
  std::error_code error;
  if (!entry.is_directory(error))
    return entry.file_size(error);
  uint64_t bytes = 0;
  for (const fs::directory_entry &inner : fs::recursive_directory_iterator(entry.path(), error))
    if (inner.is_regular_file(error))
      bytes += inner.file_size(error);
  return bytes;
}

/// The engines, or folders of quantized models, in `folder`.
std::vector<KeptItem> itemsOf(const fs::path &folder) {
  std::error_code error;
  std::vector<KeptItem> items;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error))
    if (entry.is_directory(error) ||
        (entry.is_regular_file(error) && entry.path().extension() == kSuffix))
      items.push_back({entry.last_write_time(error), entry.path(), bytesOf(entry)});
  std::sort(items.begin(), items.end(),
            [](const KeptItem &one, const KeptItem &other) { return one.used < other.used; });
  return items;
}

} // namespace

void compiler::removeOldest(const fs::path &folder, const fs::path &kept) {
  const std::vector<KeptItem> items = itemsOf(folder);
  uint64_t bytes = 0;
  for (const KeptItem &item : items)
    bytes += item.bytes;
  for (const KeptItem &item : items) {
    if (bytes <= kKeptLimit || item.path == kept)
      continue;
    std::error_code error;
    fs::remove_all(item.path, error);
    if (!error)
      bytes -= item.bytes;
  }
}

checkpoint::Outcome compiler::placeUnkept(BuildOptions &options) {
  std::string name = (fs::temp_directory_path() / "ingot-run-XXXXXX").string();
  if (!mkdtemp(name.data()))
    return Error{"INGOT-E7021", "no temporary folder can be made", name, "set TMPDIR"};
  options.output = fs::path(name) / "model.ingot";
  return {};
}

Expected<fs::path> compiler::builtEngine(mlir::MLIRContext &context, BuildOptions &options,
                                         Progress &progress) {
  if (!options.cache) {
    if (auto built = buildEngine(context, options, progress); !built)
      return built.error();
    return options.output;
  }
  auto key = keyOf(context, options);
  if (!key)
    return key.error();
  fs::path folder = fs::path(options.cache->folder()) / kEnginesFolder;
  options.output = folder / (*key + kSuffix);
  std::error_code error;
  if (exists(options.output, error)) {
    fs::last_write_time(options.output, fs::file_time_type::clock::now(), error);
    return options.output;
  }
  fs::create_directory(folder, error);
  fs::permissions(folder, fs::perms::owner_all, error);
  if (error)
    return Error{"INGOT-E7041", error.message(), folder.string(), "name another with --cache"};
  if (auto built = buildEngine(context, options, progress); !built)
    return built.error();
  removeOldest(folder, options.output);
  return options.output;
}

void compiler::dropUnkept(const fs::path &engine) {
  std::error_code error;
  fs::remove_all(engine.parent_path(), error);
}

std::pair<uint64_t, uint64_t> compiler::keptItems(const fs::path &folder, bool remove) {
  std::error_code error;
  uint64_t count = 0, bytes = 0;
  for (const KeptItem &item : itemsOf(folder)) {
    ++count;
    bytes += item.bytes;
    if (remove)
      fs::remove_all(item.path, error);
  }
  return {count, bytes};
}
