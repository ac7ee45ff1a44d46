// SPDX-License-Identifier: Apache-2.0
// encoder-bench ENGINE THREADS: how long an engine takes to encode pictures. For each line of
// input, `WIDTH HEIGHT`, it prints a JSON object: patches, tokens, `seconds` on the clock and
// `cpu_seconds` of all threads of one encoding. `WIDTH HEIGHT parts` adds `parts`, the CPU seconds
// of each kind of instruction, run one by one.
#include "runtime/engine/Executor.h"
#include "runtime/schema/Names.h"
#include "runtime/serving/Session.h"
#include "runtime/serving/pictures/EncodeProgram.h"
#include "runtime/serving/pictures/PictureReader.h"

#include <chrono>
#include <ctime>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace ingot::runtime;
namespace schema = ingot::schema;

namespace {

double cpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) / 1e9;
}

/// A picture of such a size, as it is after decoding, of pixels made up.
Result<std::shared_ptr<const PromptPicture>> pictureOf(uint32_t width, uint32_t height,
                                                       const images::ImageSettings &settings) {
  Result<images::PictureLayout> layout = images::layOut(width, height, settings);
  if (!layout.ok())
    return std::move(layout).status();
  auto picture = std::make_shared<PromptPicture>();
  picture->layout = std::move(*layout);
  uint32_t state = 1;
  for (const images::Tile &tile : picture->layout.tiles) {
    images::Pixels pixels{tile.columns * settings.patch, tile.rows * settings.patch, {}};
    pixels.rgb.resize(size_t(pixels.width) * pixels.height * 3);
    for (uint8_t &value : pixels.rgb)
      value = uint8_t((state = state * 1664525 + 1013904223) >> 24);
    picture->tiles.push_back(std::move(pixels));
  }
  return std::shared_ptr<const PromptPicture>(std::move(picture));
}

/// "matmul fc1" of "matmul model.vision.blocks.3.mlp.fc1".
std::string kindOf(const std::string &name) {
  const size_t space = name.find(' '), dot = name.rfind('.');
  return space == std::string::npos || dot == std::string::npos || dot < space
             ? name
             : name.substr(0, space + 1) + name.substr(dot + 1);
}

nlohmann::json partsOf(Executor &executor) {
  std::map<std::string, double> seconds;
  const uint32_t program = *executor.findProgram(schema::program::encode);
  const auto *instructions = executor.target().programs()->Get(program)->instructions();
  for (uint32_t i = 0; i < instructions->size(); ++i) {
    const double start = cpuSeconds();
    executor.runPart(program, i, 1);
    seconds[kindOf(instructions->Get(i)->name()->str())] += cpuSeconds() - start;
  }
  return seconds;
}

Status measure(const std::string &path, int64_t threads) {
  Result<std::shared_ptr<const EngineFile>> file = EngineFile::open(path, VerifyOptions{});
  if (!file.ok())
    return std::move(file).status();
  SessionOptions options;
  options.device.threads = threads;
  options.memory.maxSequences = 1;
  Result<std::unique_ptr<Executor>> executor = Session::load(*file, options);
  if (!executor.ok())
    return std::move(executor).status();
  const schema::Images *images = (*file)->metadata().images();
  if (!images)
    return noPictures();
  Result<EncodeProgram> encode = EncodeProgram::bind(**executor, *images);
  if (!encode.ok())
    return std::move(encode).status();
  const images::ImageSettings settings = imageSettings(*images);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    uint32_t width = 0, height = 0;
    std::string parts;
    words >> width >> height >> parts;
    auto picture = pictureOf(width, height, settings);
    if (!picture.ok())
      return std::move(picture).status();
    if (Status status = encode->fits(**picture); !status.ok())
      return status;
    const double cpu = cpuSeconds();
    const auto start = std::chrono::steady_clock::now();
    auto rows = encode->run({&*picture, 1});
    if (!rows.ok())
      return std::move(rows).status();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    nlohmann::json result = {{"patches", (*picture)->layout.patches()},
                             {"tokens", (*picture)->layout.tokens()},
                             {"tiles", (*picture)->layout.tiles.size()},
                             {"seconds", wall.count()},
                             {"cpu_seconds", cpuSeconds() - cpu}};
    if (!parts.empty())
      result["parts"] = partsOf(**executor);
    std::cout << result.dump() << std::endl;
  }
  return {};
}

} // namespace

int main(int count, char **arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: encoder-bench ENGINE THREADS, and lines `WIDTH HEIGHT [parts]`\n");
    return 1;
  }
  const Status status = measure(arguments[1], std::strtol(arguments[2], nullptr, 10));
  if (!status.ok())
    std::fprintf(stderr, "encoder-bench: %s\n", status.toString().c_str());
  return status.ok() ? 0 : 1;
}
