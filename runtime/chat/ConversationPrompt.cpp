// SPDX-License-Identifier: Apache-2.0
// Places in a prompt are those of the strings that it was made of; it is never searched.
#include "runtime/chat/ConversationPrompt.h"

#include "runtime/chat/PromptCheck.h"
#include "runtime/chat/Turn.h"
#include "runtime/serving/Unicode.h"

#include <algorithm>
#include <optional>

namespace ingot::runtime {

namespace {

using Json = nlohmann::ordered_json;

Status cannotGoOn(const std::string &why) {
  return Status::error("INGOT-E6073", "the last message, which is to go on, " + why,
                       "leave continue_final_message out");
}

/// The last text of a message that says something; null: there is none.
const std::string *lastText(const Json &message) {
  if (!message.contains("content"))
    return nullptr;
  const Json &content = message["content"];
  if (content.is_string())
    return &content.get_ref<const std::string &>();
  const std::string *last = nullptr;
  if (content.is_array())
    for (const Json &part : content)
      if (!isPicture(part))
        if (const auto &text = part["text"].get_ref<const std::string &>(); !last || !isBlank(text))
          last = &text;
  return last;
}

/// Calls visit(text, size of those before it) for each text of a content.
template <class Visit> void forTexts(const Json &content, Visit visit) {
  uint32_t before = 0;
  if (content.is_string())
    visit(content.get_ref<const std::string &>(), before);
  else
    for (const Json &part : content)
      if (!isPicture(part)) {
        const auto &text = part["text"].get_ref<const std::string &>();
        visit(text, before);
        before += uint32_t(text.size());
      }
}

/// Where the last byte of `text` that is no white space stands for the last time, and what of the
/// white space behind it follows there.
std::optional<Span> endOf(const std::string &text, const Provenance &provenance) {
  const size_t words = trimWhitespace(text);
  const uint32_t last = uint32_t(words > 0 ? words : text.size()) - 1;
  const std::vector<Placed> places = provenance.placesOf(text);
  std::optional<Placed> end;
  for (const Placed &place : places)
    if (place.given.begin <= last && last < place.given.end &&
        (!end || place.prompt.end > end->prompt.end))
      end = place;
  if (!end)
    return std::nullopt;
  uint32_t begin = end->prompt.begin;
  for (const Placed &place : places) {
    begin = std::min(begin, place.prompt.begin);
    // Characters that are escaped are pieces of their own.
    if (place.given.begin == end->given.end && place.prompt.begin == end->prompt.end)
      end = place;
  }
  return Span{begin, end->prompt.end};
}

/// One way to say a conversation, tried.
class Attempt {
public:
  Attempt(const Conversation &conversation, const ChatTemplate &chatTemplate,
          const Json &specialTokens, const RenderSettings &settings)
      : conversation(conversation), chatTemplate(chatTemplate), specialTokens(specialTokens),
        settings(settings) {}

  Status render(const TemplateTraits &traits) {
    Result<ConversationVariables> made = conversation.variablesFor(traits);
    if (!made.ok())
      return std::move(made).status();
    variables = std::move(*made);
    for (const auto &[token, text] : specialTokens.items())
      if (!variables.all.contains(token))
        variables.all[token] = text;
    Result<RenderedPrompt> rendered = chatTemplate.render(variables.all, settings, &provenance);
    if (!rendered.ok())
      return std::move(rendered).status();
    prompt = std::move(*rendered);
    prompt.answerBegin = prompt.input.empty() ? 0 : prompt.input.back().end;
    for (const size_t picture : variables.pictures)
      prompt.images.push_back(conversation.images[picture]);
    if (Status status = cut(); !status.ok())
      return status;
    findLost(traits.thoughtsEnd);
    takeOwn();
    return Status::success();
  }

  bool loses() const { return !lost.empty(); }
  /// Whether it is an instruction that is lost.
  bool losesInstructions() const { return lostRole == "system" || lostRole == "developer"; }

  Status failure() const {
    return Status::error("INGOT-E6076",
                         lost + " is not in the prompt: the chat template leaves it out",
                         "change the request, or take another template");
  }

  RenderedPrompt prompt;

private:
  /// Ends the prompt where the last message's text ends, if that goes on.
  Status cut() {
    if (!conversation.continueFinalMessage)
      return Status::success();
    if (!conversation.messages.back().value("tool_calls", Json()).empty())
      return cannotGoOn("has calls");
    if (hasPictures(conversation.messages.back()))
      return cannotGoOn("has pictures");
    const std::string *text = lastText(variables.all["messages"].back());
    if (!text || text->empty())
      return cannotGoOn("has no text");
    const std::optional<Span> place = endOf(*text, provenance);
    if (!place)
      return cannotGoOn("does not end in the prompt as it does in the request");
    prompt.text.resize(place->end);
    prompt.answerBegin = provenance.lastEndBefore(place->begin);
    std::erase_if(prompt.input, [&](const Span &span) { return span.begin >= place->end; });
    if (!prompt.input.empty())
      prompt.input.back().end = std::min(prompt.input.back().end, place->end);
    return Status::success();
  }

