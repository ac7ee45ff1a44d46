// SPDX-License-Identifier: Apache-2.0
// Macro: a macro or the body of a call block; and blocks by name.
#pragma once

#include "runtime/jinja/Interpreter.h"

namespace ingot::runtime::jinja {

struct Macro : Object {
  Macro(const Statement &statement, Frame *frame, bool escapes, std::string name)
      : statement(statement), frame(frame), escapes(escapes), name(std::move(name)) {}

  std::string_view typeName() const override { return "Macro"; }
  bool isCallable() const override { return true; }
  Value call(Interpreter &interpreter, const Arguments &arguments) override;
  std::optional<Value> attribute(Interpreter &interpreter, std::string_view name) override;
  std::string represent() const override;

  const Statement &statement; ///< its signature and body
  Frame *const frame;         ///< where it was defined
  const bool escapes;         ///< what is printed there is escaped
  const std::string name;

private:
  void bind(Interpreter &interpreter, const Arguments &arguments, Frame &inner) const;
  void bindRest(Interpreter &interpreter, const Arguments &arguments,
                std::vector<bool> &usedKeywords, bool callerIsParameter, Frame &inner) const;
};

/// The variable `self`: its attributes are the blocks of the template.
struct BlockIndex : Object {
  std::string_view typeName() const override { return "TemplateReference"; }
  std::optional<Value> attribute(Interpreter &interpreter, std::string_view name) override;
};

} // namespace ingot::runtime::jinja
