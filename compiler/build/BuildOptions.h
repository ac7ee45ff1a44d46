// SPDX-License-Identifier: Apache-2.0
// The options of a build, and the table that says all else of each: its flag, what help tells, what
// depends on it. Command lines, the records in engines, rebuilding and keys are derived from it.
#pragma once

#include "codegen/BuildCache.h"
#include "compiler/build/Pipeline.h"
#include "compiler/engine_file/EngineDescription.h"

#include <filesystem>
#include <functional>
#include <variant>

namespace ingot::compiler {

class FileDigests;

/// What was found of an engine before it got its name.
struct Examination {
  std::vector<OptionRecord> records; ///< to keep in it
  /// Why it does not get that name, but the one of BuildOptions::refused(); none: it does.
  std::optional<checkpoint::Error> refusal{};
};

/// Each field that has a row in buildOptions() is explained there.
struct BuildOptions {
  std::filesystem::path model, output;
  std::vector<std::string> targets;         ///< as asked; empty: the best one for this machine
  std::filesystem::path recipe;             ///< a file or a preset's name; empty: defaultRecipe()
  std::vector<std::string> calibrationText; ///< files, for recipes whose method reads text
  uint64_t targetSize = 0;
  double maxDivergence = 0, meanBits = 0;
  std::filesystem::path lockfile;
  std::string gate;
  std::filesystem::path gateText, gateModel;
  std::vector<std::string> gateReports; ///< files
  std::filesystem::path tuning;
  bool tuningCandidates = false;
  std::string determinism = "strict";
  EngineLimits limits;
  uint64_t maxBuildMemory = uint64_t{2} << 30;
  unsigned threads = 0;
  std::string nvrtc;
  std::filesystem::path lora;
  double loraScale = 1;
  std::optional<uint64_t> randomWeights;
  bool noPtx = false, noGoldenTokens = false, noVision = false;
  std::filesystem::path report;
  std::string dumpStage;
  bool jsonEvents = false;
  codegen::BuildCache::Choice cacheChoice;

  codegen::BuildCache *cache = nullptr; ///< what is chosen, opened; null: none
  FileDigests *digests = nullptr;       ///< of inputs that are known; null: all are read
  std::string whyNoCache;               ///< for the report
  /// Looks at the whole engine, as a file and as a module, before it gets its name, and may refuse
  /// it. May be empty.
  std::function<checkpoint::Expected<Examination>(const std::filesystem::path &, mlir::ModuleOp)>
      examine;
  /// To make an engine again: what it states of itself. Its name, recipe, option records and golden
  /// tokens are taken from here; everything else is made anew.
  std::optional<EngineDescription> replay;

  /// What of the model is read.
  checkpoint::ModelParts parts() const;

  /// Where an engine is that `examine` refused, so that it can be looked at.
  std::filesystem::path refused() const { return output.string() + ".refused"; }
};

/// Where an option's value is.
using OptionField =
    std::variant<bool *, unsigned *, int64_t *, uint64_t *, double *, std::string *,
                 std::filesystem::path *, std::vector<std::string> *, std::optional<uint64_t> *>;

/// What an option decides.
enum class Decides : uint8_t {
  Nothing, ///< of the engine: it has the same bytes with every value
  Input,   ///< which files are read; engines hold them or their digests, not their paths
  Library, ///< likewise which library compiles, or the folder where it is
  Engine,  ///< its bytes: the value is recorded in it
};

/// What values there are, beyond those of the field's type.
enum class OptionForm : uint8_t {
  Any,
  Required,
  Positive,
  Limit,       ///< positive; 0 where it is not given: the model's own
  VisionLimit, ///< likewise, of models that see
  Bytes,       ///< with units, as in 16GiB
};

/// What the value is to the command, where it names a file or folder.
enum class OptionFile : uint8_t {
  None,
  Read,       ///< must be there
  ReadByName, ///< is found by its reader, who has words of its own where it is not there
  Written,
};

/// The commands that take an option; bits.
enum OptionCommand : uint8_t {
  kBuild = 1,
  kPlan = 2,
  kRun = 4,
  kServe = 8,
  kVerify = 16,
  kQuantize = 32
};

struct BuildOption {
  const char *flag;
  OptionField (*field)(BuildOptions &);
  const char *help;
  const char *group = ""; ///< where help lists it; empty: with those that are used most
  Decides decides = Decides::Nothing;
  OptionForm form = OptionForm::Any;
  OptionFile file = OptionFile::None;
  unsigned commands = kBuild | kPlan;
  /// Decides::Engine: why the engine has the value that was given. Null: readRequest() settles
  /// what the engine has, and records it.
  const char *recorded = nullptr;
  const char *needs = nullptr, *excludes = nullptr; ///< another option's flag
  const char *formerly = nullptr;                   ///< its name in older engines
  std::vector<std::string> (*words)() = nullptr;    ///< the only values, where they have names

  /// The value as text that readText() reads; "" where there is none. Limits are texts of numbers.
  std::string text(const BuildOptions &options) const;
  void readText(BuildOptions &options, const std::string &text) const;
  bool isDefault(const BuildOptions &options) const;
  bool takesValue() const;
};

/// All of them, in the order of help.
llvm::ArrayRef<BuildOption> buildOptions();

/// The records of the options that are used as they are given.
std::vector<OptionRecord> recordsAsGiven(const BuildOptions &options);

/// The options that `records` are of, but for inputs.
BuildOptions optionsOf(llvm::ArrayRef<OptionRecord> records);

/// The shortest text that is read as this number again.
std::string exactly(double number);

} // namespace ingot::compiler
