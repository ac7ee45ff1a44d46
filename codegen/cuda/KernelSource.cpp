// SPDX-License-Identifier: Apache-2.0
// Generates Constants.cuh, Region.cuh and the entry; the rest is the embedded templates.
#include "codegen/cuda/KernelSource.h"

#include "codegen/cuda/CudaTemplates.h"
#include "codegen/cuda/RegionText.h"
#include "dialects/engine/EngineOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

/// `namespace constants`: integers as enumerators, of which no binary keeps a trace. Texts are for
/// the provider alone.
static llvm::Expected<std::string> constantsText(engine::KernelOp kernel) {
  std::string integers, reals;
  for (NamedAttribute constant : kernel.getConstants()) {
    std::string name = constant.getName().str();
    if (auto integer = dyn_cast<IntegerAttr>(constant.getValue())) {
      bool boolean = integer.getType().isInteger(1);
      int64_t value = boolean ? integer.getValue().getBoolValue() : integer.getInt();
      integers += "  " + name + " = " + std::to_string(value) + ",\n";
    } else if (auto real = dyn_cast<FloatAttr>(constant.getValue())) {
      llvm::SmallString<32> digits;
      llvm::APFloat(real.getValueAsDouble()).toString(digits, /*FormatPrecision=*/17);
      reals += "constexpr double " + name + " = double(" + std::string(digits) + ");\n";
    } else if (!isa<StringAttr>(constant.getValue())) {
      return llvm::createStringError("INGOT-E4002: constant '" + name + "' is no number");
    }
  }
  return "#pragma once\nnamespace constants {\nenum : i64 {\n" + integers + "};\n" + reals +
         "} // namespace constants\n";
}

/// Region arguments go to parameters in order; single sums skip the second one.
static llvm::SmallVector<unsigned> regionParameters(engine::KernelOp kernel) {
  auto pair = kernel.getConstants().getAs<IntegerAttr>("pair_offset");
  bool single = pair && pair.getInt() == 0;
  llvm::SmallVector<unsigned> parameters;
  if (!kernel.getEpilogue().empty())
    for (unsigned i = 0; i < kernel.getEpilogue().front().getNumArguments(); ++i)
      parameters.push_back(i > 0 && single ? i + 1 : i);
  return parameters;
}

/// The entry: parameters and launch bounds.
static std::string entryText(engine::KernelOp kernel, int64_t buffers, int64_t scalars) {
  llvm::SmallVector<std::string> parameters, pointers, numbers, maps;
  for (int64_t i = 0; i < buffers; ++i) {
    pointers.push_back("b" + std::to_string(i));
    parameters.push_back("void *" + pointers.back());
  }
  for (int64_t i = 0; i < scalars; ++i) {
    numbers.push_back("s" + std::to_string(i));
    parameters.push_back("i64 " + numbers.back());
  }
  for (size_t i = 0; i < kernel.getTensorMaps().size(); ++i) {
    maps.push_back("&m" + std::to_string(i));
    parameters.push_back("const __grid_constant__ TensorMap m" + std::to_string(i));
  }
  // Without a number of blocks, ptxas may trade registers for stack.
  bool bounded = kernel.getConstants().contains("blocks_per_sm");
  return std::string("\n#include \"Ptx.cuh\"\nextern \"C\" __global__ void "
                     "__launch_bounds__(constants::threads") +
         (bounded ? ", constants::blocks_per_sm" : ", 1") + ")\nINGOT_KERNEL(" +
         llvm::join(parameters, ", ") +
         ") {\n"
         "#ifndef INGOT_WAITS_ITSELF\n"
         "  ptx::letNextKernelStart();\n"
         "  ptx::waitForEarlierKernels();\n"
         "#endif\n"
         "  const Launch launch = {{" +
         llvm::join(pointers, ", ") + "}, {" + llvm::join(numbers, ", ") + "}, {" +
         llvm::join(maps, ", ") +
         "}};\n"
         "  run(launch);\n"
         "}\n";
}

