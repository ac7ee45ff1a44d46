// SPDX-License-Identifier: Apache-2.0
// Methods of strings, lists, dicts and numbers that a template may call.
#pragma once

#include "runtime/jinja/Arguments.h"

#include <span>
#include <string_view>

namespace ingot::runtime::jinja {

class Interpreter;

struct Method {
  std::string_view name;
  Value (*run)(Interpreter &interpreter, const Value &self, const Arguments &arguments);
};

/// The method of that name, or null.
const Method *findMethod(const Value &self, std::string_view name);

/// Whether Python has such a method and it would change `self`, which templates may not.
bool isMutating(const Value &self, std::string_view name);

/// self.method as a value that can be called.
Value bindMethod(Heap &heap, const Value &self, const Method &method);

// By kind; each table is in the file of its name.
std::span<const Method> stringMethods();
std::span<const Method> characterTestMethods();
std::span<const Method> splittingMethods();
std::span<const Method> dictMethods();
std::span<const Method> listMethods();
std::span<const Method> numberMethods();

} // namespace ingot::runtime::jinja
