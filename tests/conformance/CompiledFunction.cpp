// SPDX-License-Identifier: Apache-2.0
// Plays the parts of the passes (layouts, kernels, regions) and of the host device (launches).
#include "tests/conformance/CompiledFunction.h"

#include "dialects/engine/EngineOps.h"
#include "dialects/llm/LlmDialect.h"
#include "dialects/llm/LlmWeightOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "tests/conformance/StageSeconds.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include <barrier>
#include <deque>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <optional>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

namespace {

/// Threads of the tests' device.
constexpr int64_t kThreads = 2;
/// Multiprocessors of a simulated device, where a test does not say: few, so that loops run.
constexpr uint32_t kMultiprocessors = 5;

constexpr std::pair<llvm::StringLiteral, std::pair<int64_t, int64_t>> kDeclared[] = {
    {"T", {1, 4096}}, {"S", {1, 256}}, {"L", {1, 256}}, {"B", {1, 4096}}};

std::optional<int64_t> dimValue(llvm::StringRef name, Dims dims) {
  if (name == "T")
    return dims.T;
  if (name == "S")
    return dims.S;
  if (name == "L")
    return dims.L;
  if (name == engine::kMultiprocessors)
    return dims.sms;
  return name == "B" ? std::optional(dims.B) : std::nullopt;
}

int64_t evaluate(engine::ExprAttr expr, Dims dims) {
  auto parsed = engine::Expr::parse(expr.getText());
  return parsed->evaluate([&](llvm::StringRef name) { return dimValue(name, dims); }).value();
}

bool holds(llvm::ArrayRef<engine::RangeAttr> ranges, Dims dims) {
  return llvm::all_of(ranges, [&](engine::RangeAttr range) {
    int64_t value = dimValue(range.getDim(), dims).value();
    return range.getMin() <= value && value <= range.getMax();
  });
}

/// The operands of `op` that the file stores as weights: tensors of static shape.
llvm::SmallVector<unsigned> weightOperands(Operation *op) {
  llvm::SmallVector<unsigned> result;
  for (OpOperand &operand : op->getOpOperands())
    if (auto type = dyn_cast<RankedTensorType>(operand.get().getType());
        type && type.hasStaticShape())
      result.push_back(operand.getOperandNumber());
  return result;
}

bool isWeightOperation(Operation &op) {
  return isa<llm::ConcatRowsOp, llm::InterleaveRowsOp, llm::PermuteRowsOp>(op);
}

/// Evaluates a weight operation on whole tensors.
HostTensor evaluateWeight(Operation &op, llvm::ArrayRef<const HostTensor *> inputs) {
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  HostTensor result(type.getElementType(), type.getShape()[0], type.getShape()[1]);
  int64_t row = 0;
  auto copyRow = [&](const HostTensor &from, int64_t fromRow) {
    for (int64_t column = 0; column < result.columns && fromRow < from.rows; ++column)
      result.codes[row * result.columns + column] = from.codes[fromRow * from.columns + column];
    ++row;
  };
  if (auto interleave = dyn_cast<llm::InterleaveRowsOp>(op)) {
    int64_t block = interleave.getBlock();
    for (int64_t first = 0; row < result.rows; first += block)
      for (const HostTensor *input : inputs)
        for (int64_t i = 0; i < block; ++i)
          copyRow(*input, first + i);
    return result;
  }
  if (auto permute = dyn_cast<llm::PermuteRowsOp>(op)) {
    // Row by row of the result: the digits of its index are those of the input's in another order.
    llvm::ArrayRef<int64_t> digits = permute.getDigits(), order = permute.getOrder();
    while (row < result.rows) {
      int64_t left = row, from = 0;
      std::vector<int64_t> values(digits.size());
      for (size_t place = digits.size(); place-- > 0; left /= digits[order[place]])
        values[order[place]] = left % digits[order[place]];
      for (size_t digit = 0; digit < digits.size(); ++digit)
        from = from * digits[digit] + values[digit];
      copyRow(*inputs[0], from);
    }
    return result;
  }
  for (const HostTensor *input : inputs)
    for (int64_t i = 0; i < input->rows; ++i)
      copyRow(*input, i);
  return result;
}

} // namespace

