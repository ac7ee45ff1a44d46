// SPDX-License-Identifier: Apache-2.0
// verify: proves from the file alone that an engine is whole, and says what was proved.
#include "runtime/tools/Commands.h"
#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/Table.h"

#include "runtime/devices/cuda/Cubin.h"
#include "runtime/devices/host/SharedObject.h"
#include "runtime/engine/Verify.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

/// Things that were checked, counted over all targets.
struct Checked {
  uint64_t instructions = 0, launches = 0, buffers = 0, kernels = 0, libraries = 0;
  uint64_t sections = 0, sectionBytes = 0, weights = 0, weightBytes = 0, made = 0;
};

Checked countAll(const schema::Engine &engine) {
  Checked checked;
  for (uint32_t i = 0; i < count(engine.targets()); ++i) {
    const schema::Target &target = *engine.targets()->Get(i);
    checked.buffers += count(target.buffers());
    checked.kernels += count(target.kernels());
    for (uint32_t j = 0; j < count(target.programs()); ++j) {
      const auto *instructions = target.programs()->Get(j)->instructions();
      checked.instructions += count(instructions);
      for (uint32_t k = 0; k < count(instructions); ++k)
        checked.launches +=
            instructions->Get(k)->operation_type() == schema::Operation::Launch ? 1 : 0;
    }
  }
  for (uint32_t i = 0; i < count(engine.sections()); ++i)
    if (engine.sections()->Get(i)->kind() != schema::SectionKind::Weights) {
      ++checked.sections;
      checked.sectionBytes += engine.sections()->Get(i)->bytes();
    }
  for (uint32_t i = 0; i < count(engine.weights()); ++i) {
    if (engine.weights()->Get(i)->fill()) {
      ++checked.made;
      continue;
    }
    ++checked.weights;
    checked.weightBytes += engine.weights()->Get(i)->bytes();
  }
  return checked;
}

/// What loading would check of the code: shared objects without imports, cubins of the target's
/// architecture.
Status verifyLibraries(const EngineFile &file, Checked &checked) {
  const schema::Engine &engine = file.metadata();
  for (uint32_t i = 0; i < count(engine.targets()); ++i) {
    const auto *libraries = engine.targets()->Get(i)->libraries();
    for (uint32_t j = 0; j < count(libraries); ++j) {
      const schema::Library &library = *libraries->Get(j);
      std::span<const uint8_t> code = file.section(library.section());
      Status status;
      if (library.kind() == schema::LibraryKind::HostSharedObject)
        status = verifySharedObject(code, library.name()->str());
      else if (library.kind() == schema::LibraryKind::Cubin)
        status = verifyCubin(code, engine.targets()->Get(i)->arch()->string_view(),
                             library.name()->str());
      if (!status.ok())
        return status;
      ++checked.libraries;
    }
  }
  return {};
}

void printCheck(FILE *stream, const char *what, const std::string &result) {
  std::fprintf(stream, "  %-16s %s\n", what, result.c_str());
}

void printChecks(FILE *stream, const EngineFile &file, const Checked &checked, bool skipsWeights) {
  printCheck(stream, "metadata", "digest " + toHex(file.digest()));
  printCheck(stream, "structure",
             counted(count(file.metadata().targets()), "target") + ", " +
                 counted(checked.instructions, "instruction") + ", " +
                 counted(checked.buffers, "buffer") + ": every index, range, size and formula");
  printCheck(stream, "sections",
             counted(checked.sections, "digest") + " over " + inBytes(checked.sectionBytes));
  printCheck(stream, "code",
             counted(checked.libraries, "library") + " checked, " +
                 counted(checked.kernels, "kernel"));
  printCheck(stream, "coverage",
             "each of " + grouped(checked.launches) +
                 " launches has a kernel for every declared shape");
  std::string digests =
      counted(checked.weights, "digest") + " over " + inBytes(checked.weightBytes);
  printCheck(stream, "weights", skipsWeights ? "not read: " + digests : digests);
  if (checked.made)
    printCheck(stream, "random weights",
               counted(checked.made, "weight") + " made at load: follow from the metadata");
}

bool isDigest(const std::string &text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
}

} // namespace

void addVerifyOptions(CommandLine &app, VerifyArguments &arguments) {
  app.addFlag("--skip-weights", arguments.skipsWeights,
              "do not read the weights: of a large engine that takes seconds to minutes");
  app.addOption("--require-digest", arguments.requireDigest,
                "refuse every engine but the one of this digest (64 hexadecimal digits)")
      .check([](const std::string &text) {
        return isDigest(text) ? std::string() : "a digest has 64 hexadecimal digits";
      });
}

Status verifyEngine(const std::string &path, const VerifyArguments &arguments, FILE *stream) {
  Result<std::shared_ptr<const EngineFile>> file =
      EngineFile::open(path, VerifyOptions{!arguments.skipsWeights});
  if (!file.ok())
    return std::move(file).status();
  Checked checked = countAll((*file)->metadata());
  if (Status status = verifyLibraries(**file, checked); !status.ok())
    return std::move(status).in(path);
  std::string required = arguments.requireDigest;
  std::transform(required.begin(), required.end(), required.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  std::string digest = toHex((*file)->digest());
  if (!required.empty() && required != digest)
    return Status::error("INGOT-E5020",
                         path + ": has digest " + digest + ", required is " + required,
                         "use the engine of that digest, or correct --require-digest");
  std::fprintf(stream, "%s: verified%s\n", printable(path).c_str(),
               arguments.skipsWeights ? ", but for the weights" : "");
  printChecks(stream, **file, checked, arguments.skipsWeights);
  if (!required.empty())
    printCheck(stream, "required digest", "this one");
  return {};
}

int runVerify(int argc, char **argv) {
  CommandLine app(
      "Verifies an engine from the file alone: structure, digests of everything, code, coverage "
      "proof.",
      argv[0],
      "examples:\n"
      "  {} model.ingot\n"
      "  {} model.ingot --skip-weights\n"
      "  {} model.ingot --require-digest \\\n"
      "      $(ingot-run inspect model.ingot --json | jq -r .digest)");
  std::string path;
  VerifyArguments arguments;
  app.addOption("engine", path, "engine file").required();
  addVerifyOptions(app, arguments);
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  Status status = verifyEngine(path, arguments, stdout);
  if (status.ok())
    status = flushOutput();
  return status.ok() ? 0 : reportError(status);
}

} // namespace ingot::runtime
