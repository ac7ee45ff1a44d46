// SPDX-License-Identifier: Apache-2.0
// One function per table of Engine.fbs.
#include "runtime/tools/EngineSummary.h"

#include "runtime/engine/Verify.h"
#include "runtime/serving/Tokenizer.h"

namespace ingot::runtime {
namespace {

using nlohmann::json;

json text(const flatbuffers::String *value) { return value ? value->str() : std::string(); }

std::string hex(const flatbuffers::Vector<uint8_t> *digest) {
  Digest bytes = {};
  if (!digest || digest->size() != bytes.size())
    return {};
  std::copy(digest->begin(), digest->end(), bytes.begin());
  return toHex(bytes);
}

/// An array with one entry per element of an optional vector.
template <class Vector, class Describe> json list(const Vector *vector, Describe describe) {
  json entries = json::array();
  if (vector)
    for (auto element : *vector)
      entries.push_back(describe(element));
  return entries;
}

template <class Vector> json numbers(const Vector *vector) {
  return list(vector, [](auto value) { return json(value); });
}

const char *nameOf(schema::ExprOp op) {
  switch (op) {
  case schema::ExprOp::CeilDiv:
    return "ceildiv";
  case schema::ExprOp::FloorDiv:
    return "floordiv";
  case schema::ExprOp::Min:
    return "min";
  case schema::ExprOp::Max:
    return "max";
  case schema::ExprOp::Add:
    return " + ";
  case schema::ExprOp::Sub:
    return " - ";
  default:
    return " * ";
  }
}

/// Describes the parts of one target, whose indices it turns into names.
class TargetDescriber {
public:
  TargetDescriber(const schema::Engine &engine, const schema::Target &target)
      : engine(engine), target(target) {}

  json describe() const {
    json out = {{"name", text(target.name())},
                {"arch", text(target.arch())},
                {"unit", text(target.unit())},
                {"backend", text(target.backend())},
                {"features", list(target.features(), text)},
                {"preference", target.preference()},
                {"kernel_abi", target.kernel_abi()},
                {"toolkit", text(target.toolkit())},
                {"minimum_driver", text(target.minimum_driver())},
                {"rank", target.rank()},
                {"ranks", target.ranks()}};
    out["rank_groups"] = list(target.rank_groups(), [](const schema::RankGroup *group) {
      return json{{"name", text(group->name())}, {"ranks", numbers(group->ranks())}};
    });
    out["libraries"] = list(target.libraries(), [&](const schema::Library *library) {
      return json{{"name", text(library->name())},
                  {"kind", schema::EnumNameLibraryKind(library->kind())},
                  {"section", text(engine.sections()->Get(library->section())->name())}};
    });
    out["kernels"] = list(target.kernels(), [&](const auto *kernel) { return of(*kernel); });
    out["buffers"] = list(target.buffers(), [&](const auto *buffer) { return of(*buffer); });
    out["kv_groups"] = list(target.kv_groups(), [&](const auto *group) { return of(*group); });
    out["programs"] = list(target.programs(), [&](const auto *program) { return of(*program); });
    out["memory"] = memory();
    out["coverage"] = list(target.coverage(), [&](const auto *row) { return of(*row); });
    out["notes"] = list(target.notes(), [](const schema::Note *note) {
      return json{{"pass", text(note->pass())},
                  {"site", text(note->site())},
                  {"applied", note->applied()},
                  {"reason", text(note->reason())}};
    });
    return out;
  }

private:
  json formula(const schema::Expr *expression) const {
    return expression ? json(formulaText(*expression, engine)) : json();
  }
  json formulas(const flatbuffers::Vector<flatbuffers::Offset<schema::Expr>> *all) const {
    return list(all, [&](const schema::Expr *one) { return formula(one); });
  }
  json bufferName(int64_t index) const {
    return index < 0 ? json() : text(target.buffers()->Get(uint32_t(index))->name());
  }
  json kernelName(uint32_t index) const { return text(target.kernels()->Get(index)->name()); }
  json ranges(const flatbuffers::Vector<flatbuffers::Offset<schema::Range>> *all) const {
    return list(all, [&](const schema::Range *range) {
      return json{{"dim", text(engine.dims()->Get(range->dim())->name())},
                  {"min", range->min()},
                  {"max", range->max()}};
    });
  }

