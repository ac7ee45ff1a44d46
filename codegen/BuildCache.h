// SPDX-License-Identifier: Apache-2.0
// What was expensive to make, kept for later builds: found by a digest of everything that
// determines it, in one folder with one bound for all kinds.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SHA256.h"
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ingot::codegen {

/// The SHA-256 of a list of parts. Lists that differ, if only in where one part ends and the next
/// begins, have different keys.
class CacheKey {
public:
  CacheKey &add(llvm::StringRef part);

  /// 64 lower-case hexadecimal digits. Nothing can be added afterwards.
  std::string text();

private:
  llvm::SHA256 hash;
};

/// A folder of entries, each found by its kind and its key. Safe to use from several threads, and
/// by several processes at a time, of which any may end at any moment. It cannot change a result as
/// long as keys cover everything: an entry that is not whole is none. What cannot be written is not
/// kept, which is no error. Kinds are names of lower-case letters, digits and '-'.
class BuildCache {
public:
  static constexpr uint64_t kDefaultLimit = uint64_t{2} << 30;

  /// $XDG_CACHE_HOME/ingot, else $HOME/.cache/ingot; nothing where neither variable names an
  /// absolute path.
  static std::optional<std::string> defaultFolder();

  /// Opens `folder`, which is made, with mode 0700, where it is missing. All entries together take
  /// up to about `limit` bytes: beyond that, those not used for longest go. Entries of up to
  /// `kept` bytes in all stay in this process's memory, for programs that ask again and again.
  /// Errors: INGOT-E7040, a folder whose content others may write; INGOT-E7041.
  static llvm::Expected<std::unique_ptr<BuildCache>>
  open(llvm::StringRef folder, uint64_t limit = kDefaultLimit, uint64_t kept = 0);

  /// What a command line asks for.
  struct Choice {
    std::string folder; ///< empty: the default one
    bool none = false;
    uint64_t limit = kDefaultLimit;
  };

  /// The cache of `choice`, or null; `why` then says why there is none. Refusing a folder that was
  /// asked for is an error, refusing the default one is not: `why` has the error's text.
  static llvm::Expected<std::unique_ptr<BuildCache>> open(const Choice &choice, std::string &why,
                                                          uint64_t kept = 0);

  ~BuildCache();
  BuildCache(const BuildCache &) = delete;
  BuildCache &operator=(const BuildCache &) = delete;

  /// The entry's bytes, of which this counts as a use; nothing if there is none.
  std::optional<std::string> get(llvm::StringRef kind, llvm::StringRef key);

  /// Keeps `bytes`, in place of what the key had.
  void put(llvm::StringRef kind, llvm::StringRef key, llvm::StringRef bytes);

  const std::string &folder() const { return path; }
  uint64_t limit() const { return bound; }

  /// What get() found, and did not find, since the folder was opened.
  uint64_t hits() const { return found; }
  uint64_t misses() const { return missed; }

  /// All entries of a kind. Times are seconds since 1970; bytes are those of the files.
  struct Kind {
    std::string name;
    uint64_t entries = 0, bytes = 0;
    int64_t oldestUse = 0, newestUse = 0;
  };
  std::vector<Kind> kinds() const;

  /// Removes every entry, and nothing else; the number of entries and their bytes.
  Kind clear();

private:
  struct Entry;
  BuildCache(std::string path, int descriptor, uint64_t limit, uint64_t kept)
      : path(std::move(path)), descriptor(descriptor), bound(limit), keptLimit(kept) {}

  std::optional<std::string> read(const std::string &name) const;
  bool write(llvm::StringRef kind, const std::string &name, llvm::StringRef bytes) const;
  std::vector<Entry> scan() const;
  void account(uint64_t bytes);
  void keep(const std::string &name, llvm::StringRef bytes);

  std::string path;
  int descriptor; ///< of the folder, so that it stays the one that was checked
  uint64_t bound;
  std::atomic<uint64_t> found = 0, missed = 0;

  std::mutex accounting;
  std::optional<uint64_t> total; ///< bytes in the folder, as far as is known; nothing: not yet
  uint64_t written = 0;          ///< by this process, since the folder was last read

  std::mutex keeping;
  std::map<std::string, std::string> kept; ///< by name within the folder
  uint64_t keptBytes = 0, keptLimit;
};

/// The bytes of that kind and key from `cache`, else those that `make` gives, which are put there.
llvm::Expected<std::string> cachedOrMade(BuildCache &cache, llvm::StringRef kind,
                                         llvm::StringRef key,
                                         llvm::function_ref<llvm::Expected<std::string>()> make);

} // namespace ingot::codegen
