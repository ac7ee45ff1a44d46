// SPDX-License-Identifier: Apache-2.0
// One reader per key of a request; unknown keys are errors, not ignored.
#include "runtime/tools/RequestJson.h"

#include "runtime/core/NearestName.h"

#include <functional>
#include <map>

namespace ingot::runtime {
namespace {

using nlohmann::json;

/// Levels of lists and objects in a line: what is nested is written by recursion.
constexpr int deepest = 64;

/// Reads a value of exactly the right kind; false when it is of another.
template <class T> bool take(const json &value, T &out) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_boolean())
      return false;
  } else if constexpr (std::is_integral_v<T>) {
    if (!value.is_number_integer())
      return false;
    if (value.is_number_unsigned()
            ? value.get<uint64_t>() > uint64_t(std::numeric_limits<T>::max())
            : value.get<int64_t>() < int64_t(std::numeric_limits<T>::min()) ||
                  value.get<int64_t>() >
                      int64_t(std::min<uint64_t>(uint64_t(std::numeric_limits<T>::max()),
                                                 uint64_t(INT64_MAX))))
      return false;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number())
      return false;
  } else if (!value.is_string()) {
    return false;
  }
  out = value.get<T>();
  return true;
}

template <class T> bool takeList(const json &value, std::vector<T> &out) {
  out.clear();
  if (!value.is_array())
    return false;
  for (const json &entry : value)
    if (!take(entry, out.emplace_back()))
      return false;
  return true;
}

bool takeBias(const json &value, std::vector<std::pair<int32_t, float>> &out) {
  if (!value.is_object())
    return false;
  out.clear();
  for (const auto &[key, entry] : value.items()) {
    json token = json::parse(key, nullptr, false);
    auto &[id, bias] = out.emplace_back();
    if (!take(token, id) || !take(entry, bias))
      return false;
  }
  return true;
}

/// A list of texts and of lists of token ids.
bool takeBadWords(const json &value, SamplingParameters &sampling) {
  if (!value.is_array())
    return false;
  sampling.badWords.clear();
  sampling.badSequences.clear();
  for (const json &entry : value)
    if (!(entry.is_string() ? take(entry, sampling.badWords.emplace_back())
                            : takeList(entry, sampling.badSequences.emplace_back())))
      return false;
  return true;
}

bool takeStop(const json &value, std::vector<std::string> &out) {
  if (!value.is_string())
    return takeList(value, out);
  out = {value.get<std::string>()};
  return true;
}

/// A schema as it is, or the text of one.
bool takeSchema(const json &value, AnswerForm &form) {
  if (!value.is_object() && !value.is_boolean() && !value.is_string())
    return false;
  form = {AnswerForm::Kind::JsonSchema, value.is_string() ? value.get<std::string>() : "", {}};
  return true;
}

bool takeRegex(const json &value, AnswerForm &form) {
  form = {AnswerForm::Kind::Regex, "", {}};
  return take(value, form.text);
}

bool takeGrammar(const json &value, AnswerForm &form) {
  std::string text;
  const bool isText = take(value, text);
  form = AnswerForm::ofGrammar(std::move(text));
  return isText;
}

bool takeChoices(const json &value, AnswerForm &form) {
  form = {AnswerForm::Kind::Choice, "", {}};
  return takeList(value, form.choices);
}

using Reader = std::function<bool(const json &)>;

