// SPDX-License-Identifier: Apache-2.0
// Template: a Jinja template, compiled once and rendered by any thread.
#include "runtime/jinja/Template.h"

#include "runtime/jinja/InputValue.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Parser.h"
#include "runtime/serving/Unicode.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

namespace ingot::runtime::jinja {

/// "name:line:column: what", with the code and the fix of the failure.
static Status statusOf(const std::string &name, std::string_view source, uint32_t offset,
                       const Failure &failure) {
  const std::string_view before = source.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  return Status::error(failure.code,
                       name + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " +
                           failure.what,
                       failure.fix);
}

static Status outOfMemory(const std::string &name) {
  return Status::error(memoryLimitCode, name + ": no memory is left", "free memory");
}

Result<Template> Template::compile(std::string_view name, std::string_view source) {
  Template made;
  made.title = name;
  if (source.size() > maxTemplateBytes)
    return Status::error(tooDeepCode,
                         made.title + ": the template has " + std::to_string(source.size()) +
                             " bytes, " + std::to_string(maxTemplateBytes) + " is the most",
                         "shorten it");
  if (const size_t valid = validUtf8Prefix(source); valid != source.size())
    return Status::error(
        syntaxCode, made.title + ": the template is not UTF-8 at byte " + std::to_string(valid),
        "convert it to UTF-8");
  uint32_t offset = 0;
  auto tree = std::make_shared<SyntaxTree>();
  try {
    tree->source = normalizeLines(source);
    tree->constants = std::make_unique<Heap>(Limits{});
    Parser(*tree, offset).parse();
  } catch (const Failure &failure) {
    return statusOf(made.title, tree->source, offset, failure);
  } catch (const std::bad_alloc &) {
    return outOfMemory(made.title);
  }
  made.tree = std::move(tree);
  return made;
}

Result<Rendered> Template::render(const nlohmann::ordered_json &variables, const std::tm &now,
                                  const Limits &limits) const {
  uint32_t offset = 0;
  try {
    Interpreter interpreter(*tree, limits, now);
    try {
      std::vector<InputString> strings = defineVariables(interpreter, variables);
      return Rendered{interpreter.run(), std::move(strings)};
    } catch (const Failure &failure) {
      offset = interpreter.offset();
      throw;
    }
  } catch (const Failure &failure) {
    return statusOf(title, tree->source, offset, failure);
  } catch (const std::bad_alloc &) {
    return outOfMemory(title);
  }
}

bool Template::mentions(std::string_view variable) const {
  return tree->symbols.count(std::string(variable)) > 0;
}

std::string_view Template::source() const { return tree->source; }

} // namespace ingot::runtime::jinja
