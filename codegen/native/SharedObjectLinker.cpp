// SPDX-License-Identifier: Apache-2.0
// Runs lld on a private temporary directory, since it reads and writes files only.
#include "codegen/native/SharedObjectLinker.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace {

/// A directory that goes away with the object.
class TemporaryDirectory {
public:
  TemporaryDirectory() { code = sys::fs::createUniqueDirectory("ingot-link", path); }
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;
  ~TemporaryDirectory() {
    if (!code)
      sys::fs::remove_directories(path);
  }

  std::string file(const Twine &name) const {
    SmallString<128> result = path;
    sys::path::append(result, name);
    return result.str().str();
  }

  SmallString<128> path;
  std::error_code code;
};

} // namespace

static Error writeFile(StringRef path, StringRef bytes) {
  std::error_code code;
  raw_fd_ostream stream(path, code);
  if (!code) {
    stream << bytes;
    stream.close();
    code = stream.error();
    stream.clear_error();
  }
  if (code)
    return createStringError("cannot write " + path + ": " + code.message());
  return Error::success();
}

Expected<std::string> ingot::codegen::linkSharedObject(ArrayRef<std::string> objects) {
  // lld keeps its state in globals.
  static std::mutex linking;
  std::lock_guard<std::mutex> lock(linking);

  TemporaryDirectory directory;
  if (directory.code)
    return createStringError("cannot make a temporary directory: " + directory.code.message());
  std::string output = directory.file("kernels.so");
  std::vector<std::string> arguments = {"ld.lld",        "-shared",          "--no-undefined",
                                        "--gc-sections", "--strip-all",      "--build-id=none",
                                        "--threads=1",   "--hash-style=gnu", "-znow",
                                        "-zrelro",       "-znoexecstack",    "-o",
                                        output};
  for (auto [index, object] : enumerate(objects)) {
    std::string path = directory.file(Twine(index) + ".o");
    if (Error error = writeFile(path, object))
      return std::move(error);
    arguments.push_back(path);
  }
  std::vector<const char *> raw;
  for (const std::string &argument : arguments)
    raw.push_back(argument.c_str());

  std::string messages;
  raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(raw, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return createStringError(StringRef(messages).trim());
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(output, /*IsText=*/false);
  if (!buffer)
    return createStringError("cannot read the linked library: " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}
