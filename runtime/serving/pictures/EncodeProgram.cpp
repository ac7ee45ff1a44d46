// SPDX-License-Identifier: Apache-2.0
// The order of patches is the encoder's, of rows the prompt's.
#include "runtime/serving/pictures/EncodeProgram.h"

#include "runtime/engine/Verify.h"
#include "runtime/schema/Names.h"
#include "runtime/serving/pictures/PictureReader.h"

#include <algorithm>
#include <cstring>

namespace ingot::runtime {

namespace {

Status incomplete(const std::string &what) {
  return Status::error("INGOT-E5022", "the engine cannot encode pictures: " + what,
                       "rebuild the engine");
}

/// The largest size of a dim of a program that is planned for; 0 where it has none of that name.
int64_t largest(const Executor &executor, const schema::Program &program, std::string_view name) {
  const schema::Engine &engine = executor.file().metadata();
  for (uint32_t i = 0; i < count(program.dims()); ++i)
    if (const schema::Dim &dim = *engine.dims()->Get(program.dims()->Get(i));
        dim.name()->string_view() == name)
      return dim.max();
  return 0;
}

} // namespace

Result<EncodeProgram> EncodeProgram::bind(Executor &executor, const schema::Images &images) {
  EncodeProgram encode;
  encode.executor = &executor;
  encode.settings = imageSettings(images);
  encode.values = images::normalisedValues(encode.settings);
  std::optional<uint32_t> program = executor.findProgram(schema::program::encode);
  if (!program)
    return incomplete("it has no program 'encode'");
  encode.program = *program;
  const schema::Program &description = *executor.target().programs()->Get(*program);
  encode.mostRows = largest(executor, description, schema::dim::imageRows);
  encode.mostTiles = largest(executor, description, schema::dim::images);
  encode.mostWindows = largest(executor, description, schema::dim::windows);
  const auto &buffers = *executor.target().buffers();
  const std::pair<const char *, std::optional<Input> *> inputs[] = {
      {schema::input::pixels, &encode.pixels},
      {schema::input::patchSequences, &encode.patchSequences},
      {schema::input::patchOffsets, &encode.patchOffsets},
      {schema::input::windowSequences, &encode.windowSequences},
      {schema::input::windowOffsets, &encode.windowOffsets},
      {schema::input::patchPlaces, &encode.patchPlaces},
      {schema::input::positionRows, &encode.positionRows},
      {schema::input::positionWeights, &encode.positionWeights}};
  for (uint32_t i = 0; i < count(description.inputs()); ++i) {
    uint32_t index = description.inputs()->Get(i);
    const schema::Buffer &buffer = *buffers.Get(index);
    if (buffer.role() != schema::Role::Input)
      continue;
    auto known = std::find_if(std::begin(inputs), std::end(inputs), [&](const auto &input) {
      return buffer.name()->string_view() == input.first;
    });
    if (known == std::end(inputs))
      return Status::error("INGOT-E5011",
                           "this runtime cannot fill the input '" + buffer.name()->str() + "'",
                           "use the runtime of the release that built the engine");
    *known->second = Input{index, {}};
  }
  for (uint32_t added = 0; added <= images.added(); ++added) {
    std::string name = schema::output::encodedRows;
    if (added > 0)
      name += "." + std::to_string(added);
    for (uint32_t i = 0; i < count(description.outputs()); ++i)
      if (uint32_t index = description.outputs()->Get(i);
          buffers.Get(index)->name()->string_view() == name)
        encode.outputs.push_back(index);
    if (encode.outputs.size() <= added)
      return incomplete("it has no output '" + name + "'");
  }
  encode.hidden = executor.shapeOf(encode.outputs.front()).back();
  if (!encode.pixels || encode.mostRows < 1)
    return incomplete("its program 'encode' takes no pixels");
  return encode;
}

Status EncodeProgram::fits(const PromptPicture &picture) const {
  for (const images::Tile &tile : picture.layout.tiles)
    if (int64_t(tile.tokens()) > mostRows)
      return Status::error("INGOT-E6813",
                           "a picture has " + std::to_string(tile.tokens()) +
                               " tokens, and the engine encodes at most " +
                               std::to_string(mostRows) + " at once",
                           "give a smaller picture, or build the engine with a larger "
                           "--max-image-rows");
  return {};
}

Result<std::vector<std::shared_ptr<const EncodedPicture>>>
EncodeProgram::run(std::span<const std::shared_ptr<const PromptPicture>> pictures) {
  std::vector<std::shared_ptr<EncodedPicture>> encoded;
  std::vector<Job> jobs;
  int64_t rows = 0, windows = 0;
  auto flush = [&]() -> Status {
    if (jobs.empty())
      return {};
    Status status = runTogether(jobs, encoded);
    jobs.clear();
    rows = windows = 0;
    return status;
  };
  for (size_t i = 0; i < pictures.size(); ++i) {
    const PromptPicture &picture = *pictures[i];
    encoded.push_back(std::make_shared<EncodedPicture>());
    encoded.back()->rows.resize(outputs.size());
    for (std::vector<float> &each : encoded.back()->rows)
      each.resize(size_t(picture.tokens()) * size_t(hidden));
    int64_t row = 0;
    for (size_t t = 0; t < picture.layout.tiles.size(); ++t) {
      const images::Tile &tile = picture.layout.tiles[t];
      Job job = {i, row, &tile, &picture.tiles[t], images::orderPatches(tile, settings)};
      auto count = int64_t(tile.tokens()), own = job.windows();
      if (rows + count > mostRows || int64_t(jobs.size()) == mostTiles ||
          (windowOffsets && windows + own > mostWindows))
        if (Status status = flush(); !status.ok())
          return status;
      jobs.push_back(std::move(job));
      rows += count;
      windows += own;
      row += count;
    }
  }
  if (Status status = flush(); !status.ok())
    return status;
  return std::vector<std::shared_ptr<const EncodedPicture>>(encoded.begin(), encoded.end());
}

/// Room for an input, if the encoder has it.
template <class T> T *EncodeProgram::room(std::optional<Input> &input, int64_t count) {
  if (!input)
    return nullptr;
  input->data.resize(size_t(count) * sizeof(T));
  return reinterpret_cast<T *>(input->data.data());
}

Status EncodeProgram::runTogether(std::span<const Job> jobs,
                                  std::span<const std::shared_ptr<EncodedPicture>> encoded) {
  int64_t rows = 0, patches = 0, windows = 0;
  for (const Job &job : jobs) {
    rows += int64_t(job.tile->tokens());
    patches += int64_t(job.tile->patches());
    windows += job.windows();
  }
  const int64_t each = jobs.front().order.positionsEach;
  auto *pixel = room<float>(pixels, patches * settings.patchValues());
  auto *sequence = room<int32_t>(patchSequences, patches);
  auto *offset = room<int32_t>(patchOffsets, int64_t(jobs.size()) + 1);
  auto *window = room<int32_t>(windowSequences, patches);
  auto *windowOffset = room<int32_t>(windowOffsets, windows + 1);
  auto *place = room<int32_t>(patchPlaces, patches * 2);
  auto *position = room<int32_t>(positionRows, patches * each);
  auto *weight = room<float>(positionWeights, patches * each);
  int64_t patch = 0, firstWindow = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Job &job = jobs[i];
    auto count = int64_t(job.tile->patches());
    images::writePatches(*job.pixels, job.order, settings, values,
                         pixel + patch * settings.patchValues());
    if (sequence)
      std::fill_n(sequence + patch, count, int32_t(i));
    if (offset)
      offset[i] = int32_t(patch);
    for (int64_t w = 0; window && windowOffset && w < job.windows(); ++w) {
      int64_t begin = job.order.windowOffsets[size_t(w)],
              end = job.order.windowOffsets[size_t(w) + 1];
      windowOffset[firstWindow + w] = int32_t(patch + begin);
      std::fill(window + patch + begin, window + patch + end, int32_t(firstWindow + w));
    }
    firstWindow += job.windows();
    for (int64_t p = 0; place && p < count; ++p) {
      place[(patch + p) * 2] = int32_t(job.order.places[size_t(p)].y);
      place[(patch + p) * 2 + 1] = int32_t(job.order.places[size_t(p)].x);
    }
    if (position)
      std::copy(job.order.positionRows.begin(), job.order.positionRows.end(),
                position + patch * each);
    if (weight)
      std::copy(job.order.positionWeights.begin(), job.order.positionWeights.end(),
                weight + patch * each);
    patch += count;
  }
  if (offset)
    offset[jobs.size()] = int32_t(patch);
  if (windowOffset)
    windowOffset[windows] = int32_t(patch);
  const DimSize shape[] = {{schema::dim::imageRows, rows},
                           {schema::dim::images, int64_t(jobs.size())},
                           {schema::dim::windows, std::max<int64_t>(windows, 1)}};
  if (Status status = executor->beginStep(shape); !status.ok())
    return status;
  for (std::optional<Input> *input :
       {&pixels, &patchSequences, &patchOffsets, &windowSequences, &windowOffsets, &patchPlaces,
        &positionRows, &positionWeights})
    if (*input)
      executor->write((*input)->buffer, (*input)->data.data(), (*input)->data.size());
  executor->run(program);
  std::vector<float> read(size_t(rows) * size_t(hidden));
  for (size_t output = 0; output < outputs.size(); ++output) {
    if (Status status = executor->read(outputs[output], read.data(), read.size() * sizeof(float));
        !status.ok())
      return status;
    const float *from = read.data();
    for (const Job &job : jobs) {
      float *to = encoded[job.picture]->rows[output].data() + job.row * hidden;
      for (size_t token = 0; token < job.order.rowOfToken.size(); ++token)
        std::copy_n(from + int64_t(job.order.rowOfToken[token]) * hidden, hidden,
                    to + int64_t(token) * hidden);
      from += int64_t(job.tile->tokens()) * hidden;
    }
  }
  return {};
}

} // namespace ingot::runtime
