// SPDX-License-Identifier: Apache-2.0
// `template`: the prompt that a conversation becomes.
#include "runtime/chat/ChatTemplates.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/tools/CommandLine.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/SessionArguments.h"

#include <cstdio>

namespace ingot::runtime {

using Json = nlohmann::ordered_json;

namespace {

constexpr uint64_t maxFileBytes = uint64_t(64) << 20;

struct TemplateArguments {
  std::string engine;
  std::string messages;
  std::string file; ///< a template that takes the place of the engine's
  std::string name;
  std::vector<std::string> settings;
};

Result<std::string> readInput(const std::string &path) {
  return readTextFile(path == "-" ? "/dev/stdin" : path, maxFileBytes);
}

/// Puts NAME=VALUE into the body: into the field of that name, or else among the variables.
Status applySetting(const std::string &setting, Json &body, RenderSettings &settings) {
  const size_t equals = setting.find('=');
  if (equals == 0 || equals == setting.npos)
    return Status::error("INGOT-E6075", "--set " + setting + " has no name or no '='",
                         "write --set NAME=VALUE");
  const std::string name = setting.substr(0, equals), text = setting.substr(equals + 1);
  if (name == "now") {
    Result<std::tm> time = parseTime(text);
    if (!time.ok())
      return time.status();
    settings.now = *time;
    return Status::success();
  }
  const Result<Json> parsed = Conversation::parse(text);
  const Json value = parsed.ok() ? *parsed : Json(text);
  for (const char *field : {"messages", "tools", "documents", "add_generation_prompt",
                            "continue_final_message", "reasoning_effort"})
    if (name == field) {
      body[name] = value;
      return Status::success();
    }
  Json &variables = body["chat_template_kwargs"];
  if (!variables.is_object())
    variables = Json::object();
  variables[name] = value;
  return Status::success();
}

Result<ChatTemplates> templatesOf(const TemplateArguments &arguments, const Tokenizer &tokenizer) {
  if (arguments.file.empty())
    return ChatTemplates::of(tokenizer);
  const Result<std::string> text = readInput(arguments.file);
  if (!text.ok())
    return text.status();
  return ChatTemplates::of(tokenizer, arguments.file, *text);
}

Status printPrompt(const TemplateArguments &arguments) {
  const Result<std::shared_ptr<const EngineFile>> file = EngineFile::open(arguments.engine);
  if (!file.ok())
    return file.status();
  const auto section = (*file)->sectionOfKind(schema::SectionKind::Tokenizer);
  if (section.empty())
    return Status::error("INGOT-E6008", "the engine has no tokenizer",
                         "build it from a checkpoint with one");
  const Result<Tokenizer> tokenizer = Tokenizer::load(std::as_bytes(section));
  if (!tokenizer.ok())
    return tokenizer.status();
  const Result<ChatTemplates> templates = templatesOf(arguments, *tokenizer);
  if (!templates.ok())
    return templates.status();
  const Result<std::string> text = readInput(arguments.messages);
  if (!text.ok())
    return text.status();
  Result<Json> body = Conversation::parse(*text);
  if (!body.ok())
    return std::move(body).status().in(arguments.messages);
  if (body->is_array()) // the messages alone
    *body = Json{{"messages", *body}};
  RenderSettings settings;
  for (const std::string &setting : arguments.settings)
    if (Status status = applySetting(setting, *body, settings); !status.ok())
      return status;
  const Result<RenderedPrompt> prompt = templates->render(*body, settings, arguments.name);
  if (!prompt.ok())
    return prompt.status();
  std::fwrite(prompt->text.data(), 1, prompt->text.size(), stdout);
  return flushOutput();
}

} // namespace

int runTemplate(int argc, char **argv) {
  CommandLine app(
      "Prints the prompt that a conversation becomes, by the engine's chat template or another. "
      "Nothing is added to it, not even a line's end.",
      argv[0],
      "examples:\n"
      "  {} model.ingot --messages request.json\n"
      "  {} model.ingot --messages - --template chat_template.jinja < request.json\n"
      "  {} model.ingot --messages request.json --set enable_thinking=false \\\n"
      "      --set add_generation_prompt=false --set now='2024-07-26 12:34:56'");
  TemplateArguments arguments;
  app.addOption("engine", arguments.engine, "engine file").required();
  app.addOption("--messages", arguments.messages,
                "the body of a chat request, or its list of messages, as JSON; -: standard input")
      .required()
      .file(FileUse::Reads);
  app.addOption("--template", arguments.file, "a template in place of the engine's")
      .file(FileUse::Reads);
  app.addOption("--name", arguments.name,
                "which of the engine's templates; default: tool_use where tools are given and it "
                "exists, else default");
  app.addOption("--set", arguments.settings,
                "NAME=VALUE: a field of the request or a variable of the template, as JSON or else "
                "as text; now=TIME: what strftime_now tells; may be repeated")
      .oneValueEach();
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  const Status status = printPrompt(arguments);
  return status.ok() ? 0 : reportError(status);
}

} // namespace ingot::runtime
