// SPDX-License-Identifier: Apache-2.0
// From a family's row to a format. What stands between the parts of a call is what models write
// there, at most two blanks or line breaks: the parser skips any.
#include "runtime/chat/CallFormat.h"
#include "runtime/chat/LiteralScanner.h"

namespace ingot::runtime {

namespace {

using Format = guided::TagFormat;
using Style = guided::ArgumentStyle;

/// What may be called, and how.
struct Callable {
  std::vector<const AnswerTool *> tools;
  bool areHeld;  ///< all of them to their schemas, not only strict ones
  uint32_t most; ///< calls of an answer
};

Style styleOf(const CallForm &form) {
  const auto text = [](std::string_view view) { return std::string(view); };
  Style style;
  if (form.arguments == ArgumentForm::PythonCall) {
    style.kind = Style::Kind::PythonCall;
  } else if (form.arguments == ArgumentForm::Gemma) {
    style.kind = Style::Kind::Gemma;
    style.quote = "<|\"|>";
  } else if (form.arguments == ArgumentForm::Tagged) {
    const ArgumentTags &tags = form.tags;
    style = {.kind = Style::Kind::Tagged,
             .key = text(tags.key),
             .keyEnd = text(tags.keyEnd),
             .value = text(tags.value),
             .valueEnd = text(tags.valueEnd),
             .ofString = text(tags.ofString),
             .ofJson = text(tags.ofJson),
             .onLines = tags.onLines};
  }
  return style;
}

Format argumentsOf(const CallForm &form, const AnswerTool &tool, const Callable &callable) {
  Format format;
  format.kind = Format::Kind::Arguments;
  format.style = styleOf(form);
  format.place = "the parameters of tool '" + tool.name + "'";
  format.closed = callable.areHeld || tool.strict;
  if (!format.closed)
    format.text = R"({"type": "object"})";
  else if (tool.parameters.is_object())
    format.text = tool.parameters.dump();
  else
    format.text = R"({"type": "object", "additionalProperties": false})";
  return format;
}

std::string jsonText(std::string_view text) {
  std::string json = "\"";
  appendEscaped(text, json);
  return json + '"';
}

Format regex(std::string_view expression) {
  Format format;
  format.kind = Format::Kind::Regex;
  format.text = expression;
  return format;
}

/// White space may stand before a marker, unless that begins with it.
void addMarker(std::vector<Format> &parts, std::string_view marker) {
  if (marker.empty())
    return;
  if (marker[0] != ' ' && marker[0] != '\n')
    parts.push_back(Format::gap());
  parts.push_back(Format::marker(marker));
}

void append(std::vector<Format> &parts, std::vector<Format> more) {
  std::ranges::move(more, std::back_inserter(parts));
}

/// For each tool what `partsOf` gives.
template <class PartsOf> Format anyTool(const Callable &callable, PartsOf partsOf) {
  std::vector<Format> choices;
  for (const AnswerTool *tool : callable.tools)
    choices.push_back(Format::sequence(partsOf(*tool)));
  return Format::choice(std::move(choices));
}

/// A member of an object, but for its value.
std::vector<Format> member(std::string_view name) {
  return {Format::marker(jsonText(name) + ':'), Format::gap()};
}

/// An object with the name and the arguments as members.
std::vector<Format> jsonCall(const CallForm &form, const Callable &callable) {
  const CallKeys &keys = form.keys;
  std::vector<Format> identifier = member(keys.id), parts = {Format::marker("{"), Format::gap()};
  append(identifier, {Format::marker("\""), regex(keys.idText), Format::marker("\"")});
  if (keys.idFirst) {
    append(parts, identifier);
    append(parts, {Format::marker(","), Format::gap()});
  }
  append(parts, member(keys.name));
  parts.push_back(anyTool(callable, [&](const AnswerTool &tool) {
    std::vector<Format> rest = {Format::marker(jsonText(tool.name) + ','), Format::gap()};
    append(rest, member(keys.arguments));
    rest.push_back(argumentsOf(form, tool, callable));
    return rest;
  }));
  if (!keys.id.empty() && !keys.idFirst) {
    identifier.insert(identifier.begin(), {Format::marker(","), Format::gap()});
    parts.push_back(Format::list({Format::sequence(std::move(identifier))}, 0, 1));
  }
  append(parts, {Format::gap(), Format::marker("}")});
  return parts;
}

std::vector<Format> namedJson(const CallForm &form, const Callable &callable) {
  return {Format::marker("{"), Format::gap(), anyTool(callable, [&](const AnswerTool &tool) {
            std::vector<Format> parts = member(tool.name);
            append(parts, {argumentsOf(form, tool, callable), Format::gap(), Format::marker("}")});
            return parts;
          })};
}

/// A head with the name, and then the arguments.
std::vector<Format> headedCall(const CallForm &form, std::string_view prefix,
                               const Callable &callable) {
  using Kind = HeadPart::Kind;
  const auto headOf = [&](const AnswerTool &tool, bool withIds) {
    const std::string name = std::string(prefix) + tool.name;
    const bool isNamed = std::ranges::any_of(
        form.head, [](const HeadPart &part) { return part.kind == Kind::Name; });
    std::vector<Format> parts;
    bool skipsEnd = false;
    for (const HeadPart &part : form.head) {
      if (part.kind == Kind::Name)
        parts.push_back(Format::marker(name));
      else if (part.kind == Kind::Other)
        parts.push_back(Format::marker(part.text));
      else if (part.kind == Kind::Id && !isNamed)
        append(parts, {Format::marker(name + ':'), regex("[0-9]{1,3}")});
      else if (part.kind == Kind::Id && withIds)
        parts.push_back(regex("[a-zA-Z0-9_-]{1,32}"));
      // Without the identifier behind it a name has the end of that.
      skipsEnd = part.kind == Kind::Name && !withIds;
      if (part.kind != Kind::None && !skipsEnd)
        addMarker(parts, part.end);
    }
    parts.push_back(Format::gap());
    parts.push_back(argumentsOf(form, tool, callable));
    return parts;
  };
  const bool mayLackId = form.head[0].kind == Kind::Name && form.head[1].kind == Kind::Id;
  std::vector<Format> ways;
  for (const bool withIds : {true, false})
    if (withIds || mayLackId)
      ways.push_back(
          anyTool(callable, [&](const AnswerTool &tool) { return headOf(tool, withIds); }));
  return {Format::choice(std::move(ways))};
}

Format ending(std::string_view marker) {
  Format format = Format::marker(marker);
  format.kind = Format::Kind::Ending;
  return format;
}

/// Where calls stand in an answer.
struct Where {
  bool isFirst; ///< it begins with them
  bool isLast;  ///< it ends with them
};

/// The calls of one form; `open` is what of the first marker is still to come.
Format callsOf(const CallForm &form, std::string_view open, std::string_view prefix,
               const Callable &callable, bool isLast) {
  std::vector<Format> call;
  switch (form.arguments) {
  case ArgumentForm::JsonCall:
    call = jsonCall(form, callable);
    break;
  case ArgumentForm::NamedJson:
    call = namedJson(form, callable);
    break;
  default:
    call = headedCall(form, prefix, callable);
  }
  addMarker(call, form.argumentsClose);
  std::vector<Format> parts = {Format::marker(open)}, between;
  std::string_view close = form.close;
  bool areMany = true;
  if (form.isList) {
    append(parts, {Format::gap(), Format::marker("["), Format::gap()});
    between = {Format::gap(), Format::marker(","), Format::gap()};
  } else if (form.separator) {
    parts.push_back(Format::gap());
    between = {Format::gap(), Format::marker({&form.separator, 1}), Format::gap()};
  } else {
    addMarker(between, form.callClose);
    addMarker(between, form.callOpen.empty() ? form.open : form.callOpen);
    addMarker(parts, form.callOpen);
    // Nothing but its own marker tells where the last one ends.
    areMany = !form.callClose.empty() || !form.open.empty();
  }
  if (form.isList || form.separator)
    addMarker(call, form.callClose);
  parts.push_back(
      Format::list({Format::sequence(std::move(call)), Format::sequence(std::move(between))}, 1,
                   areMany ? callable.most : 1));
  if (form.isList)
    append(parts, {Format::gap(), Format::marker("]")});
  else if (!form.separator && !close.empty())
    addMarker(parts, form.callClose);
  else if (!form.separator)
    close = form.callClose;
  // Tags might go on: nothing but the marker behind them tells that a call is whole.
  if (!isLast || (form.arguments == ArgumentForm::Tagged && close == form.callClose))
    addMarker(parts, close);
  else if (!close.empty())
    append(parts, {Format::gap(), ending(close)});
  return Format::sequence(std::move(parts));
}

/// Whether the prompt has begun the first marker of a form.
bool isBegun(const AnswerFamily &family, const AnswerSettings &settings, const CallForm &form) {
  return !family.promptPrefix.empty() && !settings.promptEndsInWords &&
         settings.promptTail.ends_with(family.promptPrefix) &&
         form.open.starts_with(family.promptPrefix);
}

Format anyCalls(const AnswerFamily &family, const AnswerSettings &settings,
                const Callable &callable, Where where) {
  std::vector<Format> ways;
  for (const CallForm &form : family.forms) {
    if (form.readOnly || (!where.isFirst && form.open.empty()))
      continue;
    const bool begins = where.isFirst && isBegun(family, settings, form);
    ways.push_back(callsOf(form, form.open.substr(begins ? family.promptPrefix.size() : 0),
                           family.namePrefix, callable, where.isLast));
  }
  return Format::choice(std::move(ways));
}

/// Text without the beginning of a call. `isFirst`: the answer begins with it.
Format textBetween(const AnswerFamily &family, const AnswerSettings &settings, bool isFirst) {
  Format text = Format::textWithout({});
  for (const CallForm &form : family.forms) {
    if (!form.open.empty())
      text.words.emplace_back(form.open);
    if (isFirst && form.open.empty())
      text.notFirst.emplace_back(1, form.bare);
    if (isFirst && isBegun(family, settings, form))
      text.notFirst.emplace_back(form.open.substr(family.promptPrefix.size()));
  }
  return text;
}

/// What of a frame is still to come where the prompt has its beginning, and then text.
std::vector<Format> framedTexts(const AnswerFamily &family, const AnswerSettings &settings) {
  std::vector<Format> texts;
  for (const std::string_view frame : family.frames)
    if (!family.promptPrefix.empty() && frame.starts_with(family.promptPrefix) &&
        settings.promptTail.ends_with(family.promptPrefix) && frame != family.promptPrefix)
      texts.push_back(Format::sequence({Format::marker(frame.substr(family.promptPrefix.size())),
                                        textBetween(family, settings, false)}));
  return texts;
}

/// The answers of another form, none of whose texts are calls.
Format formatOf(const AnswerForm &form) {
  if (form.tags)
    return *form.tags;
  Format format;
  format.kind = Format::Kind::Schema;
  format.text = form.kind == AnswerForm::Kind::JsonObject ? R"({"type": "object"})" : "true";
  if (form.kind == AnswerForm::Kind::JsonSchema)
    format.text = form.text;
  if (form.kind == AnswerForm::Kind::Regex)
    format = regex(form.text);
  if (form.kind == AnswerForm::Kind::Gbnf || form.kind == AnswerForm::Kind::Lark) {
    format.kind = form.kind == AnswerForm::Kind::Gbnf ? Format::Kind::Gbnf : Format::Kind::Lark;
    format.text = form.text;
  }
  if (form.kind == AnswerForm::Kind::Choice) {
    format.kind = Format::Kind::Words;
    format.words = form.choices;
  }
  format.place = "the form of the answer";
  return format;
}

/// Calls with text behind each, up to `most`; the last may end the answer.
Format furtherCalls(const AnswerFamily &family, const AnswerSettings &settings,
                    const Callable &callable, uint32_t most) {
  Format further = Format::sequence(
      {anyCalls(family, settings, callable, {false, false}), textBetween(family, settings, false)});
  Format last = anyCalls(family, settings, callable, {false, true});
  if (most <= 1)
    return Format::list({Format::choice({std::move(further), std::move(last)})}, 0, most);
  return Format::sequence(
      {Format::list({std::move(further)}, 0, most), Format::list({std::move(last)}, 0, 1)});
}

/// Text with calls in it. Where a call may begin as the answer does, the text may not.
Format textAndCalls(const AnswerFamily &family, const AnswerSettings &settings,
                    const Callable &callable) {
  const Format texts = textBetween(family, settings, true);
  const Format more = furtherCalls(family, settings, callable, callable.most);
  const bool mayBegin = std::ranges::any_of(family.forms, [&](const CallForm &form) {
    return form.open.empty() || isBegun(family, settings, form);
  });
  if (!mayBegin)
    return Format::sequence({texts, more});
  std::vector<Format> begun = framedTexts(family, settings);
  begun.push_back(texts);
  const uint32_t rest = callable.most == 1 ? 0 : callable.most;
  return Format::choice({Format::sequence({Format::choice(std::move(begun)), more}),
                         Format::sequence({anyCalls(family, settings, callable, {true, false}),
                                           textBetween(family, settings, false),
                                           furtherCalls(family, settings, callable, rest)}),
                         anyCalls(family, settings, callable, {true, true})});
}

Status checkNames(const AnswerFamily &family, const Callable &callable) {
  const bool areBare = std::ranges::any_of(family.forms, [](const CallForm &form) {
    return !form.readOnly && form.head[0].kind != HeadPart::Kind::None;
  });
  for (const AnswerTool *tool : callable.tools)
    if (tool->name.empty() || (areBare && !std::ranges::all_of(tool->name, isNameByte)))
      return Status::error("INGOT-E6608",
                           "the calls of this model cannot hold the name '" + tool->name + "'",
                           "name the tool with letters, digits, '_' and '-'");
  return {};
}

} // namespace

Status bindCalls(const AnswerFamilies &families, const AnswerSettings &settings, AnswerForm &form) {
  if (!settings.bindsCalls())
    return {};
  const AnswerFamily &family = *families.tools;
  if (family.forms.empty())
    return Status::error("INGOT-E6608", "it is not known how this model writes calls",
                         "give --tool-parser, or ask for no call that must be right");
  Callable callable = {{}, settings.mustCall, settings.parallel ? ~0u : 1};
  for (const AnswerTool &tool : settings.tools)
    if (settings.onlyTool.empty() || tool.name == settings.onlyTool)
      callable.tools.push_back(&tool);
  if (Status status = checkNames(family, callable); !status.ok())
    return status;
  Format answer;
  if (settings.mustCall)
    answer = anyCalls(family, settings, callable, {true, true});
  else if (form.isFree())
    answer = textAndCalls(family, settings, callable);
  else
    answer = Format::choice({formatOf(form), anyCalls(family, settings, callable, {true, true})});
  form = {AnswerForm::Kind::Tags, {}, {}, std::make_shared<const Format>(std::move(answer))};
  return {};
}

} // namespace ingot::runtime
