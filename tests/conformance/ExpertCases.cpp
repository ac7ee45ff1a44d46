// SPDX-License-Identifier: Apache-2.0
// llm.route, llm.group_rows and llm.combine. Products by expert are among the matmul cases.
#include "tests/conformance/Cases.h"

#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;
using llvm::formatv;

static std::string rowType(const char *element, int64_t each) {
  return formatv("tensor<?x{0}, \"T * {1}\">", element, each);
}

static std::string function(const std::string &parameters, const std::string &results,
                            const std::string &names, const std::string &operation) {
  return "func.func @f(" + parameters + ") -> (" + results + ") {\n  " + names + " = " + operation +
         "\n  return " + names + " : " + results + "\n}";
}

namespace {

struct Routing {
  std::string element;
  int64_t experts, each;
  bool sigmoid, normalize;
};

} // namespace

/// Weights of all tokens, then their experts.
static std::vector<Expected> routed(const Routing &routing, const Inputs &inputs) {
  const HostTensor &logits = inputs.arguments[0].tensor;
  std::vector<Expected> weights, experts;
  for (int64_t token = 0; token < inputs.dims.T; ++token) {
    std::vector<int64_t> order(routing.experts);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return logits.at(token, a) > logits.at(token, b);
    });
    auto score = [&](int64_t expert) {
      double logit = logits.at(token, expert);
      return routing.sigmoid ? 1 / (1 + std::exp(-logit)) : std::exp(logit);
    };
    double total = routing.sigmoid ? 1 : 0;
    if (routing.normalize)
      total = std::accumulate(order.begin(), order.begin() + routing.each, 0.0,
                              [&](double sum, int64_t expert) { return sum + score(expert); });
    else if (!routing.sigmoid)
      for (int64_t expert : order)
        total += score(expert);
    for (int64_t slot = 0; slot < routing.each; ++slot) {
      double weight = score(order[slot]) / total;
      weights.push_back({weight, 2e-6 * weight});
      experts.push_back({double(order[slot]), 0});
    }
  }
  weights.insert(weights.end(), experts.begin(), experts.end());
  return weights;
}

static Case routeCase(const Routing &routing) {
  Case result;
  result.name = formatv("route_{0}_{1}of{2}{3}{4}", routing.element, routing.each, routing.experts,
                        routing.sigmoid ? "_sigmoid" : "", routing.normalize ? "_normalize" : "");
  std::string logits = activation(routing.experts, routing.element);
  std::string weights = rowType("f32", routing.each), experts = rowType("i32", routing.each);
  result.plain = function("%l: " + logits, weights + ", " + experts, "%w, %e",
                          std::string("llm.route %l") + (routing.sigmoid ? " sigmoid" : "") +
                              (routing.normalize ? " normalize" : "") + " : " + logits + " -> " +
                              weights + ", " + experts);
  result.oracle = [routing](const Inputs &inputs) { return routed(routing, inputs); };
  result.scale = 3;
  return result;
}

static Case groupCase(int64_t experts, int64_t each) {
  Case result;
  result.name = formatv("group_rows_{0}of{1}", each, experts);
  std::string rows = rowType("i32", each);
  std::string starts = formatv("tensor<{0}xi32>", experts + 1);
  result.plain = function("%e: " + rows + formatv(" {{test.limit = {0} : i64}", experts).str(),
                          rows + ", " + starts, "%o, %s",
                          "llm.group_rows %e : " + rows + " -> " + rows + ", " + starts);
  result.oracle = [experts](const Inputs &inputs) {
    const HostTensor &values = inputs.arguments[0].tensor;
    std::vector<Expected> order, starts;
    for (int64_t expert = 0; expert < experts; ++expert) {
      starts.push_back({double(order.size()), 0});
      for (int64_t row = 0; row < values.size(); ++row)
        if (values.at(row) == double(expert))
          order.push_back({double(row), 0});
    }
    starts.push_back({double(order.size()), 0});
    order.insert(order.end(), starts.begin(), starts.end());
    return order;
  };
  return result;
}

static Case combineCase(const std::string &element, int64_t columns, int64_t each) {
  Case result;
  result.name = formatv("combine_{0}_{1}_{2}", element, columns, each);
  std::string input = activation(columns, element, formatv("T * {0}", each).str());
  std::string weights = rowType("f32", each), type = activation(columns, element);
  result.plain = function("%x: " + input + ", %w: " + weights, type, "%y",
                          "llm.combine %x, %w : " + input + ", " + weights + " -> " + type);
  result.oracle = [=](const Inputs &inputs) {
    std::vector<Expected> expected;
    for (int64_t row = 0; row < inputs.dims.T; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        double sum = 0, magnitude = 0;
        for (int64_t s = 0; s < each; ++s) {
          double term = inputs.arguments[1].tensor.at(row * each + s) *
                        inputs.arguments[0].tensor.at(row * each + s, column);
          sum += term;
          magnitude += std::abs(term);
        }
        expected.push_back(stored(elementType(element), sum, 1e-6 * magnitude));
      }
    return expected;
  };
  return result;
}

std::vector<Case> conformance::expertCases() {
  std::vector<Case> cases;
  auto add = [&](Case added, std::vector<int64_t> tokens) {
    added.tokens = std::move(tokens);
    cases.push_back(std::move(added));
  };
  add(routeCase({"f32", 8, 2, false, true}), {1, 17});
  add(routeCase({"bf16", 60, 4, false, false}), {1, 17});
  add(routeCase({"f32", 128, 8, false, true}), {1, 17});
  add(routeCase({"f32", 33, 32, false, false}), {3});
  add(routeCase({"bf16", 16, 1, true, false}), {1, 17});
  add(routeCase({"f32", 40, 3, true, true}), {1, 17});
  add(routeCase({"f32", 1, 1, false, false}), {2});
  add(groupCase(8, 2), {1, 3, 200});
  add(groupCase(60, 4), {1, 129});
  add(groupCase(1, 1), {1, 7});
  add(combineCase("f32", 43, 2), {1, 17});
  add(combineCase("bf16", 320, 8), {1, 9});
  add(combineCase("f16", 66, 1), {3});
  return cases;
}
