// SPDX-License-Identifier: Apache-2.0
// ingot-pull: fetches a model by its name, and prints where it is. `ingot pull` is this program.
#include "compiler/build/Progress.h"
#include "compiler/hub/Pull.h"
#include "compiler/hub/Selection.h"
#include "runtime/tools/CommandLine.h"
#include "runtime/tools/Program.h"

#include <cstdio>

using namespace ingot;

static constexpr char kDetails[] =
    "Read as other programs of the Hub do, unless an option says otherwise: HF_ENDPOINT, HF_HOME,\n"
    "HF_TOKEN (or the file token of HF_HOME), HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE.\n";

static constexpr char kExamples[] = "examples:\n"
                                    "  ingot pull HuggingFaceTB/SmolLM2-135M-Instruct\n"
                                    "  ingot pull unsloth/Qwen3-0.6B-GGUF:Q4_K_M\n"
                                    "  ingot pull my-team/my-model@v1.2 --cache-dir /data/hub\n";

static int failed(compiler::Progress &progress, const checkpoint::Error &error) {
  progress.failed(error.str());
  return 1;
}

static int run(int argc, char **argv) {
  runtime::CommandLine app("Fetches a model of a Hub by its name into the folder that programs of "
                           "the Hub share, and\nprints where it is.",
                           "ingot pull", kExamples);
  app.setDetails(kDetails);
  std::string text;
  hub::HubSettings::Asked asked;
  hub::PullOptions options;
  bool isQuiet = false;
  options.memory = hub::memoryOfMachine();
  app.addOption(
         "NAME", text,
         "ORG/REPO[@REVISION][:FILE], where FILE may be a quantization such as Q4_K_M; or the "
         "address of the Hub's page of the model or file")
      .required();
  app.addFlag("--offline", options.isOffline, "ask no server: take what is there");
  app.addFlag("--if-missing", options.isKeptEnough,
              "ask only where the model is not there; otherwise newer files are fetched");
  app.addOption("--memory", options.memory,
                "what a GGUF file must fit in where there are several, such as 16GiB (default: "
                "this machine's)")
      .bytes();
  app.addOption("--cache-dir", asked.cacheFolder,
                "the shared folder (default: hub in $HF_HOME or in ~/.cache/huggingface)");
  app.addOption("--endpoint", asked.endpoint, "address of the Hub (default: $HF_ENDPOINT)");
  app.addOption("--token-file", asked.tokenFile,
                "file with the token of the Hub (default: $HF_TOKEN, or token in $HF_HOME)");
  app.addOption("--retries", options.retries, "tries after a lost connection, without progress")
      .between(0, 100)
      .showDefault();
  app.addFlag("--quiet", isQuiet, "no progress");
  int status = 0;
  if (!runtime::parseArguments(app, argc, argv, status))
    return status;
  compiler::Progress progress(isQuiet ? compiler::ProgressStyle::Silent
                                      : compiler::Progress::styleOfTerminal());
  auto settings = hub::HubSettings::read(asked);
  if (!settings)
    return failed(progress, settings.error());
  auto name = hub::ModelName::parse(text, settings->endpoint);
  if (!name)
    return failed(progress, name.error());
  auto path = hub::pull(*name, *settings, options, progress);
  if (!path)
    return failed(progress, path.error());
  printf("%s\n", path->c_str());
  return 0;
}

int main(int argc, char **argv) { return runtime::runProgram(argc, argv, run); }
