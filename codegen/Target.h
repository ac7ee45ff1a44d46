// SPDX-License-Identifier: Apache-2.0
// The interface of a target: a folder under codegen that makes kernels for one kind of hardware.
#pragma once

#include "dialects/engine/KernelProvider.h"
#include <functional>
#include <memory>

namespace ingot::engine {
class UnitOp;
} // namespace ingot::engine

namespace ingot::codegen {

class BuildCache;

/// A compiled library of kernels, before it becomes a section of the engine file.
struct CompiledLibrary {
  std::string name;
  std::string kind; ///< as of engine.library
  std::string bytes;
};

/// How kernels are compiled; what it says changes no kernel.
struct CompileOptions {
  int threads = 1;
  std::string nvrtc;           ///< NVRTC's library or folder, for CUDA targets; empty: look
  BuildCache *cache = nullptr; ///< where compiled kernels are looked for and kept; null: nowhere
  bool keepPtx = true;         ///< CUDA: PTX beside the binaries, for the simulator
  /// CUDA: only what a simulator runs. Libraries are named "K.ptx", and no kernel has the evidence
  /// that its binary gives.
  bool ptxOnly = false;
  bool takeFallbacks = false; ///< for tests: in place of all kernels that have some
  /// Told how many kernels of how many are there, by the threads that make them; may be empty.
  std::function<void(size_t done, size_t all)> progress;
};

/// What products of weights that are stored in few bits are fast in.
enum class FastProducts : uint8_t {
  Any,       ///< it is never fast
  Int8,      ///< integers, with scales for groups of the input
  SixteenBit ///< floats of 16 bits
};

/// One backend. Stateless; instances live in Targets.cpp for the whole process.
class Target {
public:
  virtual ~Target() = default;

  /// The folder's name: "reference", "x86".
  virtual llvm::StringRef backend() const = 0;

  /// Names it accepts, for messages: "x86-64-v3[+avxvnni], ...".
  virtual std::string namesAccepted() const = 0;

  /// Whether `name` is of this backend's family ("x86-64...", "znver5"), even if misspelt further
  /// on.
  virtual bool claims(llvm::StringRef name) const = 0;

  /// The target that `name` asks for; on failure `error` says what is wrong with the name.
  virtual mlir::FailureOr<engine::TargetAttr>
  parse(mlir::MLIRContext *context, llvm::StringRef name, std::string &error) const = 0;

  /// The best target of this backend that the build machine itself can run; nothing if none.
  virtual std::optional<std::string> hostTarget() const = 0;

  /// What builds without a recipe go by.
  virtual FastProducts fastProducts() const = 0;

  /// The kernel provider that passes ask.
  virtual std::unique_ptr<engine::KernelProvider>
  createProvider(engine::TargetAttr target) const = 0;

  /// What compiling adds to the process's memory at most (x86: 40 to 70 MiB were measured).
  virtual uint64_t compileMemory() const { return uint64_t{96} << 20; }

  /// Compiles every engine.kernel of `unit`; sets each kernel's library and facts and the unit's
  /// toolkit, and creates the engine.library operations. The same input gives the same bytes, with
  /// any thread count. Failure comes with a located diagnostic that names the kernel.
  virtual mlir::FailureOr<llvm::SmallVector<CompiledLibrary>>
  compile(engine::UnitOp unit, const CompileOptions &options) const = 0;
};

/// The only list of targets, in order of preference for names that several could claim.
llvm::ArrayRef<const Target *> targets();

/// The name that stands for the best target of the build machine, as for compilers' -march.
inline constexpr llvm::StringLiteral kNativeTarget = "native";

/// The target that claims `name`, parsed; on failure `error` lists what is known.
mlir::FailureOr<std::pair<const Target *, engine::TargetAttr>>
findTarget(mlir::MLIRContext *context, llvm::StringRef name, std::string &error);

} // namespace ingot::codegen
