// SPDX-License-Identifier: Apache-2.0
// Found by a digest of what decides about an engine, of files by their contents; those that have
// not changed since they were read last are not read again.
#include "compiler/tools/BuiltEngines.h"

#include "codegen/BuildCache.h"
#include "codegen/FileStamp.h"
#include "codegen/ForEachParallel.h"
#include "compiler/build/Version.h"
#include "compiler/checkpoint/gguf/ModelFile.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"
#include "compiler/engine_file/EngineReader.h"

#include <algorithm>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>

using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Error;
using checkpoint::Expected;
using codegen::CacheKey;
namespace fs = std::filesystem;

static constexpr char kSuffix[] = ".ingot";

/// The files that decide about something, with the names under which they do.
std::vector<NamedFile> compiler::filesIn(const fs::path &path) {
  std::error_code error;
  std::vector<NamedFile> files;
  if (fs::is_regular_file(path, error))
    return {{path.filename().string(), path}};
  for (const fs::directory_entry &entry : fs::directory_iterator(path, error))
    if (entry.is_regular_file(error))
      files.push_back({entry.path().filename().string(), entry.path()});
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<NamedFile> compiler::modelFiles(const checkpoint::Checkpoint &model,
                                            const fs::path &path) {
  std::vector<NamedFile> files = {{"ingot", "/proc/self/exe"}};
  for (const fs::path &file : model.inputs())
    files.push_back({model.inputName(file), file});
  for (const fs::path &file : checkpoint::tokenizerFiles(path))
    files.push_back({file.filename().string(), file});
  return files;
}

checkpoint::Outcome compiler::addFiles(CacheKey &key, std::span<const NamedFile> files,
                                       FileDigests &digests, unsigned threads, Progress &progress) {
  std::vector<fs::path> paths;
  for (const NamedFile &file : files)
    paths.push_back(file.path);
  size_t count = 0;
  digests.read(paths, codegen::usableThreads(threads), [&](size_t done, size_t all) {
    if (!std::exchange(count, all))
      progress.begin("digest inputs");
    progress.update(done, all);
  });
  if (count)
    progress.end(std::to_string(count) + " files");
  key.add(std::to_string(files.size()));
  for (const NamedFile &file : files) {
    auto digest = digests.of(file.path);
    if (!digest)
      return digest.error();
    key.add(file.name).add(checkpoint::hex(*digest));
  }
  return {};
}

/// A library is not read for a key: another one has another stamp.
static void addLibrary(CacheKey &key, const fs::path &path) {
  for (const NamedFile &file : filesIn(path))
    if (file.name.find("nvrtc") != file.name.npos)
      if (auto stamp = codegen::FileStamp::of(file.path.string()))
        key.add(file.name).add(stamp->text());
}

/// The key of the engine that `options` ask for.
static Expected<std::string> keyOf(mlir::MLIRContext &context, const BuildOptions &options,
                                   Progress &progress) {
  auto model = checkpoint::Checkpoint::open(options.model, options.parts());
  if (!model)
    return model.error();
  CacheKey key;
  key.add(kRevision);
  // The engine's name is its model's.
  key.add(checkpoint::modelFileName(options.model).string());
  std::vector<NamedFile> files = modelFiles(*model, options.model);
  for (const BuildOption &option : buildOptions()) {
    if (option.decides == Decides::Nothing)
      continue;
    const std::string text = option.text(options);
    key.add(option.flag);
    if (option.decides == Decides::Library)
      addLibrary(key, text);
    std::vector<NamedFile> read;
    if (option.decides == Decides::Input)
      read = filesIn(text);
    // A path is no part of an engine; a word is, as is one whose files are none.
    key.add(read.empty() ? text : "");
    for (NamedFile &file : read)
      files.push_back({option.flag + ("/" + file.name), std::move(file.path)});
  }
  if (auto added = addFiles(key, files, *options.digests, options.threads, progress); !added)
    return added.error();
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
  int64_t used; ///< nanoseconds
  fs::path path;
  uint64_t bytes;
};

/// When it was last marked as used, or made.
int64_t useOf(const fs::path &path) {
  struct stat facts = {};
  (void)stat(path.c_str(), &facts);
  auto nanoseconds = [](const timespec &time) {
    return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  };
  return std::max(nanoseconds(facts.st_atim), nanoseconds(facts.st_mtim));
}

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
      items.push_back({useOf(entry.path()), entry.path(), bytesOf(entry)});
  std::sort(items.begin(), items.end(),
            [](const KeptItem &one, const KeptItem &other) { return one.used < other.used; });
  return items;
}

} // namespace

void compiler::markUsed(const fs::path &kept) {
  const timespec times[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  (void)utimensat(AT_FDCWD, kept.c_str(), times, 0);
}

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

Expected<fs::path> compiler::builtEngine(mlir::MLIRContext &context, BuildOptions &options,
                                         Progress &progress) {
  if (!options.cache) {
    if (auto built = buildEngine(context, options, progress); !built)
      return built.error();
    return options.output;
  }
  auto key = keyOf(context, options, progress);
  if (!key)
    return key.error();
  fs::path folder = fs::path(options.cache->folder()) / kEnginesFolder;
  options.output = folder / (*key + kSuffix);
  std::error_code error;
  if (exists(options.output, error)) {
    markUsed(options.output);
    return options.output;
  }
  fs::create_directory(folder, error);
  fs::permissions(folder, fs::perms::owner_all, error);
  if (error)
    return Error{"INGOT-E7041", error.message(), folder.string(), "name another with --cache"};
  if (auto built = buildEngine(context, options, progress); !built)
    return built.error();
  // It took a while; what was read in it may be of two models.
  auto now = keyOf(context, options, progress);
  if (!now || *now != *key) {
    fs::remove(options.output, error);
    return Error{"INGOT-E7042", "the files of the model were changed while it was built",
                 options.model.string(), "run again"};
  }
  removeOldest(folder, options.output);
  return options.output;
}

std::vector<KeptEngine> compiler::keptEngines(const fs::path &folder) {
  std::vector<KeptEngine> engines;
  for (const KeptItem &item : itemsOf(folder)) {
    KeptEngine &engine = engines.emplace_back(item.path, "", item.bytes, item.used / 1'000'000'000);
    if (auto metadata = readMetadataBytes(item.path))
      if (auto description = readDescription(*metadata))
        engine.name = description->name;
  }
  return engines;
}

std::string compiler::localTime(int64_t seconds, const char *format) {
  const auto time = static_cast<time_t>(seconds);
  std::tm local{};
  char text[32];
  localtime_r(&time, &local);
  strftime(text, sizeof text, format, &local);
  return text;
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