std::string KernelSource::digest() const {
  llvm::SHA256 hash;
  auto add = [&](llvm::StringRef text) {
    uint8_t size[sizeof(uint64_t)];
    llvm::support::endian::write64le(size, text.size());
    hash.update(llvm::ArrayRef(size));
    hash.update(text);
  };
  add(program);
  for (const std::string &option : options)
    add(option);
  for (const auto &[name, text] : headers) {
    add(name);
    add(text);
  }
  auto bytes = hash.final();
  return std::string(bytes.begin(), bytes.end());
}

/// Appends the file `name` and those it includes, each once.
static void appendTemplate(llvm::StringRef name, llvm::SmallVectorImpl<llvm::StringRef> &seen,
                           std::string &text) {
  const auto *file =
      llvm::find_if(cudaTemplates(), [&](const CudaTemplate &one) { return one.name == name; });
  // Constants.cuh and Region.cuh are generated for each kernel.
  if (file == cudaTemplates().end() || llvm::is_contained(seen, name))
    return;
  seen.push_back(file->name);
  text += file->text;
  llvm::SmallVector<llvm::StringRef> lines;
  file->text.split(lines, '\n');
  for (llvm::StringRef line : lines)
    if (line.consume_front("#include \""))
      appendTemplate(line.take_until([](char c) { return c == '"'; }), seen, text);
}

std::string codegen::cudaTemplateText(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> seen;
  std::string text;
  appendTemplate(name, seen, text);
  return text;
}

llvm::Expected<KernelSource> codegen::kernelSource(engine::KernelOp kernel,
                                                   const CudaArchitecture &architecture) {
  KernelSource source;
  source.name = kernel.getSymName().str();
  std::string wanted = kernel.getSource().str() + ".cu";
  for (const CudaTemplate &file : cudaTemplates()) {
    if (!file.name.ends_with(".cu"))
      source.headers.emplace_back(file.name, file.text);
    else if (file.name == wanted)
      source.program = file.text;
  }
  if (source.program.empty())
    return llvm::createStringError("INGOT-E4001: the target has no such template");
  if (!llvm::all_of(source.name, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
    return llvm::createStringError("INGOT-E4002: its name is no C identifier");
  auto buffers = kernel.getConstants().getAs<IntegerAttr>("buffers");
  auto scalars = kernel.getConstants().getAs<IntegerAttr>("scalars");
  if (!buffers || !scalars || !kernel.getConstants().getAs<IntegerAttr>("threads"))
    return llvm::createStringError(
        "INGOT-E4002: the constants 'buffers', 'scalars' and 'threads' are needed");
  // Templates hold what they keep in shared memory to this constant.
  auto shared = kernel.getConstants().getAs<IntegerAttr>("shared_bytes");
  if ((shared ? shared.getInt() : 0) != int64_t(kernel.getSharedBytes()))
    return llvm::createStringError("INGOT-E4002: the constant 'shared_bytes' is not the " +
                                   llvm::Twine(kernel.getSharedBytes()) + " bytes of the launch");
  llvm::Expected<std::string> constants = constantsText(kernel);
  if (!constants)
    return constants.takeError();
  llvm::Expected<std::string> region = regionText(kernel.getEpilogue(), regionParameters(kernel));
  if (!region)
    return llvm::createStringError("INGOT-E4003: " + llvm::toString(region.takeError()));
  source.headers.emplace_back("Constants.cuh", *constants);
  source.headers.emplace_back("Region.cuh", "#pragma once\n" + *region);
  // Decided by the maps: no template can forget the fence that the engine states.
  if (llvm::any_of(kernel.getTensorMaps().getAsRange<engine::TensorMapAttr>(),
                   [](engine::TensorMapAttr map) { return map.getFenced(); }))
    source.program = "#define INGOT_FENCES_COPIES\n" + source.program;
  source.program += entryText(kernel, buffers.getInt(), scalars.getInt());
  // Rounding is part of the numerics: nothing is contracted that the template does not contract.
  source.options = {"-arch=" + architecture.name.str(), "-std=c++20", "--fmad=false",
                    "--ptxas-options=-v"};
  return source;
}