  json of(const schema::Parameter &parameter) const {
    json out = {{"kind", schema::EnumNameArgKind(parameter.kind())}};
    if (parameter.kind() == schema::ArgKind::Buffer)
      out["role"] = schema::EnumNameRole(parameter.role());
    if (parameter.bytes())
      out["bytes"] = formula(parameter.bytes());
    if (parameter.value())
      out["value"] = formula(parameter.value());
    if (parameter.block_tokens())
      out["block_tokens"] = parameter.block_tokens();
    if (parameter.window())
      out["window"] = parameter.window();
    if (parameter.input())
      out["input"] = text(parameter.input());
    return out;
  }

  json of(const schema::Use &use) const {
    return {{"grid", formulas(use.grid())},
            {"parameters",
             list(use.parameters(), [&](const schema::Parameter *one) { return of(*one); })}};
  }

  json of(const schema::Kernel &kernel) const {
    json facts = json::object();
    for (uint32_t i = 0; i < count(kernel.facts()); ++i)
      facts[kernel.facts()->Get(i)->key()->str()] = text(kernel.facts()->Get(i)->value());
    return {{"name", text(kernel.name())},
            {"symbol", text(kernel.symbol())},
            {"library", text(target.libraries()->Get(kernel.library())->name())},
            {"guards", ranges(kernel.guards())},
            {"scratch_bytes", kernel.scratch_bytes()},
            {"shared_bytes", kernel.shared_bytes()},
            {"block", numbers(kernel.block())},
            {"cluster", numbers(kernel.cluster())},
            {"tensor_maps", list(kernel.tensor_maps(),
                                 [&](const schema::TensorMap *map) {
                                   return json{{"buffer", map->buffer()},
                                               {"rows", map->step_rows() ? formula(map->step_rows())
                                                                         : json(map->rows())},
                                               {"row_bytes", map->row_bytes()},
                                               {"box_rows", map->box_rows()},
                                               {"box_bytes", map->box_bytes()},
                                               {"element", schema::EnumNameDType(map->element())},
                                               {"swizzle", map->swizzle()},
                                               {"fenced", map->fenced()}};
                                 })},
            {"spmd", kernel.spmd()},
            {"uses", list(kernel.uses(), [&](const schema::Use *use) { return of(*use); })},
            {"facts", facts},
            {"source", text(kernel.source())},
            {"constants", text(kernel.constants())},
            {"epilogue", text(kernel.epilogue())}};
  }

  json of(const schema::Buffer &buffer) const {
    json out = {{"name", text(buffer.name())},
                {"role", schema::EnumNameRole(buffer.role())},
                {"dtype", schema::EnumNameDType(buffer.dtype())},
                {"shape", formulas(buffer.shape())},
                {"bytes", formula(buffer.bytes())}};
    if (buffer.role() == schema::Role::Weight)
      out["weight"] = text(engine.weights()->Get(uint32_t(buffer.weight()))->name());
    if (buffer.group() >= 0 && uint32_t(buffer.group()) < count(target.kv_groups()))
      out["group"] = text(target.kv_groups()->Get(uint32_t(buffer.group()))->name());
    if (buffer.tap() && buffer.tap()->size())
      out["tap"] = text(buffer.tap());
    return out;
  }

  json of(const schema::KvGroup &group) const {
    uint64_t block = group.block_bytes(), tokens = uint64_t(group.block_tokens());
    json out = {{"name", text(group.name())},
                {"kind", schema::EnumNameKvKind(group.kind())},
                {"block_tokens", group.block_tokens()},
                {"block_bytes", block},
                {"window", group.window()}};
    // Recurrent state does not grow with the tokens.
    out["bytes_per_token"] = group.kind() == schema::KvKind::Recurrent ? json(0)
                             : block % tokens ? json(double(block) / double(tokens))
                                              : json(block / tokens);
    return out;
  }