MLIRContext &conformance::sharedContext() {
  static auto *context = [] {
    auto *created = new MLIRContext(MLIRContext::Threading::DISABLED);
    created->loadDialect<llm::LlmDialect, engine::EngineDialect, func::FuncDialect,
                         arith::ArithDialect, math::MathDialect>();
    return created;
  }();
  return *context;
}

int64_t conformance::rowsOf(RankedTensorType type, Dims dims) {
  if (!isa_and_nonnull<StringAttr>(type.getEncoding()))
    return type.getShape().front();
  return evaluate(llm::rowsOf(type), dims);
}

func::FuncOp CompiledFunction::function() { return *module->getOps<func::FuncOp>().begin(); }

std::unique_ptr<CompiledFunction> CompiledFunction::compile(MLIRContext &context,
                                                            const std::string &name,
                                                            const std::string &text,
                                                            llvm::ArrayRef<Dims> runs) {
  auto compiled = std::make_unique<CompiledFunction>();
  compiled->module = parseSourceString<ModuleOp>(text, &context);
  std::string error;
  auto target = codegen::findTarget(&context, name, error);
  if (!compiled->module || failed(target)) {
    ADD_FAILURE() << name << ": " << error << "\n" << text;
    return nullptr;
  }
  OpBuilder builder = OpBuilder::atBlockEnd(compiled->module->getBody());
  compiled->unit =
      engine::UnitOp::create(builder, builder.getUnknownLoc(), "unit", target->second, /*rank=*/0,
                             /*ranks=*/1, /*toolkit=*/{}, /*minimum_driver=*/{});
  compiled->unit.getBody().emplaceBlock();
  auto provider = target->first->createProvider(target->second);
  if (!compiled->chooseKernels(*provider, target->second, runs)) {
    ADD_FAILURE() << name << " has no kernel for\n" << text;
    return nullptr;
  }
  if (target->first->backend() == "cuda")
    compiled->architecture = target->second.getArch().str();
  auto libraries = [&] {
    StageTimer timer("compile " + name);
    return target->first->compile(compiled->unit, codegen::CompileOptions{int(kThreads), "", ""});
  }();
  if (failed(libraries) || failed(verify(compiled->unit)) || !compiled->load(*libraries)) {
    ADD_FAILURE() << name << " does not compile\n" << text;
    return nullptr;
  }
  if (emulating() && compiled->library && target->first->backend() != "reference" &&
      !(compiled->emulated = EmulatedCpu::open(compiled->file)))
    return nullptr;
  return compiled;
}

CompiledFunction::~CompiledFunction() {
  if (library)
    dlclose(library);
  if (file >= 0)
    close(file);
}

bool CompiledFunction::chooseKernels(const engine::KernelProvider &provider,
                                     engine::TargetAttr target, llvm::ArrayRef<Dims> runs) {
  llvm::SmallVector<engine::RangeAttr> declared;
  for (const auto &[name, range] : kDeclared)
    declared.push_back(
        engine::RangeAttr::get(target.getContext(), name, range.first, range.second));
  for (Operation &op : function().getBody().front().without_terminator()) {
    if (isWeightOperation(op))
      continue;
    for (unsigned operand : weightOperands(&op)) {
      auto type = cast<RankedTensorType>(op.getOperand(operand).getType());
      FailureOr<engine::LayoutAttr> layout = provider.weightLayout(&op, operand);
      if (failed(layout))
        return false;
      op.getOperand(operand).setType(
          RankedTensorType::get(type.getShape(), type.getElementType(), *layout));
    }
    Launch &launch = launches.emplace_back(Launch{&op, {}, {}});
    llvm::SmallVector<engine::KernelVariant> variants;
    if (failed(provider.kernelsFor(&op, declared, variants)))
      return false;
    launch.variants.assign(variants.begin(), variants.end());
    auto builder = OpBuilder::atBlockEnd(&unit.getBody().front());
    auto extents = [&](llvm::ArrayRef<int64_t> values) {
      return values.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(values);
    };
    for (auto [index, variant] : llvm::enumerate(launch.variants)) {
      bool runsNever = !runs.empty() && llvm::none_of(runs, [&](Dims dims) {
        return kernelAt(launch, dims) == index;
      });
      std::string name = "k" + std::to_string(launches.size()) + "_" + std::to_string(index);
      launch.symbols.push_back(runsNever ? "" : name);
      if (runsNever)
        continue;
      llvm::SmallVector<Attribute> guards(variant.guards.begin(), variant.guards.end());
      llvm::SmallVector<Attribute> maps(variant.tensorMaps.begin(), variant.tensorMaps.end());
      auto kernel = engine::KernelOp::create(builder, op.getLoc(), name, variant.source,
                                             variant.constants, builder.getArrayAttr(guards),
                                             variant.scratchBytes, variant.sharedBytes,
                                             extents(variant.block), extents(variant.cluster),
                                             builder.getArrayAttr(maps), variant.spmd,
                                             /*library=*/{}, /*facts=*/{});
      if (op.getNumRegions() != 1 || op.getRegion(0).empty())
        continue;
      IRMapping mapping;
      op.getRegion(0).cloneInto(&kernel.getEpilogue(), mapping);
      Operation *yield = kernel.getEpilogue().front().getTerminator();
      auto atEnd = OpBuilder::atBlockEnd(&kernel.getEpilogue().front());
      engine::YieldOp::create(atEnd, yield->getLoc(), yield->getOperand(0));
      yield->erase();
    }
  }
  return true;
}

