// SPDX-License-Identifier: Apache-2.0
// TemplateTraits: what a chat template takes, learnt by rendering small conversations.
#include "runtime/chat/TemplateTraits.h"

#include "runtime/chat/TemplateTrial.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

using Json = nlohmann::ordered_json;
using Trial = TemplateTrial;

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

size_t count(std::string_view text, std::string_view part) {
  size_t times = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
    ++times;
  return times;
}

/// Learns the traits one after another: what is known by then makes the next conversations.
class Learner {
public:
  Learner(const ChatTemplate &chatTemplate, const Json &variables)
      : chatTemplate(chatTemplate), variables(variables), trial(chatTemplate, variables) {}

  TemplateTraits learn() {
    const AnswerFamilies families = chooseFamilies(chatTemplate.source());
    traits.tools = families.tools;
    traits.thoughtsEnd = families.reasoning->reasoningClose;
    const bool namesTools = chatTemplate.mentions("tools");
    const Json question = Json::array({Trial::message("user", "1")});
    traits.needsToolList = namesTools && trial.prompt(question).empty() &&
                           !trial.prompt(question, Json::array()).empty();
    if (traits.needsToolList)
      tools = Json::array();
    traits.user =
        formsOf([](const Json &content) { return Json::array({Trial::message("user", content)}); });
    traits.system = traits.assistant = traits.tool = traits.user;
    traits.knowsTools = namesTools && (trial.lists(Json::array({user()}), Trial::tools()) ||
                                       trial.prompt(question, Trial::tools()).empty());
    // A template that asks for more than a question is taken at its word.
    if (!says(Json::array({user()})))
      return traits;
    learnRoles();
    learnEfforts();
    if (trial.lists(Json::array({user()}), Trial::tools()))
      tools = Trial::tools();
    learnCalls();
    return traits;
  }

private:
  static Json say(const char *role, const ContentForms &forms) {
    return Trial::message(role, forms.text ? Json("1") : Trial::parts());
  }
  static Json say(Json message, const ContentForms &forms) {
    if (!forms.text)
      message["content"] = Trial::parts();
    return message;
  }
  Json user() const { return say("user", traits.user); }
  Json assistant() const { return say("assistant", traits.assistant); }
  Json system() const { return say("system", traits.system); }
  Json developer() const { return say("developer", traits.system); }

  bool says(const Json &messages) const { return trial.says(messages, tools); }

  /// The forms of the content that `conversation` puts into a message; the user's where it renders
  /// with neither.
  template <class Make> ContentForms formsOf(const Make &conversation) const {
    ContentForms forms = {says(conversation("1")), says(conversation(Trial::parts()))};
    Json pictured = Trial::parts();
    pictured.insert(pictured.begin(), Json{{"type", "image"}});
    forms.images = forms.parts && says(conversation(pictured)) &&
                   trial.prompt(conversation(pictured), tools) !=
                       trial.prompt(conversation(Trial::parts()), tools);
    return forms.text || forms.parts ? forms : traits.user;
  }

  void learnRoles() {
    traits.system = formsOf([&](const Json &content) {
      return Json::array({Trial::message("system", content), user()});
    });
    traits.assistant = formsOf([&](const Json &content) {
      return Json::array({user(), Trial::message("assistant", content), user()});
    });
    traits.takesRepeats = says(Json::array({user(), user()})) &&
                          says(Json::array({user(), assistant(), assistant(), user()}));
    traits.knowsSystem = says(Json::array({system(), user()}));
    traits.knowsDeveloper =
        has(chatTemplate.source(), "developer") && says(Json::array({developer(), user()}));
    traits.takesMoreSystem = says(Json::array({system(), system(), user()}));
    traits.takesLateSystem = says(Json::array({system(), user(), assistant(), system(), user()}));
    if (!traits.knowsDeveloper)
      return;
    traits.takesMoreSystem = traits.takesMoreSystem &&
                             says(Json::array({system(), developer(), user()})) &&
                             says(Json::array({developer(), system(), user()}));
    traits.takesLateSystem =
        traits.takesLateSystem &&
        says(Json::array({system(), user(), assistant(), developer(), user()}));
  }

