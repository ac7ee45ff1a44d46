// SPDX-License-Identifier: Apache-2.0
// The unquantized model's own rows go from layer to layer.
#include "compiler/quantize/Importance.h"

#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/quantize/Calibration.h"

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;

Expected<ImportanceMatrix> quantize::measureImportance(mlir::MLIRContext &context,
                                                       const checkpoint::Checkpoint &model,
                                                       const PartOptions &part,
                                                       const TextOptions &text,
                                                       compiler::Progress &progress) {
  const auto layers = static_cast<int64_t>(model.config().layerCount());
  Calibration calibration(context, part, part.folder, model.config(), Knowledge::Squares);
  auto update = [&](int64_t done, int64_t total) {
    progress.update(static_cast<uint64_t>(done), static_cast<uint64_t>(total));
  };
  progress.begin("calibration text");
  if (auto begun = calibration.begin(text, update); !begun)
    return begun.error();
  progress.end(checkpoint::message(calibration.sequences(), " sequences of ", part.length));
  ImportanceMatrix matrix;
  matrix.chunkCount = static_cast<uint32_t>(calibration.sequences());
  matrix.chunkSize = static_cast<uint32_t>(part.length);
  for (const auto &file : calibration.text()["files"])
    matrix.datasets.push_back(file["name"]);
  for (int64_t layer = 0; layer < layers; ++layer) {
    progress.begin(checkpoint::message("importance, layer ", layer + 1, " of ", layers));
    auto engine = PartEngine::build(context, part, layer, {});
    if (!engine)
      return engine.error();
    for (const compiler::UnquantizableProduct &other : engine->products().others)
      progress.warn(checkpoint::message(other.site, " is not measured: ", other.reason));
    std::vector<const compiler::ProductGroup *> groups;
    for (const compiler::ProductGroup &group : engine->products().groups)
      if (!group.routed)
        groups.push_back(&group);
      else if (group.routed->expert == 0)
        progress.warn(checkpoint::message(group.products.front().weight,
                                          " and others of experts are not measured"));
    auto observed = calibration.observe(*engine, layer, groups, /*keepsResults=*/true, update);
    if (!observed)
      return observed.error();
    for (size_t i = 0; i < observed->size(); ++i) {
      const Moments &moments = (*observed)[i].moments;
      ImportanceEntry entry{moments.meanSquares(), {static_cast<float>(moments.count())}};
      for (float &mean : entry.sums)
        mean *= entry.counts.front();
      for (const compiler::Product &product : groups[i]->products)
        matrix.entries[model.shownName(product.weight)] = entry;
    }
    if (auto moved = calibration.advance(*engine, layer, update); !moved)
      return moved.error();
    calibration.forget(layer + 1);
    progress.end();
  }
  calibration.forget(layers + 1);
  return matrix;
}
