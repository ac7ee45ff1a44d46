// SPDX-License-Identifier: Apache-2.0
// Checkpoints that are stored quantized against what their golden weights give in f64. Activations
// and KV cache are f32 here, so that the greedy tokens can be compared.
#include "tests/e2e/BuiltEngines.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ingot::e2e {
namespace {

/// Twice what f32 sums of this model differ from f64 ones.
constexpr double safeMargin = 9e-5;

struct Subject {
  const char *variant;
  const char *target;
};

void PrintTo(const Subject &subject, std::ostream *stream) {
  *stream << subject.variant << " on " << subject.target;
}

class StoredFormatsTest : public testing::TestWithParam<Subject> {};

TEST_P(StoredFormatsTest, GreedyTokensEqualThoseOfTheGoldenWeights) {
  INGOT_NEED_SHARED_DATA();
  auto index = nlohmann::json::parse(readText(sharedData("quantized/INDEX.json")));
  const auto &entry = index.at(GetParam().variant);
  ASSERT_GE(entry.at("min_top2_margin").get<double>(), safeMargin);
  std::vector<int32_t> prompt = entry.at("prompt_ids"), wanted = entry.at("greedy_ids");
  Options options;
  options.threads = 1;
  options.max_sequences = 1;
  Engine engine(builtEngine({sharedData(std::string("quantized/") + GetParam().variant),
                             std::string(storedRecipe), GetParam().target}),
                options);
  Request request;
  request.tokens = prompt.data();
  request.token_count = prompt.size();
  request.sampling.max_tokens = int64_t(wanted.size());
  request.sampling.ignore_eos = true;
  engine.submit(request);
  std::vector<int32_t> tokens;
  for (bool active = true; active;) {
    active = engine.step();
    while (std::optional<Event> event = engine.nextEvent())
      tokens.push_back(event->token);
  }
  EXPECT_EQ(tokens, wanted);
}

std::string nameOf(const testing::TestParamInfo<Subject> &info) {
  std::string name = std::string(info.param.variant) + "_" + info.param.target;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

constexpr Subject common[] = {{"awq-gemm-w4-g64", "reference"},
                              {"awq-gemm-w4-g64", hostTarget},
                              {"gptq-w2-g32-asym-v2", "reference"},
                              {"gptq-w4-g32-sym", "reference"},
                              {"gptq-w8-g64-sym", "reference"},
                              {"gptq-w8-g64-sym", hostTarget},
                              {"gptq_v2-w4-g32-asym", "reference"},
                              {"gptq-w4-g32-sym-desc_act", hostTarget},
                              {"ct-w4a16-g64-sym", "reference"},
                              {"ct-w8a8-int8-dynamic", "reference"},
                              {"ct-fp8-dynamic", "reference"},
                              {"fp8-block128", "reference"},
                              {"fp8-block128", hostTarget},
                              {"modelopt-fp8", "reference"},
                              {"bnb-int8", "reference"},
                              {"bnb-nf4", hostTarget},
                              {"bnb-fp4", "reference"},
                              {"ct-nvfp4a16", hostTarget},
                              {"mxfp4-blocks-scales", "reference"}};
INSTANTIATE_TEST_SUITE_P(Variants, StoredFormatsTest, testing::ValuesIn(common), nameOf);

constexpr Subject others[] = {{"gptq-w2-g32-asym-v2", hostTarget},
                              {"gptq-w4-g32-sym", hostTarget},
                              {"gptq_v2-w4-g32-asym", hostTarget},
                              {"gptq-w4-g32-sym-desc_act", "reference"},
                              {"ct-w4a16-g64-sym", hostTarget},
                              {"ct-w8a8-int8-dynamic", hostTarget},
                              {"ct-fp8-dynamic", hostTarget},
                              {"modelopt-fp8", hostTarget},
                              {"bnb-int8", hostTarget},
                              {"bnb-nf4", "reference"},
                              {"bnb-fp4", hostTarget},
                              {"ct-nvfp4a16", "reference"},
                              {"mxfp4-blocks-scales", hostTarget}};
INSTANTIATE_TEST_SUITE_P(LongVariants, StoredFormatsTest, testing::ValuesIn(others), nameOf);

} // namespace
} // namespace ingot::e2e
