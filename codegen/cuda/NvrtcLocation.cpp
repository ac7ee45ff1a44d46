// SPDX-License-Identifier: Apache-2.0
// Where NVRTC may lie.
#include "codegen/cuda/Nvrtc.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// Entries of `folder` whose names start with `prefix`, in descending order of names.
static std::vector<std::string> entries(const llvm::Twine &folder, llvm::StringRef prefix) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (path::filename(it->path()).starts_with(prefix))
      found.push_back(it->path());
  llvm::sort(found, std::greater<>());
  return found;
}

static void append(std::vector<std::string> &list, std::vector<std::string> more) {
  llvm::append_range(list, more);
}

/// The libraries of a Python folder of packages: nvidia/cu13/lib, nvidia/cuda_nvrtc/lib.
static std::vector<std::string> librariesOfPackages(const llvm::Twine &packages) {
  std::vector<std::string> found;
  for (const std::string &package : entries(packages + "/nvidia", "cu"))
    append(found, ingot::codegen::nvrtcLibrariesIn(package + "/lib"));
  return found;
}

/// The same of every Python with packages under `libraries`: /usr/lib, or lib of an environment.
static std::vector<std::string> librariesOfPythons(const llvm::Twine &libraries) {
  std::vector<std::string> found;
  for (const std::string &python : entries(libraries, "python3"))
    for (const char *packages : {"/site-packages", "/dist-packages"})
      append(found, librariesOfPackages(python + packages));
  return found;
}

std::vector<std::string> ingot::codegen::nvrtcLibrariesIn(llvm::StringRef folder,
                                                          llvm::StringRef prefix) {
  std::vector<std::string> found;
  for (const std::string &file : entries(folder, prefix))
    if (!llvm::StringRef(file).contains(".alt."))
      found.push_back(file);
  return found;
}

std::vector<std::string> ingot::codegen::nvrtcLibrariesUnder(llvm::StringRef folder) {
  std::vector<std::string> found = nvrtcLibrariesIn(folder);
  for (const char *libraries : {"/lib64", "/lib"})
    append(found, nvrtcLibrariesIn((folder + libraries).str()));
  append(found, librariesOfPackages(folder));
  return found;
}

std::vector<std::string> ingot::codegen::nvrtcCandidates() {
  std::vector<std::string> found;
  // scripts/setup installs the package into build/nvrtc, beside build/release/bin/ingot.
  std::string program = fs::getMainExecutable(nullptr, nullptr);
  llvm::StringRef folder = path::parent_path(program);
  for (int up = 0; up < 4 && !folder.empty(); ++up, folder = path::parent_path(folder))
    append(found, librariesOfPackages(folder + "/nvrtc"));
  // A Python environment whose bin has this program may have the package.
  append(found, librariesOfPythons(path::parent_path(path::parent_path(program)) + "/lib"));
  std::vector<std::string> toolkits = entries("/usr/local", "cuda");
  toolkits.push_back("/opt/cuda");
  for (const std::string &toolkit : toolkits)
    for (const char *libraries : {"/lib64", "/lib", "/targets/x86_64-linux/lib"})
      append(found, nvrtcLibrariesIn(toolkit + libraries));
  llvm::SmallString<128> home;
  if (path::home_directory(home))
    append(found, librariesOfPythons(home + "/.local/lib"));
  for (const char *prefix : {"/usr/local/lib", "/usr/lib"})
    append(found, librariesOfPythons(prefix));
  found.push_back("libnvrtc.so.13");
  return found;
}