  void learnEfforts() {
    traits.knowsSwitch = chatTemplate.mentions("enable_thinking");
    traits.knowsEffort = chatTemplate.mentions("reasoning_effort");
    if (!traits.knowsEffort)
      return;
    for (size_t i = 0; i < effortScale.size(); ++i) {
      Json told = variables;
      told["reasoning_effort"] = effortScale[i];
      traits.refusesEffort[i] = !Trial(chatTemplate, told).says(Json::array({user()}), tools);
    }
  }

  /// A question, a call, and its result.
  Json around(const Json &said) const {
    return Json::array({user(), said, say(Trial::result(0, "1"), traits.tool)});
  }

  /// The same with an answer and another question, at which thoughts are dropped.
  Json answered(const Json &said) const {
    Json messages = around(said);
    messages.push_back(assistant());
    messages.push_back(user());
    return messages;
  }

  /// Finds the content and the arguments with which the template says a call.
  bool findCall() {
    const Json object = {{"argument", "1"}};
    for (const Json &content : {Json(""), Json(), Json(Json::value_t::discarded)})
      for (const Json &given : {object, Json(object.dump())}) {
        call = Trial::calls({given});
        call["content"] = content;
        if (content.is_discarded())
          call.erase("content");
        if (!trial.saysCall(Json::array({user(), call, Trial::result(0, "1")}), tools))
          continue;
        traits.wantsObjects = given.is_object();
        traits.takesEmpty = content.is_string();
        return true;
      }
    return false;
  }

  void learnCalls() {
    traits.knowsThinking =
        has(chatTemplate.source(), ".thinking") && !has(chatTemplate.source(), "reasoning_content");
    traits.knowsToolCalls = findCall();
    traits.tool.images = false;
    if (!traits.knowsToolCalls) {
      traits.knowsResults =
          says(Json::array({user(), assistant(), say(Trial::result(0, "1"), traits.tool), user()}));
      return;
    }
    traits.tool = formsOf([&](const Json &content) {
      return Json::array({user(), call, Trial::result(0, content)});
    });
    Json changed = call;
    changed["tool_calls"][0]["function"]["arguments"] = "no JSON";
    traits.takesAnyArguments = says(around(changed));
    Json strange = around(call);
    strange[1]["tool_calls"][0]["id"] = strange[2]["tool_call_id"] = "call_0123456789";
    traits.takesAnyId = says(strange);
    changed = call;
    changed["tool_calls"] = Trial::calls({arguments(), arguments()})["tool_calls"];
    traits.takesParallelCalls =
        says(Json::array({user(), changed, say(Trial::result(0, "1"), traits.tool),
                          say(Trial::result(1, "2"), traits.tool), assistant(), user()}));
    changed = call;
    changed["content"] = assistant()["content"];
    traits.takesTextWithCalls = says(answered(changed));
    Json thought = changed;
    thought["thinking"] = "1";
    traits.takesThinkingWithText = traits.knowsThinking && says(around(thought));
    Json apart = answered(call);
    apart.insert(apart.begin() + 1, assistant());
    traits.takesTextBeforeCalls = says(apart);
    changed["content"] = nullptr;
    traits.takesNull = isTaken(changed);
    changed.erase("content");
    traits.takesAbsent = isTaken(changed);
  }

  const Json &arguments() const { return call["tool_calls"][0]["function"]["arguments"]; }

  /// Whether a call without content is said, and its absence neither as Python nor as JSON has it.
  bool isTaken(const Json &without) const {
    const std::string prompt = trial.prompt(around(without), tools);
    const std::string known = trial.prompt(around(call), tools);
    return says(around(without)) && count(prompt, "None") <= count(known, "None") &&
           count(prompt, "null") <= count(known, "null");
  }

  const ChatTemplate &chatTemplate;
  const Json &variables;
  const Trial trial;
  TemplateTraits traits;
  Json tools; ///< that the conversations are given
  Json call;  ///< a message with one that the template says
};

} // namespace

TemplateTraits traitsOf(const ChatTemplate &chatTemplate, const Json &variables) {
  return Learner(chatTemplate, variables).learn();
}

} // namespace ingot::runtime
