// SPDX-License-Identifier: Apache-2.0
// Templates and families of answers, found once; prompts, made for each turn.
#include "runtime/chat/Dialogue.h"

#include "runtime/serving/pictures/PictureReader.h"
#include "runtime/serving/pictures/PictureWords.h"

#include <algorithm>

namespace ingot::runtime {

/// Takes the family that the user has named, if any.
static Status chooseFamily(const std::string &name, const char *option,
                           const AnswerFamily *(*find)(std::string_view),
                           const AnswerFamily *&chosen) {
  if (name.empty())
    return {};
  if (const AnswerFamily *found = find(name)) {
    chosen = found;
    return {};
  }
  std::string names = "none";
  for (const AnswerFamily &family : answerFamilies())
    if (find(family.name))
      names.append(", ").append(family.name);
  return Status::error("INGOT-E7222", std::string(option) + ": there is no family '" + name + "'",
                       "use one of " + names);
}

Result<Dialogue> Dialogue::make(const Tokenizer *tokenizer, const DialogueOptions &options,
                                const schema::Images *images) {
  Dialogue dialogue;
  dialogue.images = images;
  dialogue.tokenizer = tokenizer;
  dialogue.name = options.templateName;
  if (tokenizer && options.templateName.empty()) {
    dialogue.templates = ChatTemplates::of(*tokenizer);
  } else if (tokenizer) {
    Result<ChatTemplates> read =
        ChatTemplates::of(*tokenizer, options.templateName, options.templateText);
    if (!read.ok())
      return std::move(read).status();
    dialogue.templates = std::move(*read);
  }
  std::string sources;
  for (std::string_view name : dialogue.templates.names())
    sources += dialogue.templates.source(name);
  dialogue.chosen = chooseFamilies(sources);
  Status status =
      chooseFamily(options.toolParser, "--tool-parser", toolFamily, dialogue.chosen.tools);
  if (status.ok())
    status = chooseFamily(options.reasoningParser, "--reasoning-parser", reasoningFamily,
                          dialogue.chosen.reasoning);
  if (!status.ok())
    return status;
  return dialogue;
}

Result<RenderedPrompt> Dialogue::render(const nlohmann::ordered_json &conversation,
                                        const RenderSettings &settings,
                                        std::string_view name) const {
  if (!tokenizer)
    return Status::error("INGOT-E6008", "the engine has no tokenizer", "work with token ids");
  const Result<Conversation> read = Conversation::read(conversation);
  if (!read.ok())
    return read.status();
  if (!read->images.empty() && !images)
    return noPictures();
  return templates.render(*read, settings, name);
}

bool Dialogue::knowsEffort() const {
  return std::ranges::any_of(templates.names(), [&](std::string_view each) {
    const TemplateTraits *traits = templates.traits(each);
    return traits && traits->knowsEffort;
  });
}

Result<PromptPictures> Dialogue::readPictures(const std::vector<std::string> &sources,
                                              const ReadPicture &read) const {
  PromptPictures pictures;
  for (const std::string &source : sources) {
    if (!read)
      return noPictures();
    Result<std::shared_ptr<const PromptPicture>> picture = read(source);
    if (!picture.ok())
      return std::move(picture).status().in("picture " + std::to_string(pictures.size() + 1));
    pictures.push_back(*std::move(picture));
  }
  return pictures;
}

Result<Dialogue::Turn> Dialogue::begin(const nlohmann::ordered_json &conversation,
                                       AnswerSettings settings, const RenderSettings &rendering,
                                       std::string_view name, const ReadPicture &read) const {
  Result<RenderedPrompt> prompt = render(conversation, rendering, name);
  if (!prompt.ok())
    return std::move(prompt).status();
  Result<PromptPictures> pictures = readPictures(prompt->images, read);
  if (!pictures.ok())
    return std::move(pictures).status();
  Result<std::vector<int32_t>> tokens =
      images
          ? encodeWithPictures(*tokenizer, prompt->text, prompt->input, false, *pictures, *images)
          : tokenizer->encodePrompt(prompt->text, prompt->input);
  if (!tokens.ok())
    return std::move(tokens).status();
  Turn turn = {std::move(*tokens), std::move(*pictures), {}, chosen, std::move(settings)};
  turn.settings.calls = !turn.settings.tools.empty();
  for (const AnswerFamily *family : {turn.families.tools, turn.families.reasoning})
    for (std::string_view marker : markers(*family))
      if (std::optional<int32_t> id = tokenizer->addedToken(marker))
        turn.keptSpecial.push_back(*id);
  turn.settings.promptTail = prompt->text.substr(prompt->answerBegin);
  turn.settings.promptEndsInWords =
      !prompt->input.empty() && prompt->input.back().end == prompt->text.size();
  return turn;
}

} // namespace ingot::runtime
