// SPDX-License-Identifier: Apache-2.0
// Diagnostics of MLIR as errors.
#pragma once

#include "compiler/checkpoint/files/Error.h"
#include "mlir/IR/Diagnostics.h"

namespace ingot::compiler {

/// Gathers diagnostics while it lives, so that a failure can be returned as one Error.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext &context);

  /// The first error, with a code of its own where the message has none.
  checkpoint::Error error() const;

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace ingot::compiler