bool CompiledFunction::load(llvm::ArrayRef<codegen::CompiledLibrary> libraries) {
  if (architecture.empty())
    return loadHost(libraries.front().bytes);
  for (const codegen::CompiledLibrary &compiled : libraries) {
    auto [kernel, kind] = llvm::StringRef(compiled.name).rsplit('.');
    (kind == "ptx" ? ptx : cubins)[kernel.str()] = compiled.bytes;
  }
  // Kernels of equal sources share a library, whose entry has its name.
  for (Launch &launch : launches)
    for (std::string &symbol : launch.symbols) {
      if (symbol.empty())
        continue;
      auto kernel = cast<engine::KernelOp>(SymbolTable::lookupSymbolIn(unit, symbol));
      symbol = kernel.getLibrary()->drop_back(strlen(".cubin")).str();
    }
  return true;
}

std::string CompiledFunction::portablePtx() const {
  std::string text;
  for (const auto &[name, source] : ptx)
    for (llvm::StringRef line : llvm::split(source, '\n'))
      if (!line.starts_with(".target") && !line.starts_with("//"))
        text += (line + "\n").str();
  return text;
}

bool CompiledFunction::loadHost(const std::string &bytes) {
  // The file stays open as long as the library: the loader knows libraries by their path.
  file = memfd_create("kernels", 0);
  bool written = file >= 0 && write(file, bytes.data(), bytes.size()) == ssize_t(bytes.size());
  library = written ? dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW) : nullptr;
  if (!library) {
    ADD_FAILURE() << "cannot load the library: " << dlerror();
    return false;
  }
  for (Launch &launch : launches)
    for (const std::string &symbol : launch.symbols) {
      void *kernel = symbol.empty() ? nullptr : dlsym(library, symbol.c_str());
      if (!symbol.empty() && !kernel) {
        ADD_FAILURE() << "the library has no kernel: " << dlerror();
        return false;
      }
      launch.kernels.push_back(reinterpret_cast<IngotKernel>(kernel));
    }
  return true;
}

/// The calls of one thread: all of its tiles, or one of an SPMD kernel.
static std::vector<IngotLaunch> callsOf(int64_t thread, bool spmd, IngotLaunch launch) {
  launch.thread = thread;
  launch.isFirst = 1;
  std::vector<IngotLaunch> calls;
  int64_t x = spmd ? kThreads : launch.grid[0], y = spmd ? 1 : launch.grid[1],
          z = spmd ? 1 : launch.grid[2];
  for (int64_t tile = thread; tile < x * y * z; tile += kThreads) {
    launch.tile[0] = tile % x;
    launch.tile[1] = tile / x % y;
    launch.tile[2] = tile / x / y;
    calls.push_back(launch);
    launch.isFirst = 0;
  }
  return calls;
}

