// SPDX-License-Identifier: Apache-2.0
// Files are compared by what the system says they are; paths are not.
#include "runtime/tools/CommandFiles.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::runtime {
namespace {

namespace fs = std::filesystem;

/// Links that are followed at most, as the system does.
constexpr int mostLinks = 40;

/// A file or folder that is there, or a place below one.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  fs::path below;            ///< empty: it is there
  bool isComparable = false; ///< neither pipe nor device

  bool operator==(const Identity &other) const {
    return isComparable && other.isComparable && device == other.device && inode == other.inode &&
           below == other.below;
  }
};

/// Without a slash at the end, which says nothing of what the path names.
fs::path plain(const fs::path &path) {
  fs::path absolute = path.is_absolute() ? path : fs::path(".") / path;
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

Identity identify(fs::path path) {
  path = plain(path);
  for (int links = 0; links < mostLinks; ++links) {
    struct stat facts;
    if (stat(path.c_str(), &facts) == 0)
      return {facts.st_dev, facts.st_ino, {}, S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode)};
    std::error_code isNone;
    const fs::path target = fs::read_symlink(path, isNone);
    if (isNone)
      break;
    path = plain(path.parent_path() / target);
  }
  if (!path.has_parent_path() || path.parent_path() == path)
    return {};
  Identity identity = identify(path.parent_path());
  identity.below /= path.filename();
  return identity;
}

/// Whether `path` is `folder` or lies in it.
bool isWithin(const fs::path &path, const Identity &folder) {
  std::error_code ignored;
  fs::path at = plain(fs::weakly_canonical(path, ignored));
  for (; !at.empty(); at = at.parent_path()) {
    if (identify(at) == folder)
      return true;
    if (at == at.parent_path())
      break;
  }
  return false;
}

std::string systemText(int reason) { return std::strerror(reason); }

/// Why no file can be made in `folder`, or nothing.
std::string problemOfFolder(const fs::path &folder) {
  struct stat facts;
  if (stat(folder.c_str(), &facts) != 0)
    return "there is no folder " + folder.string();
  if (!S_ISDIR(facts.st_mode))
    return folder.string() + " is no folder";
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return folder.string() + ": " + systemText(errno);
  return "";
}

std::string problemOfWriting(const fs::path &path, bool isFolder) {
  struct stat facts;
  if (stat(path.c_str(), &facts) == 0) {
    if (!isFolder && S_ISDIR(facts.st_mode))
      return "it is a folder";
    if (access(path.c_str(), W_OK) == 0 || isFolder)
      return "";
  }
  fs::path folder = plain(path).parent_path();
  std::error_code ignored;
  while (isFolder && !fs::exists(folder, ignored) && folder.has_relative_path())
    folder = folder.parent_path();
  return problemOfFolder(folder);
}

} // namespace

std::string CommandFiles::Entry::shown() const { return name + " " + path.string(); }

void CommandFiles::add(FileUse use, std::string name, fs::path path) {
  if (use != FileUse::None && !(use <= FileUse::ReadsIfThere && path == "-"))
    entries.push_back({use, std::move(name), std::move(path)});
}

Status CommandFiles::checkUse(const Entry &entry) {
  if (entry.use == FileUse::Reads && access(entry.path.c_str(), R_OK) != 0)
    return Status::error("INGOT-E7101",
                         entry.path.string() + ": cannot be read: " + systemText(errno),
                         "check the path of " + entry.name + " and its permissions");
  if (entry.isRead())
    return {};
  const bool isFolder = entry.use != FileUse::Writes;
  if (std::string problem = problemOfWriting(entry.path, isFolder); !problem.empty())
    return Status::error("INGOT-E7103", entry.path.string() + ": cannot be written: " + problem,
                         "choose a path for " + entry.name + " in a folder that can be written");
  return {};
}

Status CommandFiles::checkPair(const Entry &output, const Entry &other) {
  const Identity identity = identify(output.path);
  if (output.use == FileUse::WorksIn && isWithin(other.path, identity))
    return Status::error("INGOT-E2163",
                         other.shown() + " lies in " + output.path.string() +
                             ", which the command works in and then removes",
                         "choose another path, or move the folder");
  if (identify(other.path) == identity)
    return Status::error("INGOT-E2163",
                         output.shown() + " is the same file as " + other.shown() + ", which " +
                             (other.isRead() ? "is read" : "is written too"),
                         "choose another path for " + output.name);
  return {};
}

Status CommandFiles::check() const {
  for (size_t i = 0; i < entries.size(); ++i)
    for (size_t j = 0; j < entries.size(); ++j) {
      const bool isPair = i != j && !entries[i].isRead() &&
                          (entries[j].isRead() || j < i || entries[i].use == FileUse::WorksIn);
      if (!isPair)
        continue;
      if (Status status = checkPair(entries[i], entries[j]); !status.ok())
        return status;
    }
  for (const Entry &entry : entries)
    if (Status status = checkUse(entry); !status.ok())
      return status;
  return {};
}

} // namespace ingot::runtime
