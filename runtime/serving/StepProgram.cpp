// SPDX-License-Identifier: Apache-2.0
// The inputs of "step", known by name, and how each is made from a batch.
#include "runtime/serving/StepProgram.h"

#include "runtime/engine/Verify.h"
#include "runtime/schema/Names.h"

#include <algorithm>
#include <cstring>

namespace ingot::runtime {

namespace {

/// What one entry of a batch adds to an input.
struct EntryPlace {
  const BatchEntry &entry;
  int32_t row;   ///< of the entry in the batch
  int32_t token; ///< tokens of the entries before it
  const KvCache &cache;
  size_t group;     ///< of a block table
  int64_t width;    ///< of the input's rows
  int32_t imageRow; ///< rows of pictures for the entries before it
  size_t added;     ///< of rows of pictures: which

  const Sequence &sequence() const { return *entry.sequence; }
  int64_t first() const { return entry.sequence->computed; }
};

int64_t imageRowsOf(const BatchEntry &entry) {
  const Sequence &sequence = *entry.sequence;
  return sequence.pictures ? sequence.pictures->rowsIn(sequence.computed, entry.tokens) : 0;
}

/// Writes the elements of an entry, and is moved behind each.
template <class T> class Cursor {
public:
  explicit Cursor(std::byte *&out) : out(out) {}
  void operator()(T value) {
    std::memcpy(out, &value, sizeof value);
    out += sizeof value;
  }

private:
  std::byte *&out;
};

int64_t perToken(const MemoryPlan &plan) { return plan.maxTokens; }
int64_t perSequence(const MemoryPlan &plan) { return plan.maxSequences; }
int64_t perBoundary(const MemoryPlan &plan) { return plan.maxSequences + 1; }
int64_t perAxis(const MemoryPlan &plan) { return 3 * plan.maxTokens; }
int64_t perLogitRow(const MemoryPlan &plan) { return plan.maxLogitRows; }

void putTokens(const EntryPlace &place, std::byte *&out) {
  Cursor<int32_t> put(out);
  const SequencePictures *pictures = place.sequence().pictures.get();
  for (int64_t i = place.first(); i < place.first() + place.entry.tokens; ++i) {
    const int32_t id = place.sequence().tokens[size_t(i)];
    put(pictures ? pictures->tokenOfStep(i, id) : id);
  }
}

void putPositions(const EntryPlace &place, std::byte *&out) {
  Cursor<int32_t> put(out);
  for (int64_t i = 0; i < place.entry.tokens; ++i)
    put(int32_t(place.first() + i));
}

void putSequence(const EntryPlace &place, std::byte *&out) {
  Cursor<int32_t> put(out);
  for (int64_t i = 0; i < place.entry.tokens; ++i)
    put(place.row);
}

void putOffsets(const EntryPlace &place, std::byte *&out) {
  Cursor<int32_t> put(out);
  if (place.row == 0)
    put(0);
  put(place.token + int32_t(place.entry.tokens));
}

void putContext(const EntryPlace &place, std::byte *&out) {
  Cursor<int32_t> put(out);
  put(int32_t(place.first() + place.entry.tokens));
}

void putLogitRows(const EntryPlace &place, std::byte *&out) {
  Cursor<int32_t> put(out);
  for (int64_t i = place.entry.tokens - place.entry.logitRows; i < place.entry.tokens; ++i)
    put(place.token + int32_t(i));
}

void putBlocks(const EntryPlace &place, std::byte *&out) {
  // The buffer is aligned for it: all that stands before has the same type.
  place.cache.fillTableRow(place.group, place.sequence(), reinterpret_cast<int32_t *>(out));
  out += size_t(place.width) * sizeof(int32_t);
}

/// Of each token its row among those of the step's pictures, or -1.
void putImagePlaces(const EntryPlace &place, std::byte *&out) {
  Cursor<int32_t> put(out);
  const SequencePictures *pictures = place.sequence().pictures.get();
  int32_t row = place.imageRow;
  for (int64_t i = 0; i < place.entry.tokens; ++i)
    put(pictures && pictures->rowsIn(place.first() + i, 1) > 0 ? row++ : -1);
}

void putImageRows(const EntryPlace &place, std::byte *&out) {
  const Sequence &sequence = place.sequence();
  if (!sequence.pictures)
    return;
  const int64_t end = place.first() + place.entry.tokens;
  for (const PictureRun &run : sequence.pictures->runs()) {
    const int64_t from = std::max(run.begin, place.first()), to = std::min(run.end, end);
    if (from >= to)
      continue;
    const std::vector<float> &rows = sequence.encoded[run.picture]->rows[place.added];
    const auto bytes = size_t((to - from) * place.width) * sizeof(float);
    std::memcpy(out, rows.data() + (run.row + from - run.begin) * place.width, bytes);
    out += bytes;
  }
}

/// In time, height and width.
void putRotaryPositions(const EntryPlace &place, std::byte *&out) {
  Cursor<int32_t> put(out);
  const SequencePictures *pictures = place.sequence().pictures.get();
  for (int64_t i = 0; i < place.entry.tokens; ++i) {
    const auto index = int32_t(place.first() + i);
    for (int32_t axis : pictures ? pictures->axes(index) : std::array{index, index, index})
      put(axis);
  }
}

void putReaches(const EntryPlace &place, std::byte *&out) {
  Cursor<int32_t> put(out);
  const SequencePictures *pictures = place.sequence().pictures.get();
  for (int64_t i = 0; i < place.entry.tokens; ++i) {
    const int64_t index = place.first() + i;
    put(int32_t(pictures ? pictures->reach(index) : index));
  }
}

void putEmbeddings(const EntryPlace &place, std::byte *&out) {
  auto rows = place.sequence().embeddings.subspan(size_t(place.first() * place.width),
                                                  size_t(place.entry.tokens * place.width));
  std::memcpy(out, rows.data(), rows.size_bytes());
  out += rows.size_bytes();
}

} // namespace

struct StepInput {
  std::string_view name;
  schema::DType type;
  uint64_t elementBytes;
  int64_t (*rows)(const MemoryPlan &plan);               ///< of the largest step
  void (*put)(const EntryPlace &place, std::byte *&out); ///< the elements of one entry
};

static constexpr StepInput stepInputs[] = {
    {schema::input::tokens, schema::DType::I32, 4, perToken, putTokens},
    {schema::input::positions, schema::DType::I32, 4, perToken, putPositions},
    {schema::input::tokenSequences, schema::DType::I32, 4, perToken, putSequence},
    {schema::input::sequenceOffsets, schema::DType::I32, 4, perBoundary, putOffsets},
    {schema::input::contextLengths, schema::DType::I32, 4, perSequence, putContext},
    {schema::input::logitRows, schema::DType::I32, 4, perLogitRow, putLogitRows},
    {schema::input::blockTable, schema::DType::I32, 4, perSequence, putBlocks},
    {schema::input::embeddings, schema::DType::F32, 4, perToken, putEmbeddings},
    {schema::input::imageRows, schema::DType::F32, 4, perToken, putImageRows},
    {schema::input::imagePlaces, schema::DType::I32, 4, perToken, putImagePlaces},
    {schema::input::rotaryPositions, schema::DType::I32, 4, perAxis, putRotaryPositions},
    {schema::input::reaches, schema::DType::I32, 4, perToken, putReaches},
};
static constexpr const StepInput &tokenInput = stepInputs[0], &logitRowInput = stepInputs[5],
                                 &tableInput = stepInputs[6], &embeddingInput = stepInputs[7],
                                 &imageInput = stepInputs[8];

Result<StepProgram> StepProgram::bind(Executor &executor) {
  StepProgram step;
  step.executor = &executor;
  std::optional<uint32_t> program = executor.findProgram(schema::program::step);
  auto incomplete = [](const char *what) {
    return Status::error("INGOT-E5022", std::string("the engine cannot generate: ") + what,
                         "rebuild the engine");
  };
  if (!program)
    return incomplete("it has no program 'step'");
  step.program = *program;
  const schema::Target &target = executor.target();
  const schema::Program &description = *target.programs()->Get(*program);
  for (uint32_t i = 0; i < count(description.inputs()); ++i)
    if (Status status = step.bindInput(description.inputs()->Get(i)); !status.ok())
      return status;
  bool found = false;
  for (uint32_t i = 0; i < count(description.outputs()); ++i) {
    uint32_t index = description.outputs()->Get(i);
    const schema::Buffer &buffer = *target.buffers()->Get(index);
    if (buffer.name()->string_view() != schema::output::logits)
      continue;
    if (buffer.dtype() != schema::DType::F32 || count(buffer.shape()) != 2)
      return incomplete("its logits are not a matrix of f32");
    step.logitsBuffer = index;
    step.vocabularySize = executor.shapeOf(index)[1];
    found = true;
  }
  if (!found || step.vocabularySize <= 0)
    return incomplete("its program 'step' has no output 'logits'");
  return step;
}

Status StepProgram::bindInput(uint32_t index) {
  const MemoryPlan &plan = executor->plan();
  const schema::Buffer &buffer = *executor->target().buffers()->Get(index);
  // Weights, KV and state may be listed as inputs; they are not ours to fill.
  if (buffer.role() != schema::Role::Input)
    return {};
  std::string name = buffer.name()->str();
  Binding binding = {nullptr, index, 0, 1, 0, {}};
  for (const StepInput &input : stepInputs)
    if ((name == input.name ||
         (&input == &imageInput && name.starts_with(std::string(input.name) + "."))) &&
        &input != &tableInput)
      binding.input = &input;
  for (size_t group = 0; group < plan.groups.size(); ++group)
    if ((buffer.group() == int64_t(group) && name.starts_with(tableInput.name)) ||
        (buffer.group() < 0 &&
         ((group == 0 && name == tableInput.name) ||
          name == std::string(tableInput.name) + "." + plan.groups[group].name))) {
      binding.input = &tableInput;
      binding.group = group;
      binding.width = plan.groups[group].tableWidth;
    }
  if (!binding.input)
    return Status::error("INGOT-E5011", "this runtime cannot fill the input '" + name + "'",
                         "use the runtime of the release that built the engine");
  if (binding.input == &embeddingInput && count(buffer.shape()) == 2)
    binding.width = embeddingWidth = executor->shapeOf(index)[1];
  if (binding.input == &imageInput && count(buffer.shape()) == 2) {
    binding.width = executor->shapeOf(index)[1];
    if (size_t dot = name.find('.'); dot != std::string::npos)
      binding.added = size_t(std::atoi(name.c_str() + dot + 1));
  }
  uint64_t bytes =
      uint64_t(binding.input->rows(plan)) * uint64_t(binding.width) * binding.input->elementBytes;
  if (buffer.dtype() != binding.input->type || executor->bufferBytes(index) < bytes)
    return Status::error("INGOT-E5022",
                         "the input '" + name +
                             "' is of another type or too small for the largest step",
                         "rebuild the engine");
  binding.data.resize(bytes);
  bindings.push_back(std::move(binding));
  return {};
}

Status StepProgram::prepare(std::span<const BatchEntry> batch, const KvCache &cache,
                            uint32_t drawn) {
  int64_t tokens = 0, logitRows = 0, imageRows = 0;
  for (const BatchEntry &entry : batch) {
    tokens += entry.tokens;
    logitRows += entry.logitRows;
    imageRows += imageRowsOf(entry);
    const Sequence &sequence = *entry.sequence;
    if (sequence.embeddings.size() != sequence.tokens.size() * size_t(embeddingWidth))
      return Status::error("INGOT-E6054",
                           "the engine reads " + std::to_string(embeddingWidth) +
                               " embeddings of each token, and " +
                               std::to_string(sequence.embeddings.size()) + " of " +
                               std::to_string(sequence.tokens.size()) + " tokens were given",
                           "run an engine of a whole model with tokens alone, one of a part with "
                           "what the part before it gives");
  }
  // A step without wanted logits computes those of its first token, for engines that need a row.
  const DimSize shape[] = {{schema::dim::tokens, tokens},
                           {schema::dim::sequences, int64_t(batch.size())},
                           {schema::dim::logitRows, std::max<int64_t>(logitRows, 1)},
                           {schema::dim::givenRows, imageRows}};
  if (Status status = executor->beginStep(shape); !status.ok())
    return status;
  for (Binding &binding : bindings) {
    executor->write(binding.buffer, binding.data.data(), fill(binding, batch, cache));
    if (binding.input == &tokenInput)
      copyDrawn(binding.buffer, batch, drawn);
  }
  return {};
}

/// Copies the tokens that only the device knows: neighbours in both buffers together.
void StepProgram::copyDrawn(uint32_t buffer, std::span<const BatchEntry> batch, uint32_t drawn) {
  constexpr uint64_t bytes = sizeof(int32_t);
  uint64_t token = 0, first = 0, firstRow = 0, length = 0;
  auto flush = [&] {
    if (length > 0)
      executor->copy(buffer, first * bytes, drawn, firstRow * bytes, length * bytes);
    length = 0;
  };
  for (const BatchEntry &entry : batch) {
    if (entry.sequence->unknown()) {
      auto row = uint64_t(entry.sequence->drawRow);
      if (token != first + length || row != firstRow + length)
        flush();
      if (length == 0) {
        first = token;
        firstRow = row;
      }
      ++length;
    }
    token += uint64_t(entry.tokens);
  }
  flush();
}

/// Makes an input of a batch; how many bytes it has.
uint64_t StepProgram::fill(Binding &binding, std::span<const BatchEntry> batch,
                           const KvCache &cache) {
  std::byte *out = binding.data.data();
  int32_t row = 0, token = 0, imageRow = 0;
  for (const BatchEntry &entry : batch) {
    binding.input->put(
        {entry, row, token, cache, binding.group, binding.width, imageRow, binding.added}, out);
    ++row;
    token += int32_t(entry.tokens);
    imageRow += int32_t(imageRowsOf(entry));
  }
  // The row of a step in which nobody wants logits.
  if (binding.input == &logitRowInput && out == binding.data.data())
    Cursor<int32_t>{out}(0);
  return uint64_t(out - binding.data.data());
}

} // namespace ingot::runtime
