// SPDX-License-Identifier: Apache-2.0
// An entry of the cache is the stamp, a line, and the digest in hexadecimal digits; its key is that
// of the file's canonical path.
#include "compiler/build/FileDigests.h"

#include "codegen/FileStamp.h"
#include "codegen/ForEachParallel.h"

#include <llvm/ADT/StringExtras.h>

using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Digest;
using checkpoint::Expected;
using codegen::FileStamp;
namespace fs = std::filesystem;

static constexpr char kKind[] = "file-digest";

static std::string nameOf(const fs::path &file) {
  std::error_code error;
  fs::path canonical = fs::weakly_canonical(file, error);
  return error ? file.string() : canonical.string();
}

std::optional<Digest> FileDigests::known(const std::string &name, const std::string &stamp) {
  {
    std::lock_guard lock(mutex);
    if (auto found = entries.find(name); found != entries.end() && found->second.stamp == stamp)
      return found->second.digest;
  }
  if (!cache)
    return std::nullopt;
  std::optional<std::string> entry = cache->get(kKind, codegen::CacheKey().add(name).text());
  if (!entry)
    return std::nullopt;
  auto [line, digits] = llvm::StringRef(*entry).split('\n');
  std::string bytes;
  Digest digest;
  if (line != stamp || !llvm::tryGetFromHex(digits, bytes) || bytes.size() != digest.size())
    return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  std::lock_guard lock(mutex);
  entries[name] = {stamp, digest};
  return digest;
}

void FileDigests::keep(const std::string &name, const Known &entry) {
  if (cache)
    cache->put(kKind, codegen::CacheKey().add(name).text(),
               entry.stamp + "\n" + checkpoint::hex(entry.digest));
  std::lock_guard lock(mutex);
  entries[name] = entry;
}

Expected<Digest> FileDigests::of(const fs::path &file) {
  const std::string name = nameOf(file);
  const std::optional<FileStamp> stamp = FileStamp::of(name);
  if (stamp)
    if (std::optional<Digest> digest = known(name, stamp->text()))
      return *digest;
  const bool settles = stamp && stamp->settles();
  ++reads;
  Expected<Digest> digest = checkpoint::sha256OfFile(file);
  if (!digest || !settles)
    return digest;
  // A file that was written to meanwhile is read again the next time.
  if (std::optional<FileStamp> now = FileStamp::of(name); now && now->text() == stamp->text())
    keep(name, {stamp->text(), *digest});
  return digest;
}

std::string FileDigests::identity(const fs::path &file) {
  if (!cache) {
    const std::optional<FileStamp> stamp = FileStamp::of(file.string());
    return stamp ? stamp->text() : std::string();
  }
  auto digest = of(file);
  return digest ? checkpoint::hex(*digest) : std::string();
}

void FileDigests::read(std::span<const fs::path> files, unsigned threads,
                       const std::function<void(size_t done, size_t count)> &report) {
  std::vector<fs::path> unknown;
  for (const fs::path &file : files) {
    const std::string name = nameOf(file);
    const std::optional<FileStamp> stamp = FileStamp::of(name);
    if (stamp && !known(name, stamp->text()))
      unknown.push_back(file);
  }
  if (unknown.empty())
    return;
  report(0, unknown.size());
  std::mutex reporting;
  size_t done = 0;
  codegen::forEachParallel(unknown.size(), threads, [&](size_t i) {
    // An error comes again when the digest is asked for.
    (void)bool(of(unknown[i]));
    std::lock_guard lock(reporting);
    report(++done, unknown.size());
  });
}