std::map<std::string, Reader> readersFor(Request &request) {
  SamplingParameters &sampling = request.sampling;
  auto into = [](auto &field) {
    return [&field](const json &value) { return take(value, field); };
  };
  auto list = [](auto &field) {
    return [&field](const json &value) { return takeList(value, field); };
  };
  return {
      {"prompt", into(request.text)},
      {"prompt_ids", list(request.tokens)},
      {"add_special", into(request.addSpecial)},
      {"parse_special", into(request.parseSpecial)},
      {"skip_special", into(request.skipSpecial)},
      {"temperature", into(sampling.temperature)},
      {"top_k", into(sampling.topK)},
      {"top_p", into(sampling.topP)},
      {"min_p", into(sampling.minP)},
      {"typical_p", into(sampling.typicalP)},
      {"repetition_penalty", into(sampling.repetitionPenalty)},
      {"presence_penalty", into(sampling.presencePenalty)},
      {"frequency_penalty", into(sampling.frequencyPenalty)},
      {"no_repeat_ngram_size", into(sampling.noRepeatNgramSize)},
      {"seed", into(sampling.seed)},
      {"logprobs", into(sampling.logprobs)},
      {"prompt_logprobs", into(sampling.promptLogprobs)},
      {"max_tokens", into(sampling.maxTokens)},
      {"min_tokens", into(sampling.minTokens)},
      {"ignore_eos", into(sampling.ignoreEos)},
      {"include_stop", into(sampling.includeStop)},
      {"allowed_tokens", list(sampling.allowed)},
      {"stop_tokens", list(sampling.stopTokens)},
      {"bad_words", [&](const json &value) { return takeBadWords(value, sampling); }},
      {"json_schema", [&](const json &value) { return takeSchema(value, request.form); }},
      {"regex", [&](const json &value) { return takeRegex(value, request.form); }},
      {"grammar", [&](const json &value) { return takeGrammar(value, request.form); }},
      {"choice", [&](const json &value) { return takeChoices(value, request.form); }},
      {"logit_bias", [&](const json &value) { return takeBias(value, sampling.bias); }},
      {"stop", [&](const json &value) { return takeStop(value, sampling.stopStrings); }},
  };
}

} // namespace

Status readRequest(const std::string &line, Request &request, json &id,
                   std::vector<std::string> &images) {
  auto refuse = [](const std::string &what) {
    return Status::error("INGOT-E6018", what,
                         "write one JSON object per line, with the names of the options");
  };
  bool isDeep = false;
  auto notDeeper = [&](int depth, json::parse_event_t, json &) {
    isDeep |= depth > deepest;
    return !isDeep;
  };
  json object = json::parse(line, notDeeper, false);
  if (isDeep)
    return refuse("the line has more than " + std::to_string(deepest) + " levels of lists");
  if (!object.is_object())
    return refuse("the line is not a JSON object");
  std::map<std::string, Reader> readers = readersFor(request);
  readers["images"] = [&](const json &value) { return takeList(value, images); };
  for (const auto &[key, value] : object.items()) {
    if (key == "id") {
      id = value;
      continue;
    }
    auto reader = readers.find(key);
    if (reader == readers.end()) {
      std::vector<std::string> known;
      for (const auto &[name, read] : readers)
        known.push_back(name);
      return refuse("unknown key '" + key + "'" + didYouMean(key, known));
    }
    if (!reader->second(value))
      return refuse("key '" + key + "' has a value of the wrong type or size");
  }
  if (object.contains("prompt") == object.contains("prompt_ids"))
    return refuse("give either 'prompt' or 'prompt_ids'");
  if (object.count("json_schema") + object.count("regex") + object.count("grammar") +
          object.count("choice") >
      1)
    return refuse("give one of 'json_schema', 'regex', 'grammar' and 'choice'");
  // The order of members is that of answers.
  if (object.contains("json_schema") && !object["json_schema"].is_string())
    request.form.text = nlohmann::ordered_json::parse(line)["json_schema"].dump();
  return {};
}

const char *nameOf(FinishReason reason) {
  switch (reason) {
  case FinishReason::None:
    break;
  case FinishReason::EndToken:
    return "end_token";
  case FinishReason::StopString:
    return "stop_string";
  case FinishReason::Length:
    return "length";
  case FinishReason::Context:
    return "context";
  case FinishReason::Cancelled:
    return "cancelled";
  case FinishReason::Failed:
    return "failed";
  case FinishReason::Deadline:
    return "deadline";
  }
  return "none";
}

std::string textOf(const json &value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace ingot::runtime