/// Runs all tiles; an SPMD kernel once on each of the device's threads.
bool CompiledFunction::runTiles(const Launch &launch, size_t variant, Dims dims,
                                std::vector<KernelBuffer> &buffers) {
  const engine::KernelVariant &chosen = launch.variants[variant];
  EmulatedCpu::Launch call;
  call.symbol = launch.symbols[variant];
  call.scalars = {dims.T, dims.S, dims.L, dims.B};
  std::vector<KernelBuffer *> memory;
  for (KernelBuffer &buffer : buffers) {
    call.buffers.push_back(buffer.data());
    memory.push_back(&buffer);
  }
  IngotLaunch base = {};
  base.buffers = call.buffers.data();
  base.scalars = call.scalars.data();
  base.threads = kThreads;
  for (int axis = 0; axis < 3; ++axis)
    base.grid[axis] =
        axis < int(chosen.grid.size()) ? evaluate(chosen.grid[axis], dims) : int64_t(1);
  std::barrier<> meeting(kThreads);
  base.barrierState = &meeting;
  base.barrier = [](void *state) { static_cast<std::barrier<> *>(state)->arrive_and_wait(); };
  std::deque<KernelBuffer> scratch;
  for (int64_t thread = 0; thread < kThreads; ++thread) {
    memory.push_back(&scratch.emplace_back(chosen.scratchBytes));
    base.scratch = scratch.back().data();
    call.threads.push_back(callsOf(thread, chosen.spmd, base));
  }
  if (emulated) {
    if (!emulated->run(call, memory))
      return false;
  } else {
    std::vector<std::thread> threads;
    for (const std::vector<IngotLaunch> &calls : call.threads)
      threads.emplace_back([&calls, kernel = launch.kernels[variant]] {
        for (const IngotLaunch &tile : calls)
          kernel(&tile);
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  for (const KernelBuffer &own : scratch)
    EXPECT_TRUE(own.intact()) << "writes beyond its scratch";
  return true;
}

/// -1: no kernel of the launch takes a workspace.
int64_t CompiledFunction::workspaceBytes(const Launch &launch, Dims dims) const {
  int64_t bytes = -1;
  for (const engine::KernelVariant &variant : launch.variants)
    if (variant.workspace)
      bytes = std::max({bytes, engine::kCounterBytes, evaluate(variant.workspace, dims)});
  return bytes;
}

bool CompiledFunction::simulate(const Launch &launch, size_t variant, Dims dims,
                                std::vector<KernelBuffer> &buffers) {
  const engine::KernelVariant &chosen = launch.variants[variant];
  SimulatedLaunch call;
  call.symbol = launch.symbols[variant];
  call.source = chosen.source;
  for (auto [axis, extent] : llvm::enumerate(chosen.block))
    call.shape.block[axis] = uint32_t(extent);
  for (auto [axis, extent] : llvm::enumerate(chosen.cluster))
    call.shape.cluster[axis] = uint32_t(extent);
  call.shape.sharedBytes = uint64_t(chosen.sharedBytes);
  for (engine::TensorMapAttr map : chosen.tensorMaps)
    call.shape.tensorMaps.push_back({uint32_t(map.getBuffer()), uint64_t(map.getRows()),
                                     uint64_t(map.getRowBytes()), uint32_t(map.getBoxRows()),
                                     uint32_t(map.getBoxBytes())});
  for (auto [axis, extent] : llvm::enumerate(chosen.grid))
    call.grid[axis] = evaluate(extent, dims);
  call.scalars = {dims.T, dims.S, dims.L, dims.B};
  call.workspaceBytes = workspaceBytes(launch, dims);
  for (unsigned operand : weightOperands(launch.op))
    call.weights.insert(operand);
  if (!observer)
    return gpu->run(call, buffers);
  auto content = [&](size_t count) {
    std::vector<std::vector<uint8_t>> bytes(buffers.size());
    for (size_t i = 0; i < count; ++i)
      bytes[i].assign(buffers[i].data(), buffers[i].data() + buffers[i].size());
    return bytes;
  };
  auto before = content(launch.op->getNumOperands());
  if (!gpu->run(call, buffers))
    return false;
  observer({launch.op, call, std::move(before), content(buffers.size()), cubins.at(call.symbol),
            ptx.at(call.symbol)});
  return true;
}

size_t CompiledFunction::kernelAt(const Launch &launch, Dims dims) {
  size_t chosen = 0;
  while (chosen < launch.variants.size() && !(holds(launch.variants[chosen].ranges, dims) &&
                                              holds(launch.variants[chosen].guards, dims)))
    ++chosen;
  return chosen;
}

std::vector<size_t> CompiledFunction::kernelsAt(Dims dims) const {
  std::vector<size_t> chosen;
  for (const Launch &launch : launches)
    chosen.push_back(kernelAt(launch, dims));
  return chosen;
}

bool CompiledFunction::execute(const Launch &launch, std::map<void *, HostValue> &values,
                               Dims dims) {
  size_t chosen = kernelAt(launch, dims);
  if (chosen == launch.variants.size() || launch.symbols[chosen].empty()) {
    ADD_FAILURE() << "no kernel fits T = " << dims.T;
    return false;
  }
  std::vector<KernelBuffer> buffers;
  llvm::SmallVector<Value> slots(launch.op->getOperands());
  llvm::append_range(slots, launch.op->getResults());
  for (Value slot : slots) {
    HostValue &value = values[slot.getAsOpaquePointer()];
    auto type = dyn_cast<RankedTensorType>(slot.getType());
    std::vector<uint8_t> bytes = value.memory;
    bool isResult = slot.getDefiningOp() == launch.op;
    if (type) {
      if (isResult)
        value.tensor = HostTensor(type.getElementType(), rowsOf(type, dims),
                                  type.getRank() < 2 ? 1 : type.getShape().back());
      bytes = value.tensor.pack(dyn_cast_or_null<engine::LayoutAttr>(type.getEncoding()));
    }
    KernelBuffer &buffer = buffers.emplace_back(bytes.size());
    if (!isResult)
      std::copy(bytes.begin(), bytes.end(), buffer.data());
  }
  if (!(gpu ? simulate(launch, chosen, dims, buffers) : runTiles(launch, chosen, dims, buffers)))
    return false;
  for (auto [slot, buffer] : llvm::zip_equal(slots, buffers)) {
    EXPECT_TRUE(buffer.intact()) << "writes beyond a buffer of type " << [&] {
      std::string text;
      llvm::raw_string_ostream(text) << slot.getType();
      return text;
    }();
    HostValue &value = values[slot.getAsOpaquePointer()];
    if (slot.getDefiningOp() == launch.op)
      value.tensor.unpack(buffer.data());
    else if (!value.memory.empty())
      value.memory.assign(buffer.data(), buffer.data() + buffer.size());
  }
  return true;
}

std::vector<HostValue> CompiledFunction::run(std::vector<HostValue> &arguments, Dims dims) {
  std::optional<StageTimer> timer;
  if (!architecture.empty()) {
    timer.emplace("simulate " + architecture);
    if (mode.multiprocessors == 0)
      mode.multiprocessors = kMultiprocessors;
    dims.sms = mode.multiprocessors;
    gpu = SimulatedGpu::open(architecture, mode);
    for (const auto &[symbol, source] : ptx)
      if (!gpu || !gpu->load(symbol, source))
        return {};
  }
  auto close = llvm::make_scope_exit([&] { gpu.reset(); });
  std::map<void *, HostValue> values;
  Block &body = function().getBody().front();
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), arguments))
    values[argument.getAsOpaquePointer()] = value;
  auto launch = launches.begin();
  for (Operation &op : body.without_terminator()) {
    if (isWeightOperation(op)) {
      llvm::SmallVector<const HostTensor *> inputs;
      for (Value operand : op.getOperands())
        inputs.push_back(&values[operand.getAsOpaquePointer()].tensor);
      values[op.getResult(0).getAsOpaquePointer()].tensor = evaluateWeight(op, inputs);
    } else if (!execute(*launch++, values, dims)) {
      return {};
    }
  }
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), arguments))
    value.memory = values[argument.getAsOpaquePointer()].memory;
  std::vector<HostValue> results;
  for (Value result : body.getTerminator()->getOperands())
    results.push_back(values[result.getAsOpaquePointer()]);
  return results;
}
