// SPDX-License-Identifier: Apache-2.0
// ChatTemplate: makes a prompt of a conversation.
#pragma once

#include "runtime/chat/Provenance.h"
#include "runtime/core/Status.h"
#include "runtime/jinja/Template.h"

#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// A prompt, and the parts of it that are words of the conversation: special tokens spelled there
/// are text.
struct RenderedPrompt {
  std::string text;
  std::vector<Span> input; ///< in order, apart from each other
  /// Where the answer's own turn begins, behind the last words of others: markers that it opens
  /// with, and its first words where it is to go on.
  uint32_t answerBegin = 0;
  /// What the conversation says of where its pictures come from, in the order of their places.
  std::vector<std::string> images = {};
};

struct RenderSettings {
  /// What `strftime_now` tells; absent: the local time.
  std::optional<std::tm> now;
  jinja::Limits limits;
};

/// A time for RenderSettings: "2024-07-26 12:34:56" or the date alone. INGOT-E6075: it is none.
Result<std::tm> parseTime(const std::string &text);

/// A template that was compiled. Immutable, so threads may share it; copies are cheap.
class ChatTemplate {
public:
  /// `name` stands in errors. Errors: INGOT-E6060, E6061, E6062, E6068.
  static Result<ChatTemplate> compile(std::string_view name, std::string_view text);

  /// `variables`: an object with messages, tools, add_generation_prompt, documents, bos_token, ...
  /// Strings inside of lists and objects count as input; a variable that is a string itself
  /// (bos_token, ...) as the template's own. `provenance`, where given, is told where the strings
  /// of `variables` stand in the prompt. Errors: INGOT-E6062 to E6070.
  Result<RenderedPrompt> render(const nlohmann::ordered_json &variables,
                                const RenderSettings &settings = {},
                                Provenance *provenance = nullptr) const;

  /// Whether the template speaks of a variable of that name.
  bool mentions(std::string_view variable) const { return compiled.mentions(variable); }

  const std::string &name() const { return compiled.name(); }
  /// The same under another name, for errors of its renders.
  ChatTemplate named(std::string name) const {
    return ChatTemplate(compiled.named(std::move(name)));
  }

  /// The template itself, its lines ended by "\n" alone.
  std::string_view source() const { return compiled.source(); }

private:
  explicit ChatTemplate(jinja::Template compiled) : compiled(std::move(compiled)) {}

  jinja::Template compiled;
};

} // namespace ingot::runtime