  json of(const schema::Launch &launch) const {
    json out;
    out["variants"] = list(launch.variants(), [&](const schema::Variant *variant) {
      return json{{"kernel", kernelName(variant->kernel())},
                  {"ranges", ranges(variant->ranges())},
                  {"grid", formulas(variant->grid())}};
    });
    out["args"] = arguments(launch.args());
    return out;
  }

  json arguments(const flatbuffers::Vector<flatbuffers::Offset<schema::Arg>> *all) const {
    return list(all, [&](const schema::Arg *arg) -> json {
      switch (arg->kind()) {
      case schema::ArgKind::Buffer:
        return {{"buffer", bufferName(arg->buffer())}};
      case schema::ArgKind::Integer:
        return {{"integer", formula(arg->value())}};
      case schema::ArgKind::Real:
        break;
      }
      return {{"real", arg->real()}};
    });
  }

  json of(const schema::Copy &copy) const {
    return {{"source", bufferName(copy.source())},
            {"source_offset", formula(copy.source_offset())},
            {"destination", bufferName(copy.destination())},
            {"destination_offset", formula(copy.destination_offset())},
            {"bytes", formula(copy.bytes())}};
  }

  json of(const schema::Collective &collective) const {
    return {{"collective", schema::EnumNameCollectiveKind(collective.kind())},
            {"dtype", schema::EnumNameDType(collective.dtype())},
            {"source", bufferName(collective.source())},
            {"destination", bufferName(collective.destination())},
            {"count", formula(collective.count())},
            {"counts", bufferName(collective.counts())},
            {"receive_counts", bufferName(collective.receive_counts())},
            {"group", text(target.rank_groups()->Get(collective.group())->name())},
            {"peer", collective.peer()}};
  }

  json of(const schema::Instruction &instruction) const {
    json out;
    switch (instruction.operation_type()) {
    case schema::Operation::Launch:
      out = of(*instruction.operation_as_Launch());
      break;
    case schema::Operation::Copy:
      out = of(*instruction.operation_as_Copy());
      break;
    case schema::Operation::Collective:
      out = of(*instruction.operation_as_Collective());
      break;
    default:
      out = {{"function", text(instruction.operation_as_HostCall()->function())},
             {"args", arguments(instruction.operation_as_HostCall()->args())}};
    }
    out["name"] = text(instruction.name());
    out["kind"] = schema::EnumNameOperation(instruction.operation_type());
    return out;
  }

  json of(const schema::Program &program) const {
    auto buffer = [&](uint32_t index) { return bufferName(index); };
    json out = {{"name", text(program.name())},
                {"inputs", list(program.inputs(), buffer)},
                {"outputs", list(program.outputs(), buffer)}};
    out["dims"] = list(program.dims(),
                       [&](uint32_t index) { return text(engine.dims()->Get(index)->name()); });
    out["instructions"] =
        list(program.instructions(), [&](const auto *instruction) { return of(*instruction); });
    out["segments"] = list(program.segments(), [&](const schema::Segment *segment) {
      return json{{"name", text(segment->name())},
                  {"first", segment->first()},
                  {"count", segment->count()},
                  {"tap", bufferName(segment->tap())}};
    });
    return out;
  }

  json memory() const {
    const schema::MemoryContract &contract = *target.memory();
    json out = {{"weight_bytes", contract.weight_bytes()},
                {"state_bytes_per_sequence", contract.state_bytes_per_sequence()},
                {"scratch_bytes_per_thread", contract.scratch_bytes_per_thread()},
                {"slot_bytes", contract.slot_bytes()}};
    out["tiers"] = list(contract.tiers(), [&](const schema::ArenaTier *tier) {
      return json{{"limits", ranges(tier->limits())},
                  {"bytes", tier->bytes()},
                  {"offsets", numbers(tier->offsets())}};
    });
    return out;
  }

  json of(const schema::Coverage &row) const {
    const schema::Program &program = *target.programs()->Get(row.program());
    return {{"program", text(program.name())},
            {"instruction", text(program.instructions()->Get(row.instruction())->name())},
            {"ranges", ranges(row.ranges())},
            {"kernels", list(row.kernels(), [&](uint32_t index) { return kernelName(index); })}};
  }

