// SPDX-License-Identifier: Apache-2.0
// The few functions of NVRTC's C interface that are used, found by name.
#include "codegen/cuda/Nvrtc.h"

#include "codegen/FileStamp.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <dlfcn.h>

using namespace ingot::codegen;

namespace {

using Program = void *;
constexpr int kSuccess = 0;

/// Older ones know fewer architectures and write cubins of another form.
constexpr int kMajor = 13;

constexpr llvm::StringLiteral kAdvice =
    "install a CUDA 13 toolkit or the Python package nvidia-cuda-nvrtc "
    "(pip install nvidia-cuda-nvrtc), or name the library with --nvrtc PATH";

} // namespace

struct Nvrtc::Functions {
  int (*version)(int *major, int *minor);
  int (*createProgram)(Program *, const char *source, const char *name, int headers,
                       const char *const *texts, const char *const *names);
  int (*destroyProgram)(Program *);
  int (*compileProgram)(Program, int options, const char *const *texts);
  int (*cubinSize)(Program, size_t *);
  int (*cubin)(Program, char *);
  int (*ptxSize)(Program, size_t *);
  int (*ptx)(Program, char *);
  int (*logSize)(Program, size_t *);
  int (*log)(Program, char *);
};

/// Loads one file; nothing, with `error`, if it is no NVRTC.
static void *openLibrary(const std::string &file, std::string &error) {
  // NVRTC opens its built-in functions by bare name at the first compilation. Off the loader's
  // path, as in Python packages, that finds them only where they are loaded already.
  for (const std::string &builtins :
       nvrtcLibrariesIn(llvm::sys::path::parent_path(file), "libnvrtc-builtins.so."))
    (void)dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    error = dlerror();
  return library;
}

llvm::Expected<std::shared_ptr<const Nvrtc>> Nvrtc::load(llvm::StringRef path) {
  std::vector<std::string> candidates = nvrtcCandidates();
  if (!path.empty())
    candidates = llvm::sys::fs::is_directory(path) ? nvrtcLibrariesUnder(path)
                                                   : std::vector<std::string>{path.str()};
  std::string reason =
      path.empty() ? "no such library was found"
                   : "'" + path.str() +
                         "' holds no file libnvrtc.so.*, nor do lib64, lib or nvidia/cu*/lib in it";
  for (const std::string &file : candidates) {
    std::string error;
    void *library = openLibrary(file, error);
    if (!library) {
      if (!path.empty())
        reason = error;
      continue;
    }
    auto functions = std::make_shared<Functions>();
    bool complete = true;
    auto find = [&](auto &function, const char *name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      complete &= function != nullptr;
    };
    find(functions->version, "nvrtcVersion");
    find(functions->createProgram, "nvrtcCreateProgram");
    find(functions->destroyProgram, "nvrtcDestroyProgram");
    find(functions->compileProgram, "nvrtcCompileProgram");
    find(functions->cubinSize, "nvrtcGetCUBINSize");
    find(functions->cubin, "nvrtcGetCUBIN");
    find(functions->ptxSize, "nvrtcGetPTXSize");
    find(functions->ptx, "nvrtcGetPTX");
    find(functions->logSize, "nvrtcGetProgramLogSize");
    find(functions->log, "nvrtcGetProgramLog");
    std::shared_ptr<Nvrtc> nvrtc(new Nvrtc(functions));
    if (!complete || functions->version(&nvrtc->major, &nvrtc->minor) != kSuccess) {
      reason = "'" + file + "' lacks functions of NVRTC";
    } else if (nvrtc->major != kMajor) {
      reason = "'" + file + "' is version " + std::to_string(nvrtc->major) + "." +
               std::to_string(nvrtc->minor);
    } else {
      return nvrtc;
    }
    dlclose(library);
  }
  return llvm::createStringError("INGOT-E4300: CUDA targets need NVRTC 13: " + reason + "; " +
                                 kAdvice);
}

std::string Nvrtc::toolkit() const {
  return "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
}

/// A library of the same version may be of another build: the size and times of its file tell, also
/// in containers, which start with other inodes.
std::string Nvrtc::identity() const {
  Dl_info info;
  FileStamp stamp;
  if (dladdr(reinterpret_cast<void *>(functions->version), &info) && info.dli_fname)
    stamp = FileStamp::of(info.dli_fname).value_or(stamp);
  stamp.device = stamp.inode = 0;
  return toolkit() + ", " + stamp.text();
}

llvm::Expected<CompiledKernel> Nvrtc::compile(const KernelSource &source, bool ptxOnly) const {
  std::vector<const char *> texts, names, options;
  for (const auto &[name, text] : source.headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  std::vector<std::string> asked = source.options;
  for (std::string &option : asked) {
    // An architecture that is virtual ends at PTX.
    if (llvm::StringRef name = option; ptxOnly && name.consume_front("-arch=sm_"))
      option = "-arch=compute_" + name.str();
    options.push_back(option.c_str());
  }
  std::string entry = "-DINGOT_KERNEL=" + source.name;
  options.push_back(entry.c_str());
  Program program = nullptr;
  std::string file = source.name + ".cu";
  if (functions->createProgram(&program, source.program.c_str(), file.c_str(), int(texts.size()),
                               texts.data(), names.data()) != kSuccess)
    return llvm::createStringError("INGOT-E4301: NVRTC takes no more programs");
  auto destroy = llvm::scope_exit([&] { functions->destroyProgram(&program); });
  auto text = [&](int (*sizeOf)(Program, size_t *), int (*get)(Program, char *)) {
    size_t size = 0;
    std::string bytes;
    if (sizeOf(program, &size) == kSuccess) {
      bytes.resize(size);
      if (get(program, bytes.data()) != kSuccess)
        bytes.clear();
    }
    return bytes;
  };
  int outcome = functions->compileProgram(program, int(options.size()), options.data());
  if (outcome != kSuccess) {
    std::string log = text(functions->logSize, functions->log);
    return llvm::createStringError("INGOT-E4301: NVRTC does not compile it:\n" +
                                   llvm::StringRef(log.c_str()).trim());
  }
  CompiledKernel compiled = {"", text(functions->ptxSize, functions->ptx),
                             text(functions->logSize, functions->log)};
  if (!ptxOnly)
    compiled.cubin = text(functions->cubinSize, functions->cubin);
  for (std::string *ended : {&compiled.ptx, &compiled.log})
    while (!ended->empty() && ended->back() == '\0')
      ended->pop_back();
  if (compiled.ptx.empty() || (compiled.cubin.empty() && !ptxOnly))
    return llvm::createStringError("INGOT-E4301: NVRTC returned no code");
  return compiled;
}
