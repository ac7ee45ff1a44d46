// SPDX-License-Identifier: Apache-2.0
// How each kernel is used, gathered from all launches of a unit that may run it.
#include "compiler/engine_file/EngineWriterTypes.h"
#include "compiler/engine_file/EngineWriterUnit.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using namespace ingot::engine;

EngineUnitWriter::Parameter EngineUnitWriter::parameterOf(UnitOp unit, Attribute argument) {
  if (isa<FloatAttr>(argument))
    return {schema::ArgKind::Real};
  if (auto value = dyn_cast<ExprAttr>(argument))
    return {.kind = schema::ArgKind::Integer, .value = value};
  Parameter parameter = {schema::ArgKind::Buffer};
  auto at = dyn_cast<BufferArgAttr>(argument);
  auto name = at ? at.getBuffer() : cast<FlatSymbolRefAttr>(argument);
  auto buffer = cast<BufferOp>(SymbolTable::lookupSymbolIn(unit, name));
  if (at)
    parameter.value = at.getOffset();
  parameter.role = enumOf<schema::Role>(buffer.getRole());
  parameter.bytes = buffer.getBytes();
  if (buffer.getRole() == "input")
    parameter.input = buffer.getSymName().str();
  if (buffer.getGroup()) {
    auto group = cast<KvGroupOp>(SymbolTable::lookupSymbolIn(unit, buffer.getGroupAttr()));
    parameter.blockTokens = int64_t(group.getBlockTokens());
    parameter.window = int64_t(group.getWindow());
  }
  return parameter;
}

void EngineUnitWriter::collectUses(UnitOp unit) {
  uses.clear();
  unit.walk([&](LaunchOp launch) {
    std::vector<Parameter> parameters;
    for (Attribute argument : launch.getArgs())
      parameters.push_back(parameterOf(unit, argument));
    for (VariantAttr variant : launch.getVariants().getAsRange<VariantAttr>()) {
      Use use = {variant.getGrid().vec(), parameters};
      std::vector<Use> &known = uses[kernels.at(variant.getKernel().getAttr())];
      if (!llvm::is_contained(known, use))
        known.push_back(std::move(use));
    }
  });
}

EngineUnitWriter::Tables<schema::Use> EngineUnitWriter::writeUses(uint32_t kernel) {
  std::vector<Offset<schema::Use>> tables;
  for (const Use &use : uses[kernel]) {
    std::vector<Offset<schema::Parameter>> parameters;
    for (const Parameter &one : use.parameters) {
      Offset<schema::Expr> bytes, value;
      if (one.bytes)
        bytes = expression(one.bytes);
      if (one.value)
        value = expression(one.value);
      parameters.push_back(schema::CreateParameter(builder, one.kind, one.role, bytes,
                                                   int32_t(one.blockTokens), one.window, value,
                                                   optionalText(one.input)));
    }
    Tables<schema::Expr> grid = expressions(use.grid);
    tables.push_back(schema::CreateUse(builder, grid, builder.CreateVector(parameters)));
  }
  return builder.CreateVector(tables);
}
