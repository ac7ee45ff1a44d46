// SPDX-License-Identifier: Apache-2.0
// An entry is a file: KIND/KEY.entry, written aside and renamed. When it was used last is the
// file's time of modification.
#include "codegen/BuildCache.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

using namespace ingot::codegen;

namespace {

// The head of an entry's file: magic, version (u32), 0 (u32), bytes of the content (u64), SHA-256
// of the entry's name and the content. Numbers are little-endian.
constexpr llvm::StringLiteral kMagic = "INGOTBC\n";
constexpr uint32_t kVersion = 1;
constexpr size_t kDigestBytes = 32;
constexpr size_t kHeadBytes =
    kMagic.size() + 2 * sizeof(uint32_t) + sizeof(uint64_t) + kDigestBytes;

// Names that nothing else in a folder has, so that a folder given by mistake loses nothing.
constexpr llvm::StringLiteral kEntrySuffix = ".ingot-entry";
constexpr llvm::StringLiteral kPartSuffix = ".ingot-part";
constexpr size_t kKeyDigits = 64;

/// A file that is still being written after so long was left by a process that was killed.
constexpr time_t kAbandoned = 24 * 60 * 60;

class Descriptor {
public:
  Descriptor(int value) : value(value) {}
  ~Descriptor() {
    if (value >= 0)
      close(value);
  }
  Descriptor(const Descriptor &) = delete;
  operator int() const { return value; }

private:
  int value;
};

std::string headOf(llvm::StringRef name, llvm::StringRef bytes) {
  char numbers[2 * sizeof(uint32_t) + sizeof(uint64_t)] = {};
  llvm::support::endian::write32le(numbers, kVersion);
  llvm::support::endian::write64le(numbers + 2 * sizeof(uint32_t), bytes.size());
  llvm::SHA256 hash;
  hash.update(name);
  hash.update(llvm::StringRef("\0", 1));
  hash.update(bytes);
  auto digest = hash.final();
  return kMagic.str() + std::string(numbers, sizeof numbers) +
         std::string(digest.begin(), digest.end());
}

bool readAll(int file, char *to, size_t bytes) {
  while (bytes > 0) {
    ssize_t got = ::read(file, to, bytes);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    to += got;
    bytes -= size_t(got);
  }
  return true;
}

bool writeAll(int file, llvm::StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    bytes = bytes.drop_front(size_t(put));
  }
  return true;
}

bool isKind(llvm::StringRef name) {
  return !name.empty() && llvm::all_of(name, [](char c) {
    return llvm::isDigit(c) || (c >= 'a' && c <= 'z') || c == '-';
  });
}

bool isKey(llvm::StringRef name) {
  return name.size() == kKeyDigits && llvm::all_of(name, llvm::isHexDigit);
}

/// Calls `visit` with each name in the folder `name` of `parent`, and with that folder.
void forEachName(int parent, const char *name,
                 llvm::function_ref<void(int folder, const char *name)> visit) {
  int descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  DIR *folder = descriptor < 0 ? nullptr : fdopendir(descriptor);
  if (!folder) {
    if (descriptor >= 0)
      close(descriptor);
    return;
  }
  while (const dirent *entry = readdir(folder))
    visit(descriptor, entry->d_name);
  closedir(folder);
}

std::string entryName(llvm::StringRef kind, llvm::StringRef key) {
  return (kind + "/" + key + kEntrySuffix).str();
}

llvm::Error refuse(llvm::StringRef code, llvm::StringRef folder, const llvm::Twine &reason) {
  return llvm::createStringError(code + ": cache folder '" + folder + "': " + reason +
                                 "; name another one by --cache");
}

/// Code of entries gets into engines and is run: nobody else may have put it there.
llvm::Error checkOwner(int descriptor, llvm::StringRef folder) {
  struct stat facts;
  if (fstat(descriptor, &facts) != 0)
    return refuse("INGOT-E7041", folder, llvm::Twine("cannot be read: ") + std::strerror(errno));
  if (facts.st_uid != geteuid())
    return refuse("INGOT-E7040", folder,
                  "belongs to user " + llvm::Twine(facts.st_uid) + ", and this is user " +
                      llvm::Twine(geteuid()));
  if (facts.st_mode & (S_IWGRP | S_IWOTH))
    return refuse("INGOT-E7040", folder, "others may write to it; take that away by chmod go-w");
  return llvm::Error::success();
}

} // namespace

CacheKey &CacheKey::add(llvm::StringRef part) {
  uint8_t size[sizeof(uint64_t)];
  llvm::support::endian::write64le(size, part.size());
  hash.update(llvm::ArrayRef(size));
  hash.update(part);
  return *this;
}