  /// Takes from the input what nobody wrote.
  void takeOwn() {
    std::vector<Span> none;
    for (size_t i = 0; i < variables.own.size(); ++i) {
      if (variables.own[i].empty())
        continue;
      // Both are in the order of the texts.
      auto own = variables.own[i].begin();
      const auto end = variables.own[i].end();
      forTexts(
          variables.all["messages"][i]["content"], [&](const std::string &text, uint32_t before) {
            for (const Placed &place : provenance.placesOf(text)) {
              const Span given = {place.given.begin + before, place.given.end + before};
              while (own != end && own->end <= given.begin)
                ++own;
              for (auto at = own; at != end && at->begin < given.end; ++at)
                none.push_back({place.prompt.begin + std::max(at->begin, given.begin) - given.begin,
                                place.prompt.begin + std::min(at->end, given.end) - given.begin});
            }
          });
    }
    std::ranges::sort(none, {}, &Span::begin);
    std::vector<Span> kept;
    auto hole = none.begin();
    for (Span span : prompt.input) {
      for (; hole != none.end() && hole->begin < span.end; ++hole) {
        if (hole->begin > span.begin)
          kept.push_back({span.begin, hole->begin});
        span.begin = std::max(span.begin, hole->end);
      }
      if (span.begin < span.end)
        kept.push_back(span);
    }
    prompt.input = std::move(kept);
  }

  void findLost(std::string_view thoughtsEnd) {
    lost.clear();
    const Json &messages = variables.all["messages"];
    for (size_t i = 0; i < messages.size(); ++i) {
      const std::string part =
          lostPart(messages[i], provenance, prompt.text.size(), chatTemplate, thoughtsEnd);
      if (part.empty())
        continue;
      const Json &told = conversation.messages[variables.indices[i]];
      lost = "messages[" + std::to_string(variables.indices[i]) + "]." + part;
      lostRole = told["role"].get<std::string>();
      return;
    }
    for (const char *list : {"documents", "tools"})
      for (size_t i = 0; i < variables.all[list].size(); ++i)
        if (!hasPlace(variables.all[list][i])) {
          lost = std::string(list) + "[" + std::to_string(i) + "]";
          lostRole.clear();
          return;
        }
  }

  /// Whether a string in `value` stands somewhere.
  bool hasPlace(const Json &value) const {
    if (value.is_string())
      return !provenance.placesOf(value.get_ref<const std::string &>()).empty();
    // Numbers and the like are ranges of themselves.
    return value.is_structured() && std::any_of(value.begin(), value.end(),
                                                [&](const Json &item) { return hasPlace(item); });
  }

  const Conversation &conversation;
  const ChatTemplate &chatTemplate;
  const Json &specialTokens;
  const RenderSettings &settings;
  ConversationVariables variables;
  Provenance provenance;
  std::string lost, lostRole;
};

/// A conversation whose last message has nothing to go on with, as one that is to be answered.
Conversation withoutBlankEnd(const Conversation &conversation) {
  Conversation shorter = conversation;
  shorter.messages.erase(shorter.messages.size() - 1);
  shorter.continueFinalMessage = false;
  shorter.addGenerationPrompt = true;
  return shorter;
}

/// Whether the last message is an assistant's that is to go on, and says nothing.
bool endsBlank(const Conversation &conversation) {
  const Json &last = conversation.messages.back();
  return conversation.continueFinalMessage && conversation.messages.size() > 1 &&
         last["role"] == "assistant" && isBlank(contentText(last)) && !hasPictures(last) &&
         last.value("tool_calls", Json()).empty() && last.value("reasoning", Json()).empty() &&
         last.value("reasoning_content", Json()).empty();
}

} // namespace

Result<RenderedPrompt> renderConversation(const Conversation &conversation,
                                          const ChatTemplate &chatTemplate,
                                          const TemplateTraits &traits, const Json &specialTokens,
                                          const RenderSettings &settings) {
  Attempt attempt(conversation, chatTemplate, specialTokens, settings);
  Status status = attempt.render(traits);
  if (!status.ok() && endsBlank(conversation))
    return renderConversation(withoutBlankEnd(conversation), chatTemplate, traits, specialTokens,
                              settings);
  if (status.ok() && attempt.losesInstructions()) {
    // Some templates print them beside a question alone, and nothing where a result is last.
    TemplateTraits without = traits;
    without.knowsSystem = without.knowsDeveloper = false;
    status = attempt.render(without);
  }
  if (status.ok() && attempt.loses())
    status = attempt.failure();
  if (!status.ok())
    return status;
  return std::move(attempt.prompt);
}

} // namespace ingot::runtime
