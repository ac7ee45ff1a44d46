// SPDX-License-Identifier: Apache-2.0
// ingot cache: what builds have kept, and removing it.
#include "compiler/tools/BuildArguments.h"
#include "compiler/tools/BuiltEngines.h"
#include "compiler/tools/Commands.h"
#include "runtime/tools/Program.h"

using namespace ingot;
using namespace ingot::compiler;

static constexpr char kExamples[] = "examples:\n"
                                    "  ingot cache list\n"
                                    "  ingot cache list --cache kernels\n"
                                    "  ingot cache clear\n";

/// Models that builds quantized first are kept beside the entries. Engines are no cache: `ingot
/// list` shows them.
static std::filesystem::path modelsOf(const codegen::BuildCache &cache) {
  return std::filesystem::path(cache.folder()) / kModelsFolder;
}

static std::string readableTime(int64_t seconds) { return localTime(seconds, "%Y-%m-%d %H:%M"); }

static void printKind(const codegen::BuildCache::Kind &kind) {
  printf("  %-16s %8llu %12s  %-16s  %s\n", kind.name.c_str(),
         static_cast<unsigned long long>(kind.entries), readableBytes(kind.bytes).c_str(),
         readableTime(kind.oldestUse).c_str(), readableTime(kind.newestUse).c_str());
}

static void list(const codegen::BuildCache &cache) {
  codegen::BuildCache::Kind all{"all"};
  printf("%s\n", cache.folder().c_str());
  for (const codegen::BuildCache::Kind &kind : cache.kinds()) {
    if (all.entries == 0)
      printf("  %-16s %8s %12s  %-16s  %s\n", "kind", "entries", "size", "oldest use",
             "newest use");
    printKind(kind);
    all.oldestUse = all.entries == 0 ? kind.oldestUse : std::min(all.oldestUse, kind.oldestUse);
    all.newestUse = std::max(all.newestUse, kind.newestUse);
    all.entries += kind.entries;
    all.bytes += kind.bytes;
  }
  if (all.entries > 0)
    printKind(all);
  else
    printf("  no entries\n");
  if (auto [count, bytes] = keptItems(modelsOf(cache), /*remove=*/false); count)
    printf("  models that builds quantized first: %llu, %s\n",
           static_cast<unsigned long long>(count), readableBytes(bytes).c_str());
  printf("  builds let it grow to %s, or to their --cache-limit\n",
         readableBytes(cache.limit()).c_str());
}

static void clear(codegen::BuildCache &cache) {
  codegen::BuildCache::Kind removed = cache.clear();
  printf("%s: removed %llu entries, %s", cache.folder().c_str(),
         static_cast<unsigned long long>(removed.entries), readableBytes(removed.bytes).c_str());
  auto [count, bytes] = keptItems(modelsOf(cache), /*remove=*/true);
  printf(", %llu quantized models, %s\n", static_cast<unsigned long long>(count),
         readableBytes(bytes).c_str());
}

int compiler::runCache(int argc, char **argv) {
  runtime::CommandLine app("Lists or removes the compiled kernels that builds have kept.", argv[0],
                           kExamples);
  std::string folder, action;
  app.addOption(
         "ACTION", action,
         "list: what is kept, per kind entries, size and last use; clear: remove every entry")
      .required()
      .oneOf({"list", "clear"});
  app.addOption("--cache", folder, "the folder (default: ingot in $XDG_CACHE_HOME or in ~/.cache)");
  if (auto status = parseArguments(app, argc, argv))
    return *status;
  if (folder.empty())
    folder = codegen::BuildCache::defaultFolder().value_or("");
  if (folder.empty())
    return runtime::reportError(runtime::Status::error(
        "INGOT-E7041", "neither XDG_CACHE_HOME nor HOME names a folder", "name one by --cache"));
  if (!std::filesystem::exists(folder)) {
    printf("%s\n  there is no such folder\n", folder.c_str());
    return 0;
  }
  auto cache = codegen::BuildCache::open(folder);
  if (!cache) {
    Progress(ProgressStyle::Lines).failed(llvm::toString(cache.takeError()));
    return 1;
  }
  if (action == "clear")
    clear(**cache);
  else
    list(**cache);
  return 0;
}
