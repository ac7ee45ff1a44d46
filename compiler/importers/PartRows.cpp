// SPDX-License-Identifier: Apache-2.0
// The place of each column: streams, inputs of layers, then keys and values by layer.
#include "compiler/importers/PartRows.h"

#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/importers/ImportOptions.h"

using namespace ingot;
using namespace ingot::compiler;

PartRows::PartRows(const checkpoint::ModelConfig &config)
    : hidden(static_cast<int64_t>(config.hiddenSize)), streams(config.altUp.streams),
      active(config.altUp.active) {
  columns = static_cast<int64_t>(streams) * hidden;
  inputColumns = {columns, static_cast<int64_t>(config.layerInputs.columns * config.layerCount())};
  columns += inputColumns.count;
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const checkpoint::Attention *attention = config.layers[i].attention();
    owners.push_back(attention && attention->cacheLayer ? owners[*attention->cacheLayer] : i);
    const size_t owner = owners.back();
    if (owner == i || isReadByOthers(static_cast<int64_t>(owner)))
      continue;
    const checkpoint::Attention &own = *config.layers[owner].attention();
    const auto count = static_cast<int64_t>(own.kvHeads * own.headDim);
    read[static_cast<int64_t>(owner)] = {columns, count};
    columns += 2 * count;
  }
}

RowColumns PartRows::keys(size_t layer) const { return read.at(static_cast<int64_t>(layer)); }

RowColumns PartRows::values(size_t layer) const {
  const RowColumns before = keys(layer);
  return {before.first + before.count, before.count};
}

std::string PartRows::streamTap(int64_t part, size_t stream) const {
  const std::string tap = ModelPart{part}.tap();
  return stream == mainStream(part) ? tap : tap + ".stream." + std::to_string(stream);
}

std::vector<PartResult> PartRows::results(int64_t part) const {
  std::vector<PartResult> results;
  for (size_t i = 0; i < streams; ++i)
    results.push_back({streamTap(part, i), stream(i)});
  if (part == ModelPart::kEmbedding && inputColumns.count != 0)
    results.push_back({kInputsTap, inputColumns});
  return results;
}
