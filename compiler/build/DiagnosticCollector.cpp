// SPDX-License-Identifier: Apache-2.0
// The first error of what was run.
#include "compiler/build/DiagnosticCollector.h"

using namespace mlir;
using namespace ingot::compiler;
using ingot::checkpoint::Error;

DiagnosticCollector::DiagnosticCollector(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error && text.empty())
          text = diagnostic.str();
        return success();
      }) {}

Error DiagnosticCollector::error() const {
  std::string what = text.empty() ? "compilation failed without a message" : text;
  size_t code = what.find("INGOT-E");
  if (code == std::string::npos)
    return {"INGOT-E3001", what, "", "report this with the model's config.json and the recipe"};
  constexpr size_t codeLength = sizeof("INGOT-E0000") - 1;
  std::string rest = what.substr(std::min(what.size(), code + codeLength));
  return {what.substr(code, codeLength), rest.substr(rest.starts_with(": ") ? 2 : 0), "", ""};
}
