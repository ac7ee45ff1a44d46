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

static constexpr char kFolder[] = "engines";
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

/// Removes the engines that were not run for longest until `kept` and the others fit.
static void removeOldest(const fs::path &folder, const fs::path &kept) {
  struct Item {
    fs::file_time_type used;
    fs::path path;
    uint64_t bytes;
  };
  std::error_code error;
  std::vector<Item> items;
  uint64_t bytes = 0;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error))
    if (entry.is_regular_file(error) && entry.path().extension() == kSuffix) {
      items.push_back({entry.last_write_time(error), entry.path(), entry.file_size(error)});
      bytes += items.back().bytes;
    }
  std::sort(items.begin(), items.end(),
            [](const Item &one, const Item &other) { return one.used < other.used; });
  for (const Item &item : items)
    if (bytes > kEnginesLimit && item.path != kept && fs::remove(item.path, error))
      bytes -= item.bytes;
}

/// A new folder for an engine that is not kept.
static Expected<fs::path> temporaryFolder() {
  std::string name = (fs::temp_directory_path() / "ingot-run-XXXXXX").string();
  if (!mkdtemp(name.data()))
    return Error{"INGOT-E7021", "no temporary folder can be made", name, "set TMPDIR"};
  return fs::path(name);
}

Expected<fs::path> compiler::builtEngine(mlir::MLIRContext &context, BuildOptions &options,
                                         Progress &progress) {
  if (!options.cache) {
    auto folder = temporaryFolder();
    if (!folder)
      return folder.error();
    options.output = *folder / "model.ingot";
    if (auto built = buildEngine(context, options, progress); !built) {
      dropEngine(options.output);
      return built.error();
    }
    return options.output;
  }
  auto key = keyOf(context, options);
  if (!key)
    return key.error();
  fs::path folder = fs::path(options.cache->folder()) / kFolder;
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

void compiler::dropEngine(const fs::path &engine) {
  std::error_code error;
  fs::remove(engine, error);
  fs::remove(engine.parent_path(), error);
}

std::pair<uint64_t, uint64_t> compiler::keptEngines(const fs::path &folder, bool remove) {
  std::error_code error;
  uint64_t count = 0, bytes = 0;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder / kFolder, error)) {
    if (!entry.is_regular_file(error) || entry.path().extension() != kSuffix)
      continue;
    ++count;
    bytes += entry.file_size(error);
    if (remove)
      fs::remove(entry.path(), error);
  }
  return {count, bytes};
}