std::string CacheKey::text() { return llvm::toHex(hash.final(), /*LowerCase=*/true); }

std::optional<std::string> BuildCache::defaultFolder() {
  auto absolute = [](const char *variable) {
    const char *value = std::getenv(variable);
    return value && value[0] == '/' ? value : nullptr;
  };
  if (const char *caches = absolute("XDG_CACHE_HOME"))
    return std::string(caches) + "/ingot";
  if (const char *home = absolute("HOME"))
    return std::string(home) + "/.cache/ingot";
  return std::nullopt;
}

llvm::Expected<std::unique_ptr<BuildCache>> BuildCache::open(llvm::StringRef folder, uint64_t limit,
                                                             uint64_t kept) {
  std::string path = folder.str();
  // Only the owner may use what is made here; folders that exist keep their modes.
  if (auto error = llvm::sys::fs::create_directories(path, /*IgnoreExisting=*/true,
                                                     llvm::sys::fs::owner_all))
    return refuse("INGOT-E7041", folder, "cannot be made: " + error.message());
  int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return refuse("INGOT-E7041", folder, llvm::Twine("cannot be opened: ") + std::strerror(errno));
  std::unique_ptr<BuildCache> cache(new BuildCache(path, descriptor, limit, kept));
  if (llvm::Error error = checkOwner(descriptor, folder))
    return std::move(error);
  return cache;
}

llvm::Expected<std::unique_ptr<BuildCache>> BuildCache::open(const Choice &choice, std::string &why,
                                                             uint64_t kept) {
  if (choice.none) {
    why = "--no-cache";
    return nullptr;
  }
  auto opened = [&](llvm::StringRef folder) -> llvm::Expected<std::unique_ptr<BuildCache>> {
    auto cache = open(folder, choice.limit, kept);
    if (cache)
      return cache;
    return llvm::createStringError(llvm::toString(cache.takeError()) +
                                   ", or build with --no-cache");
  };
  if (!choice.folder.empty())
    return opened(choice.folder);
  std::optional<std::string> folder = defaultFolder();
  if (!folder) {
    why = "neither XDG_CACHE_HOME nor HOME names a folder for it";
    return nullptr;
  }
  auto cache = opened(*folder);
  if (cache)
    return cache;
  why = llvm::toString(cache.takeError());
  return nullptr;
}

BuildCache::~BuildCache() { close(descriptor); }

std::optional<std::string> BuildCache::get(llvm::StringRef kind, llvm::StringRef key) {
  assert(isKind(kind) && isKey(key));
  std::string name = entryName(kind, key);
  if (keptLimit > 0) {
    std::lock_guard lock(keeping);
    if (auto known = kept.find(name); known != kept.end()) {
      ++found;
      return known->second;
    }
  }
  std::optional<std::string> bytes = read(name);
  ++(bytes ? found : missed);
  if (bytes)
    keep(name, *bytes);
  return bytes;
}

void BuildCache::put(llvm::StringRef kind, llvm::StringRef key, llvm::StringRef bytes) {
  assert(isKind(kind) && isKey(key));
  std::string name = entryName(kind, key);
  keep(name, bytes);
  if (kHeadBytes + bytes.size() <= bound && write(kind, name, bytes))
    account(kHeadBytes + bytes.size());
}

void BuildCache::keep(const std::string &name, llvm::StringRef bytes) {
  std::lock_guard lock(keeping);
  if (keptBytes + bytes.size() <= keptLimit && kept.emplace(name, bytes.str()).second)
    keptBytes += bytes.size();
}

