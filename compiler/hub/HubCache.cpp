// SPDX-License-Identifier: Apache-2.0
// Names, links and locks of the shared folder.
#include "compiler/hub/HubCache.h"

#include "compiler/checkpoint/files/File.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace ingot::checkpoint;
namespace fs = std::filesystem;

namespace ingot::hub {

Error cannotKeep(const fs::path &path, int reason) {
  if (reason == ENOSPC || reason == EDQUOT || reason == EFBIG)
    return Error{"INGOT-E7312", message("there is no space left: ", std::strerror(reason)),
                 path.string(),
                 "free some, or name another folder by --cache-dir; what is there is "
                 "kept and the next pull goes on"};
  return Error{"INGOT-E7313", message("cannot be written: ", std::strerror(reason)), path.string(),
               "check the folder's permissions, or name another by --cache-dir"};
}

FileLock::~FileLock() {
  if (descriptor >= 0)
    close(descriptor);
}

Expected<bool> FileLock::take(const fs::path &path) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  for (;;) {
    FileLock made;
    made.descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (made.descriptor < 0)
      return cannotKeep(path, errno);
    if (flock(made.descriptor, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR)
        continue;
      if (errno == EWOULDBLOCK)
        return false;
      return cannotKeep(path, errno);
    }
    // Its last holder may have removed it: then the lock is of a file that nobody else finds.
    struct stat held = {}, named = {};
    if (fstat(made.descriptor, &held) == 0 && stat(path.c_str(), &named) == 0 &&
        held.st_ino == named.st_ino && held.st_dev == named.st_dev) {
      *this = std::move(made);
      return true;
    }
  }
}

static constexpr char kModels[] = "models--";

static std::string folderName(const ModelName &name) {
  return kModels + name.organisation + "--" + name.repository;
}

HubCache::HubCache(fs::path cacheFolder, const ModelName &name) {
  const std::string own = folderName(name);
  folder = cacheFolder / own;
  locks = cacheFolder / ".locks" / own;
}

Outcome HubCache::prepare() const {
  for (const char *name : {"blobs", "snapshots", "refs"}) {
    std::error_code error;
    fs::create_directories(folder / name, error);
    if (error)
      return cannotKeep(folder / name, error.value());
  }
  return {};
}

std::optional<std::string> HubCache::commitOf(const std::string &revision) const {
  std::error_code error;
  if (isHex(revision, 40))
    return fs::is_directory(snapshot(revision), error) ? std::optional(revision) : std::nullopt;
  auto text = readText(folder / "refs" / revision, 64);
  if (!text || !isHex(text->substr(0, text->find('\n')), 40))
    return std::nullopt;
  return text->substr(0, 40);
}

/// Lets `make` make a file beside `path` and gives it that name. `make` returns 0 or -1 and errno.
template <class Make> static Outcome replace(const fs::path &path, const Make &make) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error)
    return cannotKeep(path.parent_path(), error.value());
  const fs::path temporary = path.string() + "." + std::to_string(getpid()) + ".tmp";
  unlink(temporary.c_str());
  if (make(temporary.c_str()) != 0 || rename(temporary.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    unlink(temporary.c_str());
    return cannotKeep(path, reason);
  }
  return {};
}

Outcome HubCache::setCommit(const std::string &revision, const std::string &commit) const {
  if (isHex(revision, 40))
    return {};
  return replace(folder / "refs" / revision, [&](const char *name) {
    const int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor < 0)
      return -1;
    const bool written = write(descriptor, commit.data(), commit.size()) == ssize_t(commit.size());
    return close(descriptor) == 0 && written ? 0 : -1;
  });
}

Outcome HubCache::link(const std::string &commit, const std::string &name,
                       const std::string &hex) const {
  std::string target = "../../blobs/" + hex;
  for (char c : name)
    if (c == '/')
      target.insert(0, "../");
  return replace(snapshot(commit) / name,
                 [&](const char *temporary) { return symlink(target.c_str(), temporary); });
}

std::vector<NamedSize> HubCache::filesOf(const std::string &commit) const {
  std::vector<NamedSize> files;
  std::error_code error;
  const fs::path root = snapshot(commit);
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(root, error))
    if (std::error_code none; entry.is_regular_file(none))
      files.push_back({entry.path().lexically_relative(root).string(), entry.file_size(none)});
  return files;
}

std::vector<PulledModel> pulledModels(const fs::path &cacheFolder) {
  std::vector<PulledModel> models;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(cacheFolder, error)) {
    std::string own = entry.path().filename();
    const size_t dashes = own.find("--", sizeof kModels - 1);
    if (!own.starts_with(kModels) || dashes == own.npos)
      continue;
    PulledModel model{own.substr(sizeof kModels - 1, dashes - (sizeof kModels - 1)) + "/" +
                          own.substr(dashes + 2),
                      {},
                      0};
    if (!ModelName::parse(model.name))
      continue;
    std::error_code none;
    const fs::path refs = entry.path() / "refs";
    for (const auto &ref : fs::recursive_directory_iterator(refs, none))
      if (ref.is_regular_file(none))
        model.revisions.push_back(ref.path().lexically_relative(refs).string());
    for (const auto &blob : fs::directory_iterator(entry.path() / "blobs", none))
      if (blob.is_regular_file(none))
        model.bytes += blob.file_size(none);
    std::sort(model.revisions.begin(), model.revisions.end());
    models.push_back(std::move(model));
  }
  std::sort(models.begin(), models.end(),
            [](const PulledModel &one, const PulledModel &other) { return one.name < other.name; });
  return models;
}

Outcome removePulled(const fs::path &cacheFolder, const ModelName &name) {
  for (const fs::path &folder :
       {cacheFolder / folderName(name), cacheFolder / ".locks" / folderName(name)}) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (error)
      return cannotKeep(folder, error.value());
  }
  return {};
}

} // namespace ingot::hub
