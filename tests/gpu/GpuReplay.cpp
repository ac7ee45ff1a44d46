// SPDX-License-Identifier: Apache-2.0
// gpu-replay: runs the launches of a record on this machine's GPU, or on a simulated one.
#include "runtime/core/MappedFile.h"
#include "runtime/devices/cuda/CudaDevice.h"
#include "tests/gpu/ReplayReport.h"

#include <CLI/CLI.hpp>

using namespace ingot;

namespace {

struct Options {
  std::string file, json;
  runtime::CudaOptions device;
};

int fail(const runtime::Status &status) {
  std::fprintf(stderr, "gpu-replay: %s\n", status.toString().c_str());
  return 1;
}

bool writeText(const std::string &path, const std::string &text) {
  std::FILE *file = std::fopen(path.c_str(), "w");
  if (!file)
    return false;
  bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written;
}

int run(const Options &options) {
  auto mapped = runtime::MappedFile::open(options.file);
  if (!mapped.ok())
    return fail(mapped.status());
  auto record = record::unpackRecord(mapped->bytes());
  if (!record.ok())
    return fail(std::move(record).status().in(options.file));
  std::string description;
  auto open = [&]() -> runtime::Result<std::unique_ptr<runtime::Device>> {
    runtime::CudaOptions wanted = options.device;
    if (!wanted.simulate.empty())
      wanted.simulatedSms = (*record)->multiprocessors;
    auto opened = runtime::CudaDevice::open(wanted);
    if (!opened.ok())
      return std::move(opened).status();
    description =
        (*opened)->description() + ", driver " + std::to_string((*opened)->driverVersion());
    return std::unique_ptr<runtime::Device>(std::move(*opened));
  };
  auto outcomes = record::replay(**record, open);
  if (!outcomes.ok())
    return fail(outcomes.status());
  std::printf("%s, recorded for %u multiprocessors\n", description.c_str(),
              (*record)->multiprocessors);
  record::printReport(stdout, **record, *outcomes);
  std::printf("%zu lines about what was not recorded are in the JSON report\n",
              (*record)->left_out.size());
  if (!options.json.empty() &&
      !writeText(options.json, record::jsonReport(**record, *outcomes, description)))
    return fail(runtime::Status::error("INGOT-E7102", "cannot write " + options.json));
  return record::total(*outcomes).failed ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Runs the launches of a record made by `conformance --record` and compares what "
               "they leave with what the simulator left. The exit status is 1 if any failed.");
  app.add_option("record", options.file, "the record")->required();
  app.add_option("--simulate", options.device.simulate,
                 "architecture to simulate instead of using a GPU");
  app.add_option("--device", options.device.ordinal, "ordinal of the GPU")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--json", options.json, "file for the report as JSON");
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