/// An entry's content; one that is not whole is removed.
std::optional<std::string> BuildCache::read(const std::string &name) const {
  // Without O_NONBLOCK a pipe of that name would be waited for.
  Descriptor file =
      openat(descriptor, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat facts;
  if (file < 0)
    return std::nullopt;
  bool whole =
      fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size >= off_t(kHeadBytes);
  std::string head(kHeadBytes, '\0'), bytes;
  whole = whole && readAll(file, head.data(), head.size());
  // Nothing is allocated for a size that the head does not state.
  uint64_t size = facts.st_size - kHeadBytes;
  whole =
      whole && llvm::StringRef(head).starts_with(kMagic) &&
      size == llvm::support::endian::read64le(head.data() + kMagic.size() + 2 * sizeof(uint32_t)) &&
      size <= bound;
  if (whole) {
    bytes.resize(size);
    whole = readAll(file, bytes.data(), size) && head == headOf(name, bytes);
  }
  if (!whole) {
    unlinkat(descriptor, name.c_str(), 0);
    return std::nullopt;
  }
  futimens(file, nullptr);
  return bytes;
}

bool BuildCache::write(llvm::StringRef kind, const std::string &name, llvm::StringRef bytes) const {
  mkdirat(descriptor, kind.str().c_str(), 0700); // it may be there
  std::string part = name + "." + std::to_string(getpid()) + "-" +
                     std::to_string(llvm::sys::Process::GetRandomNumber()) + kPartSuffix.str();
  bool whole;
  {
    Descriptor file = openat(descriptor, part.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
      return false;
    whole = writeAll(file, headOf(name, bytes)) && writeAll(file, bytes);
  }
  if (whole && renameat(descriptor, part.c_str(), descriptor, name.c_str()) == 0)
    return true;
  unlinkat(descriptor, part.c_str(), 0);
  return false;
}

struct BuildCache::Entry {
  std::string kind, name; ///< name within the cache's folder
  uint64_t bytes;
  timespec used;
};

/// All entries. What was being written and was abandoned is removed.
std::vector<BuildCache::Entry> BuildCache::scan() const {
  std::vector<Entry> entries;
  forEachName(descriptor, ".", [&](int all, const char *kind) {
    if (!isKind(kind))
      return;
    forEachName(all, kind, [&](int folder, const char *file) {
      llvm::StringRef name = file, key = name.take_front(kKeyDigits);
      struct stat facts;
      if (!isKey(key) || fstatat(folder, file, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return;
      if (name.drop_front(kKeyDigits) == kEntrySuffix)
        entries.push_back(
            {kind, (llvm::Twine(kind) + "/" + name).str(), uint64_t(facts.st_size), facts.st_mtim});
      else if (name.ends_with(kPartSuffix) && time(nullptr) - facts.st_mtim.tv_sec > kAbandoned)
        unlinkat(folder, file, 0);
    });
  });
  return entries;
}

/// Adds to the total what was written, and makes room where that passes the bound.
void BuildCache::account(uint64_t bytes) {
  std::lock_guard lock(accounting);
  written += bytes;
  bool knows = total && written <= bound / 16; // other processes write here, too
  if (knows) {
    *total += bytes;
    if (*total <= bound)
      return;
  }
  std::vector<Entry> entries = scan();
  written = 0;
  total = 0;
  for (const Entry &entry : entries)
    *total += entry.bytes;
  if (*total <= bound)
    return;
  llvm::sort(entries, [](const Entry &a, const Entry &b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.name) <
           std::tie(b.used.tv_sec, b.used.tv_nsec, b.name);
  });
  for (const Entry &entry : entries) {
    if (*total <= bound / 10 * 9)
      break;
    // One that another process removed meanwhile takes no room either.
    unlinkat(descriptor, entry.name.c_str(), 0);
    *total -= entry.bytes;
  }
}

std::vector<BuildCache::Kind> BuildCache::kinds() const {
  std::map<std::string, Kind> byName;
  for (const Entry &entry : scan()) {
    Kind &kind = byName[entry.kind];
    int64_t used = entry.used.tv_sec;
    kind.oldestUse = kind.entries == 0 ? used : std::min(kind.oldestUse, used);
    kind.newestUse = std::max(kind.newestUse, used);
    kind.name = entry.kind;
    ++kind.entries;
    kind.bytes += entry.bytes;
  }
  std::vector<Kind> list;
  for (auto &[name, kind] : byName)
    list.push_back(std::move(kind));
  return list;
}

BuildCache::Kind BuildCache::clear() {
  std::lock_guard lock(accounting);
  Kind removed;
  for (const Entry &entry : scan())
    if (unlinkat(descriptor, entry.name.c_str(), 0) == 0) {
      ++removed.entries;
      removed.bytes += entry.bytes;
    }
  forEachName(descriptor, ".", [](int all, const char *kind) {
    if (isKind(kind))
      unlinkat(all, kind, AT_REMOVEDIR); // one with other files stays
  });
  total.reset();
  std::lock_guard keptLock(keeping);
  kept.clear();
  keptBytes = 0;
  return removed;
}

llvm::Expected<std::string>
ingot::codegen::cachedOrMade(BuildCache &cache, llvm::StringRef kind, llvm::StringRef key,
                             llvm::function_ref<llvm::Expected<std::string>()> make) {
  if (std::optional<std::string> bytes = cache.get(kind, key))
    return std::move(*bytes);
  llvm::Expected<std::string> made = make();
  if (made)
    cache.put(kind, key, *made);
  return made;
}
