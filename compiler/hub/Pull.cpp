// SPDX-License-Identifier: Apache-2.0
// The order: listing, choice, space, bytes, names.
#include "compiler/hub/Pull.h"

#include "compiler/checkpoint/files/ShardIndex.h"
#include "compiler/hub/BlobFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <sys/statvfs.h>

using namespace ingot::checkpoint;
using ingot::compiler::Progress;
using ingot::compiler::readableBytes;
namespace fs = std::filesystem;

namespace ingot::hub {
namespace {

/// One pull of one model.
class ModelPull {
public:
  ModelPull(const ModelName &name, const HubSettings &settings, const PullOptions &options,
            Progress &progress)
      : name(name), settings(settings), options(options), progress(progress),
        cache(settings.cacheFolder, name) {}

  Expected<fs::path> find() const;
  Expected<fs::path> fetch();

private:
  Expected<RepositoryListing> list(const Curl &curl) const;
  Outcome checkSpace() const;
  Outcome fetchFiles(const Curl &curl);
  Url address(const std::string &path, const std::string &query = "") const;
  FetchReport reportOf(std::function<void()> tick) const;
  std::string title() const { return name.repositoryName() + "@" + name.revision; }

  const ModelName &name;
  const HubSettings &settings;
  const PullOptions &options;
  Progress &progress;
  HubCache cache;
  std::string commit;
  std::vector<RemoteFile> wanted;
};

/// Whether all weight files that the index of a folder names are there.
bool hasAllShards(const fs::path &folder) {
  std::error_code error;
  for (const char *kind : {"model", "consolidated"}) {
    const fs::path index = folder / (std::string(kind) + ".safetensors.index.json");
    if (fs::exists(folder / (std::string(kind) + ".safetensors"), error))
      return true;
    if (!fs::exists(index, error))
      continue;
    auto shards = ShardIndex::read(index);
    return shards &&
           std::all_of(shards->files.begin(), shards->files.end(), [&](const std::string &file) {
             std::error_code none;
             return fs::is_regular_file(folder / file, none);
           });
  }
  return false;
}

Expected<fs::path> ModelPull::find() const {
  auto absent = [&](std::string what) {
    return Error{"INGOT-E7317", std::move(what), title(), "pull it once where there is a network"};
  };
  auto known = cache.commitOf(name.revision);
  if (!known)
    return absent("the model is not in " + printable(settings.cacheFolder.string()));
  auto selection = selectFiles(cache.filesOf(*known), name.part, options.memory, title());
  if (!selection)
    return absent("the model is not there: " + selection.error().what);
  const fs::path folder = cache.snapshot(*known);
  if (selection->model.empty() && !hasAllShards(folder))
    return absent("the model is not there as a whole");
  if (!selection->why.empty())
    progress.tell(selection->why + "\n");
  return selection->model.empty() ? folder : folder / selection->model;
}

Url ModelPull::address(const std::string &path, const std::string &query) const {
  Url url = settings.endpoint;
  url.target += escapedPath(path) + query;
  return url;
}

FetchReport ModelPull::reportOf(std::function<void()> tick) const {
  return {[this](const std::string &text) { progress.tell(text + "\n"); }, std::move(tick)};
}

/// A revision is one part of the address, whatever is in it.
std::string escapedRevision(const std::string &revision) {
  std::string out;
  for (char c : revision)
    out += c == '/' ? "%2F" : std::string(1, c);
  return out;
}

Expected<RepositoryListing> ModelPull::list(const Curl &curl) const {
  TextSink sink(title());
  Url url = address("/api/models/" + name.repositoryName() + "/revision/");
  url.target += escapedRevision(name.revision) + "?blobs=true";
  const Fetch fetch{title(), url, &sink};
  if (Outcome fetched = fetchAll(curl, settings, options.retries, {&fetch, 1}, reportOf([] {}));
      !fetched)
    return fetched.error();
  return RepositoryListing::parse(sink.text, title());
}

Outcome ModelPull::checkSpace() const {
  uint64_t missing = 0;
  for (const RemoteFile &file : wanted) {
    if (isKept(cache, file))
      continue;
    std::error_code error;
    const uint64_t kept =
        fs::file_size(cache.blob(file.digest.hex).string() + ".incomplete", error);
    missing += file.bytes - (error ? 0 : std::min(kept, file.bytes));
  }
  struct statvfs disk = {};
  if (statvfs(settings.cacheFolder.c_str(), &disk) != 0)
    return cannotKeep(settings.cacheFolder, errno);
  const uint64_t free = uint64_t(disk.f_bavail) * disk.f_frsize;
  if (missing <= free)
    return {};
  return Error{"INGOT-E7312",
               message("the model needs ", readableBytes(missing), " more, and ",
                       readableBytes(free), " are free"),
               settings.cacheFolder.string(), "free some, or name another folder by --cache-dir"};
}

Outcome ModelPull::fetchFiles(const Curl &curl) {
  std::vector<std::unique_ptr<BlobFile>> blobs;
  std::vector<Fetch> fetches;
  uint64_t total = 0, kept = 0;
  std::map<std::string, bool> seen; // of equal files one is fetched
  for (const RemoteFile &file : wanted) {
    if (!seen.emplace(file.digest.hex, true).second)
      continue;
    total += file.bytes;
    if (isKept(cache, file)) {
      kept += file.bytes;
      continue;
    }
    blobs.push_back(std::make_unique<BlobFile>(cache, file));
    fetches.push_back(
        {file.name, address("/" + name.repositoryName() + "/resolve/" + commit + "/" + file.name),
         blobs.back().get()});
  }
  if (fetches.empty())
    return {};
  progress.begin("fetch");
  Outcome fetched = fetchAll(curl, settings, options.retries, fetches, reportOf([&] {
                               uint64_t done = kept;
                               for (const auto &blob : blobs)
                                 done += blob->have();
                               progress.update(done, total);
                             }));
  if (fetched)
    progress.end(message(blobs.size(), " files, ", readableBytes(total - kept)));
  return fetched;
}

Expected<fs::path> ModelPull::fetch() {
  auto curl = Curl::open();
  if (!curl)
    return curl.error();
  auto listing = list(*curl);
  if (!listing)
    return listing.error();
  commit = listing->commit;
  std::vector<NamedSize> sizes;
  for (const RemoteFile &file : listing->files)
    sizes.push_back({file.name, file.bytes});
  auto selection = selectFiles(sizes, name.part, options.memory, title());
  if (!selection)
    return selection.error();
  for (RemoteFile &file : listing->files)
    if (std::find(selection->files.begin(), selection->files.end(), file.name) !=
        selection->files.end())
      wanted.push_back(std::move(file));
  if (!selection->why.empty())
    progress.tell(selection->why + "\n");
  if (!selection->skipped.empty()) {
    std::string text = "not fetched, since reading them can run programs:";
    for (const std::string &file : selection->skipped)
      text += " " + printable(file);
    progress.warn(text);
  }
  if (Outcome prepared = cache.prepare(); !prepared)
    return prepared.error();
  if (Outcome fits = checkSpace(); !fits)
    return fits.error();
  if (Outcome fetched = fetchFiles(*curl); !fetched)
    return fetched.error();
  for (const RemoteFile &file : wanted)
    if (Outcome linked = cache.link(commit, file.name, file.digest.hex); !linked)
      return linked.error();
  if (Outcome noted = cache.setCommit(name.revision, commit); !noted)
    return noted.error();
  const fs::path folder = cache.snapshot(commit);
  return selection->model.empty() ? folder : folder / selection->model;
}

} // namespace

Expected<fs::path> pull(const ModelName &name, const HubSettings &settings,
                        const PullOptions &options, Progress &progress) {
  ModelPull model(name, settings, options, progress);
  if (options.isOffline)
    return model.find();
  if (options.isKeptEnough)
    if (auto found = model.find())
      return found;
  return model.fetch();
}

} // namespace ingot::hub
