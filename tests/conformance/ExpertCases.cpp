// SPDX-License-Identifier: Apache-2.0
// llm.route, llm.group_rows and llm.combine. Products by expert are among the matmul cases.
#include "tests/conformance/Cases.h"

#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <limits>
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
  bool biased = false;
  int64_t groups = 1, kept = 1, best = 1;
  double epsilon = 0, scale = 1;
};

} // namespace

/// The best of `values`, so many, in order; of equal ones the lower index.
static std::vector<int64_t> bestOf(const std::vector<double> &values, int64_t most) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return values[size_t(a)] > values[size_t(b)]; });
  order.resize(size_t(most));
  return order;
}

/// Takes the choices of all groups away but those of the kept ones.
static void keepGroups(const Routing &routing, std::vector<double> &choices) {
  const int64_t each = routing.experts / routing.groups;
  std::vector<double> sums;
  for (int64_t group = 0; group < routing.groups; ++group) {
    std::vector<double> own(choices.begin() + group * each, choices.begin() + (group + 1) * each);
    double sum = 0;
    for (int64_t expert : bestOf(own, routing.best))
      sum += own[size_t(expert)];
    sums.push_back(sum);
  }
  std::vector<bool> keeps(size_t(routing.groups), false);
  for (int64_t group : bestOf(sums, routing.kept))
    keeps[size_t(group)] = true;
  for (int64_t expert = 0; expert < routing.experts; ++expert)
    if (!keeps[size_t(expert / each)])
      choices[size_t(expert)] = -std::numeric_limits<double>::infinity();
}

/// Weights of all tokens, then their experts.
static std::vector<Expected> routed(const Routing &routing, const Inputs &inputs) {
  const HostTensor &logits = inputs.arguments[0].tensor;
  std::vector<Expected> weights, experts;
  for (int64_t token = 0; token < inputs.dims.T; ++token) {
    std::vector<double> scores;
    for (int64_t expert = 0; expert < routing.experts; ++expert) {
      double logit = logits.at(token, expert);
      scores.push_back(routing.sigmoid ? 1 / (1 + std::exp(-logit)) : std::exp(logit));
    }
    if (!routing.sigmoid) {
      double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
      for (double &score : scores)
        score /= sum;
    }
    std::vector<double> choices = scores;
    for (int64_t expert = 0; routing.biased && expert < routing.experts; ++expert)
      choices[size_t(expert)] += inputs.arguments[1].tensor.at(expert);
    if (routing.kept < routing.groups)
      keepGroups(routing, choices);
    const std::vector<int64_t> chosen = bestOf(choices, routing.each);
    double total = routing.normalize ? routing.epsilon : 1;
    for (int64_t expert : chosen)
      total += routing.normalize ? scores[size_t(expert)] : 0;
    for (int64_t expert : chosen) {
      double weight = scores[size_t(expert)] / total * routing.scale;
      weights.push_back({weight, 2e-6 * weight});
      experts.push_back({double(expert), 0});
    }
  }
  weights.insert(weights.end(), experts.begin(), experts.end());
  return weights;
}

static Case routeCase(const Routing &routing) {
  Case result;
  const bool grouped = routing.groups > 1, plain = routing.epsilon == 0 && routing.scale == 1;
  result.name = formatv("route_{0}_{1}of{2}{3}{4}{5}{6}{7}", routing.element, routing.each,
                        routing.experts, routing.sigmoid ? "_sigmoid" : "",
                        routing.normalize ? "_normalize" : "", routing.biased ? "_bias" : "",
                        grouped ? formatv("_{0}of{1}groups", routing.kept, routing.groups).str()
                                : std::string(),
                        plain ? "" : "_scaled");
  std::string logits = activation(routing.experts, routing.element);
  std::string weights = rowType("f32", routing.each), experts = rowType("i32", routing.each);
  std::string bias = formatv("tensor<{0}xf32>", routing.experts);
  std::string words;
  if (routing.biased)
    words += " bias(%b : " + bias + ")";
  if (routing.sigmoid)
    words += " sigmoid";
  if (grouped)
    words += formatv(" groups [{0}, {1}, {2}]", routing.groups, routing.kept, routing.best);
  if (routing.normalize)
    words += " normalize";
  if (!plain)
    words += formatv(" epsilon {0:e} scale {1:e}", routing.epsilon, routing.scale);
  result.plain = function(
      "%l: " + logits + (routing.biased ? ", %b: " + bias : ""), weights + ", " + experts, "%w, %e",
      "llm.route %l" + words + " : " + logits + " -> " + weights + ", " + experts);
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

static Case combineCase(const std::string &element, int64_t columns, int64_t each,
                        bool weighted = true) {
  Case result;
  result.name = formatv("combine_{0}_{1}_{2}{3}", element, columns, each, weighted ? "" : "_plain");
  std::string input = activation(columns, element, formatv("T * {0}", each).str());
  std::string weights = rowType("f32", each), type = activation(columns, element);
  result.plain =
      function("%x: " + input + (weighted ? ", %w: " + weights : ""), type, "%y",
               weighted ? "llm.combine %x, %w : " + input + ", " + weights + " -> " + type
                        : "llm.combine %x : " + input + " -> " + type);
  result.oracle = [=](const Inputs &inputs) {
    std::vector<Expected> expected;
    for (int64_t row = 0; row < inputs.dims.T; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        double sum = 0, magnitude = 0;
        for (int64_t s = 0; s < each; ++s) {
          double term = (weighted ? inputs.arguments[1].tensor.at(row * each + s) : 1) *
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
  add(routeCase({"f32", 256, 8, true, true, true, 8, 4, 2, 1e-20, 2.5}), {1, 17});
  add(routeCase({"f32", 160, 6, false, false, false, 8, 3, 1, 0, 16}), {1, 17});
  add(routeCase({"bf16", 64, 6, false, true, true}), {1, 17});
  add(routeCase({"f32", 8, 3, true, false, true, 4, 2, 2, 0, 2.5}), {1, 17});
  add(routeCase({"f32", 40, 2, true, true, false, 1, 1, 1, 1e-3, 0.5}), {3});
  add(groupCase(8, 2), {1, 3, 200});
  add(groupCase(60, 4), {1, 129});
  add(groupCase(1, 1), {1, 7});
  add(combineCase("f32", 43, 2), {1, 17});
  add(combineCase("bf16", 320, 8), {1, 9});
  add(combineCase("f16", 66, 1), {3});
  add(combineCase("bf16", 72, 3, false), {1, 17});
  add(combineCase("f32", 43, 1, false), {5});
  return cases;
}
