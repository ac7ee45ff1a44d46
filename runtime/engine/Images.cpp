// SPDX-License-Identifier: Apache-2.0
// Sizes of pictures are hostile until they are checked: what lays pictures out multiplies them.
#include "runtime/engine/Images.h"

#include "runtime/engine/MemoryPlan.h"
#include "runtime/engine/Verify.h"
#include "runtime/schema/Names.h"

#include <cmath>
#include <string>

namespace ingot::runtime {
namespace {

constexpr uint64_t maximumPixels = uint64_t(1) << 30;
constexpr uint32_t maximumSide = 1 << 15, maximumPatch = 1 << 10, maximumMerge = 64,
                   maximumTokens = 1 << 20, maximumAdded = 64, maximumText = 256;
constexpr uint32_t channels = 3;

Status malformed(const std::string &what) {
  return Status::error("INGOT-E5006", "images: " + what, "rebuild the engine");
}

/// `side` pixels that `unit` divides.
bool isMultiple(uint64_t side, uint64_t unit) {
  return side >= unit && side <= maximumSide && side % unit == 0;
}

/// Whether each channel has a finite number, which is above `least`.
bool hasChannels(const flatbuffers::Vector<float> *numbers, float least) {
  if (count(numbers) != channels)
    return false;
  for (float number : *numbers)
    if (!std::isfinite(number) || number <= least)
      return false;
  return true;
}

bool isKnown(const schema::Images &images) {
  return images.rule() <= schema::SizeRule::MAX && images.filter() <= schema::ResizeFilter::MAX &&
         images.order() <= schema::ValueOrder::MAX &&
         images.positions() <= schema::PositionRule::MAX;
}

/// Whether the rule makes pictures that rows of patches fill.
bool hasSizes(const schema::Images &images) {
  const uint64_t rows = uint64_t(images.patch()) * images.merge_rows(),
                 columns = uint64_t(images.patch()) * images.merge_columns();
  auto isFilled = [&](uint64_t height, uint64_t width) {
    return isMultiple(height, rows) && isMultiple(width, columns);
  };
  switch (images.rule()) {
  case schema::SizeRule::Smart:
    return isFilled(images.factor(), images.factor()) && images.frames() >= 1 &&
           images.frames() <= maximumMerge && images.min_pixels() <= images.max_pixels() &&
           images.max_pixels() <= maximumPixels &&
           images.max_pixels() >= uint64_t(images.factor()) * images.factor();
  case schema::SizeRule::Stretch:
    return isFilled(images.height(), images.width());
  case schema::SizeRule::Budget:
    return isFilled(images.factor(), images.factor()) && images.max_tokens() >= 1 &&
           images.max_tokens() <= maximumTokens;
  case schema::SizeRule::Tiles:
    return isFilled(images.tile(), images.tile()) && images.longest_edge() >= 1 &&
           images.longest_edge() <= maximumSide;
  }
  return false;
}

bool hasTexts(const schema::Images &images) {
  for (const flatbuffers::String *text :
       {images.placeholder(), images.token(), images.before(), images.after(), images.before_tile(),
        images.after_tile_row(), images.after_tiles()})
    if (text && text->size() > maximumText)
      return false;
  return images.placeholder() && images.placeholder()->size() > 0 && images.token() &&
         images.token()->size() > 0;
}

Status verifyTable(const schema::Images &images, const schema::Engine &engine) {
  if (!isKnown(images))
    return malformed("an unknown rule");
  if (images.patch() < 1 || images.patch() > maximumPatch || images.merge_rows() < 1 ||
      images.merge_rows() > maximumMerge || images.merge_columns() < 1 ||
      images.merge_columns() > maximumMerge)
    return malformed("impossible patches");
  if (!hasSizes(images))
    return malformed("impossible sizes of pictures");
  if (images.window() != 0 &&
      (!isMultiple(images.window(), uint64_t(images.patch()) * images.merge_rows()) ||
       !isMultiple(images.window(), uint64_t(images.patch()) * images.merge_columns())))
    return malformed("rows do not fill its windows");
  if (!hasChannels(images.mean(), -INFINITY) || !hasChannels(images.deviation(), 0))
    return malformed("mean and deviation of three channels are needed");
  if ((images.positions() != schema::PositionRule::None && images.position_side() < 1) ||
      images.position_side() > maximumSide)
    return malformed("an impossible table of positions");
  if (!hasTexts(images) || images.token_id() >= engine.serving()->vocabulary())
    return malformed("what stands in a prompt is missing, too long, or not in the vocabulary");
  if (images.step_token() < -1 || images.step_token() >= int64_t(engine.serving()->vocabulary()))
    return malformed("steps read a token in place of its own that is not in the vocabulary");
  if (images.added() > maximumAdded || (images.axes() != 1 && images.axes() != 3))
    return malformed("impossible further rows or positions");
  return {};
}

/// The buffer of `list` called `name`; null where there is none.
const schema::Buffer *findBuffer(const schema::Target &target,
                                 const flatbuffers::Vector<uint32_t> *list, std::string_view name) {
  for (uint32_t i = 0; i < count(list); ++i)
    if (const schema::Buffer *buffer = target.buffers()->Get(list->Get(i));
        buffer->name()->string_view() == name)
      return buffer;
  return nullptr;
}

const schema::Program *findProgram(const schema::Target &target, std::string_view name) {
  for (uint32_t i = 0; i < count(target.programs()); ++i)
    if (target.programs()->Get(i)->name()->string_view() == name)
      return target.programs()->Get(i);
  return nullptr;
}

/// What the host writes or reads of a program at the largest run must fit its buffers.
class ProgramCheck {
public:
  ProgramCheck(const schema::Engine &engine, const schema::Target &target,
               const schema::Program &program)
      : engine(engine), target(target), program(program) {}