  const schema::Engine &engine;
  const schema::Target &target;
};

json describeProvenance(const schema::Provenance &provenance) {
  json out = {{"compiler", text(provenance.compiler())},
              {"revision", text(provenance.revision())},
              {"toolchain", text(provenance.toolchain())},
              {"recipe", text(provenance.recipe())},
              {"tuning", text(provenance.tuning())}};
  out["inputs"] = list(provenance.inputs(), [](const schema::InputFile *input) {
    return json{
        {"name", text(input->name())}, {"bytes", input->bytes()}, {"digest", hex(input->digest())}};
  });
  out["options"] = list(provenance.options(), [](const schema::Option *option) {
    return json{{"name", text(option->name())},
                {"asked", text(option->asked())},
                {"effective", text(option->effective())},
                {"reason", text(option->reason())}};
  });
  return out;
}

json describeServing(const schema::Serving &serving) {
  return {{"vocabulary", serving.vocabulary()},
          {"max_context", serving.max_context()},
          {"bos", serving.bos()},
          {"eos", numbers(serving.eos())},
          {"pad", serving.pad()},
          {"temperature", serving.temperature()},
          {"top_k", serving.top_k()},
          {"top_p", serving.top_p()},
          {"min_p", serving.min_p()},
          {"names_sampling", !serving.names_no_sampling()},
          {"repetition_penalty", serving.repetition_penalty()},
          {"placeholders", numbers(serving.placeholders())}};
}

json describeImages(const schema::Images &images) {
  return {{"rule", schema::EnumNameSizeRule(images.rule())},
          {"filter", schema::EnumNameResizeFilter(images.filter())},
          {"factor", images.factor()},
          {"min_pixels", images.min_pixels()},
          {"max_pixels", images.max_pixels()},
          {"frames", images.frames()},
          {"width", images.width()},
          {"height", images.height()},
          {"max_tokens", images.max_tokens()},
          {"longest_edge", images.longest_edge()},
          {"tile", images.tile()},
          {"mean", numbers(images.mean())},
          {"deviation", numbers(images.deviation())},
          {"patch", images.patch()},
          {"merge_rows", images.merge_rows()},
          {"merge_columns", images.merge_columns()},
          {"order", schema::EnumNameValueOrder(images.order())},
          {"window", images.window()},
          {"positions", schema::EnumNamePositionRule(images.positions())},
          {"position_side", images.position_side()},
          {"placeholder", text(images.placeholder())},
          {"token", text(images.token())},
          {"token_id", images.token_id()},
          {"before", text(images.before())},
          {"after", text(images.after())},
          {"before_tile", text(images.before_tile())},
          {"after_tile_row", text(images.after_tile_row())},
          {"after_tiles", text(images.after_tiles())},
          {"sees_ahead", images.sees_ahead()},
          {"added", images.added()},
          {"axes", images.axes()},
          {"step_token", images.step_token()}};
}

json describeFill(const schema::Fill &fill) {
  json parts = json::array();
  for (const schema::FillPart *part : *fill.parts())
    parts.push_back({{"key", part->key()}, {"rows", part->rows()}});
  return {{"low", fill.low()},     {"high", fill.high()},     {"parts", parts},
          {"block", fill.block()}, {"period", fill.period()}, {"columns", fill.columns()}};
}

} // namespace

std::string formulaText(const schema::Expr &expression, const schema::Engine &engine) {
  struct Part {
    std::string text;
    bool sum; ///< needs brackets as a factor
  };
  std::vector<Part> stack;
  for (const schema::ExprNode *node : *expression.nodes()) {
    if (node->op() == schema::ExprOp::Const) {
      stack.push_back({std::to_string(node->value()), node->value() < 0});
      continue;
    }
    if (node->op() == schema::ExprOp::Dim) {
      stack.push_back({engine.dims()->Get(uint32_t(node->value()))->name()->str(), false});
      continue;
    }
    Part right = std::move(stack.back());
    stack.pop_back();
    Part &left = stack.back();
    const char *name = nameOf(node->op());
    auto bracketed = [](const Part &part, bool needed) {
      return needed ? "(" + part.text + ")" : part.text;
    };
    bool add = node->op() == schema::ExprOp::Add, subtract = node->op() == schema::ExprOp::Sub,
         multiply = node->op() == schema::ExprOp::Mul;
    if (add || subtract)
      left = {left.text + name + bracketed(right, subtract && right.sum), true};
    else if (multiply)
      left = {bracketed(left, left.sum) + name + bracketed(right, right.sum), false};
    else
      left = {name + ("(" + left.text) + ", " + right.text + ")", false};
  }
  return stack.back().text;
}

json describeEngine(const schema::Engine &engine) {
  json out = {{"name", text(engine.name())},
              {"architecture", text(engine.architecture())},
              {"provenance", describeProvenance(*engine.provenance())},
              {"serving", describeServing(*engine.serving())},
              {"images", engine.images() ? describeImages(*engine.images()) : json()}};
  out["dims"] = list(engine.dims(), [](const schema::Dim *dim) {
    return json{{"name", text(dim->name())},
                {"source", schema::EnumNameDimSource(dim->source())},
                {"min", dim->min()},
                {"max", dim->max()}};
  });
  out["targets"] = list(engine.targets(), [&](const schema::Target *target) {
    return TargetDescriber(engine, *target).describe();
  });
  out["weights"] = list(engine.weights(), [&](const schema::Weight *weight) {
    json out = {{"name", text(weight->name())},
                {"dtype", schema::EnumNameDType(weight->dtype())},
                {"format", text(weight->format())},
                {"shape", numbers(weight->shape())},
                {"layout", text(weight->layout())},
                {"section", text(engine.sections()->Get(weight->section())->name())},
                {"offset", weight->offset()},
                {"bytes", weight->bytes()},
                {"digest", hex(weight->digest())}};
    if (weight->fill())
      out["fill"] = describeFill(*weight->fill());
    return out;
  });
  out["sections"] = list(engine.sections(), [](const schema::Section *section) {
    return json{
        {"name", text(section->name())}, {"kind", schema::EnumNameSectionKind(section->kind())},
        {"file", text(section->file())}, {"offset", section->offset()},
        {"bytes", section->bytes()},     {"digest", hex(section->digest())}};
  });
  out["golden"] = list(engine.golden(), [](const schema::GoldenCase *golden) {
    return json{{"prompt", numbers(golden->prompt())},
                {"tokens", numbers(golden->tokens())},
                {"margins", numbers(golden->margins())}};
  });
  return out;
}

json describeFile(const EngineFile &file) {
  json out = describeEngine(file.metadata());
  out["digest"] = toHex(file.digest());
  out["file_bytes"] = file.fileBytes();
  out["chat_templates"] = json::array();
  const auto section = file.sectionOfKind(schema::SectionKind::Tokenizer);
  if (section.empty())
    return out;
  const Result<Tokenizer> tokenizer = Tokenizer::load(std::as_bytes(section));
  if (!tokenizer.ok())
    out["tokenizer_fault"] = tokenizer.status().toString();
  else
    for (std::string_view name : tokenizer->chatTemplateNames())
      out["chat_templates"].push_back(name);
  return out;
}

json describePlan(const MemoryPlan &plan) {
  json out = {{"weight_bytes", plan.weightBytes},
              {"random_weight_bytes", plan.madeBytes},
              {"arena_bytes", plan.arenaBytes},
              {"kv_bytes", plan.kvBytes},
              {"state_bytes", plan.stateBytes},
              {"scratch_bytes", plan.scratchBytes},
              {"total_bytes", plan.totalBytes()},
              {"max_tokens", plan.maxTokens},
              {"max_sequences", plan.maxSequences},
              {"max_context", plan.maxContext},
              {"max_logit_rows", plan.maxLogitRows},
              {"threads", plan.threads},
              {"tier", plan.tier},
              {"kv_groups", json::array()}};
  for (const KvGroupPlan &group : plan.groups)
    out["kv_groups"].push_back({{"name", group.name},
                                {"block_tokens", group.blockTokens},
                                {"block_bytes", group.blockBytes},
                                {"blocks", group.blocks},
                                {"blocks_per_sequence", group.blocksPerSequence}});
  return out;
}

std::string jsonText(const json &value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace);
}

std::string plainText(const json &value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace ingot::runtime