  /// Whether there is such an input, for `rows` at most and `columns` of each.
  bool input(std::string_view name, schema::DType type, uint64_t elements) const {
    return holds(findBuffer(target, program.inputs(), name), type, elements);
  }
  bool output(std::string_view name, uint64_t elements) const {
    return holds(findBuffer(target, program.outputs(), name), schema::DType::F32, elements);
  }
  bool has(std::string_view name) const {
    return findBuffer(target, program.inputs(), name) != nullptr;
  }

private:
  bool holds(const schema::Buffer *buffer, schema::DType type, uint64_t elements) const {
    if (!buffer || buffer->dtype() != type || !isInArena(buffer->role()))
      return false;
    auto bytes = boundExpression(*buffer->bytes(), declaredRanges(engine));
    return bytes.ok() && uint64_t(bytes->max) >= elements * 4;
  }

  const schema::Engine &engine;
  const schema::Target &target;
  const schema::Program &program;
};

/// Columns of a matrix that an input or output is; 0 where it is none.
uint64_t columnsOf(const schema::Engine &engine, const schema::Buffer *buffer) {
  if (!buffer || count(buffer->shape()) != 2)
    return 0;
  auto columns = boundExpression(*buffer->shape()->Get(1), declaredRanges(engine));
  return columns.ok() && columns->min == columns->max ? uint64_t(columns->max) : 0;
}

Status verifyPrograms(const schema::Images &images, const schema::Engine &engine,
                      const schema::Target &target) {
  using schema::DType;
  namespace input = schema::input;
  const schema::Program *encode = findProgram(target, schema::program::encode),
                        *step = findProgram(target, schema::program::step);
  const int64_t rowDim = findDim(engine, schema::dim::imageRows),
                pictureDim = findDim(engine, schema::dim::images),
                givenDim = findDim(engine, schema::dim::givenRows),
                tokenDim = findDim(engine, schema::dim::tokens);
  if (!encode || !step || rowDim < 0 || pictureDim < 0 || givenDim < 0 || tokenDim < 0)
    return malformed("target '" + target.name()->str() + "' cannot take pictures");
  const std::vector<Interval> dims = declaredRanges(engine);
  const auto rows = uint64_t(dims[size_t(rowDim)].max),
             pictures = uint64_t(dims[size_t(pictureDim)].max),
             given = uint64_t(dims[size_t(givenDim)].max),
             tokens = uint64_t(dims[size_t(tokenDim)].max);
  const uint64_t patches = rows * images.merge_rows() * images.merge_columns(),
                 values = uint64_t(channels) * images.patch() * images.patch();
  const ProgramCheck encoding(engine, target, *encode), stepping(engine, target, *step);
  const uint64_t each[] = {0, 1, 4, 2};
  const uint64_t positions = each[size_t(images.positions())];
  const bool interpolates = images.positions() == schema::PositionRule::Interpolated;
  const bool encodes =
      encoding.input(input::pixels, DType::F32, patches * values) &&
      encoding.input(input::patchSequences, DType::I32, patches) &&
      encoding.input(input::patchOffsets, DType::I32, pictures + 1) &&
      (positions == 0 || encoding.input(input::positionRows, DType::I32, patches * positions)) &&
      (!interpolates || encoding.input(input::positionWeights, DType::F32, patches * positions)) &&
      (!encoding.has(input::patchPlaces) ||
       encoding.input(input::patchPlaces, DType::I32, patches * 2)) &&
      (images.window() == 0 || encoding.input(input::windowSequences, DType::I32, patches));
  const uint64_t hidden = columnsOf(engine, findBuffer(target, step->inputs(), input::imageRows));
  bool steps = hidden > 0 && stepping.input(input::imagePlaces, DType::I32, tokens) &&
               (images.axes() == 1 ||
                stepping.input(input::rotaryPositions, DType::I32, tokens * images.axes())) &&
               (!images.sees_ahead() || stepping.input(input::reaches, DType::I32, tokens));
  for (uint32_t i = 0; i <= images.added(); ++i) {
    const std::string number = i == 0 ? "" : "." + std::to_string(i);
    steps = steps && stepping.input(input::imageRows + number, DType::F32, given * hidden) &&
            encoding.output(schema::output::encodedRows + number, rows * hidden);
  }
  if (!encodes || !steps)
    return malformed("target '" + target.name()->str() +
                     "' has no input or output of pictures, or one of another type or size");
  return {};
}

} // namespace

Status verifyImages(const schema::Engine &engine) {
  const schema::Images *images = engine.images();
  if (!images)
    return {};
  if (Status status = verifyTable(*images, engine); !status.ok())
    return status;
  for (const schema::Target *target : *engine.targets())
    if (Status status = verifyPrograms(*images, engine, *target); !status.ok())
      return status;
  return {};
}

} // namespace ingot::runtime
