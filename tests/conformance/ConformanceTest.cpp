// SPDX-License-Identifier: Apache-2.0
// Every case on the reference against its oracle, and on every other target against the reference.
#include "tests/conformance/Cases.h"
#include "tests/conformance/Targets.h"

#include "codegen/cuda/CudaArchitecture.h"
#include "llvm/TargetParser/Host.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

bool &conformance::fullGrid() {
  static bool full = false;
  return full;
}

const std::vector<std::string> &conformance::fastTargets() {
  static const auto *names = [] {
    auto *found = new std::vector<std::string>();
    llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
    for (const char *name :
         {"x86-64-v4+vnni+bf16", "x86-64-v4+vnni", "x86-64-v4", "x86-64-v3+avxvnni", "x86-64-v3"}) {
      std::string error;
      auto target = codegen::findTarget(&sharedContext(), name, error);
      if (succeeded(target) && llvm::all_of(target->second.getFeatures(), [&](StringAttr feature) {
            return host.lookup(feature.getValue());
          }))
        found->push_back(name);
    }
    return found;
  }();
  return *names;
}

const std::vector<std::string> &conformance::simulatedTargets() {
  static const std::vector<std::string> all = {"sm_80", "sm_89", "sm_90a", "sm_120a",
                                               "sm_86", "sm_87", "sm_100a"};
  static const std::vector<std::string> some(all.begin(), all.begin() + 4);
  return fullGrid() ? all : some;
}

namespace {

/// The suite of all CUDA targets.
constexpr const char *kCuda = "cuda";

} // namespace

const std::vector<Case> &conformance::allCases() {
  static const auto *cases = [] {
    auto *all = new std::vector<Case>();
    for (auto family : {matmulCases(), rowCases(), attentionCases()})
      all->insert(all->end(), family.begin(), family.end());
    return all;
  }();
  return *cases;
}

bool conformance::runsOn(const Case &which, llvm::StringRef architecture) {
  return !which.fp8Products || codegen::findCudaArchitecture(architecture)->hasFp8Products();
}

std::unique_ptr<CompiledFunction> conformance::compileCase(const Case &which,
                                                           const std::string &target) {
  std::string error;
  auto found = codegen::findTarget(&sharedContext(), target, error);
  if (failed(found)) {
    ADD_FAILURE() << target << ": " << error;
    return nullptr;
  }
  int64_t offset = found->first->createProvider(found->second)->pairOffset();
  return CompiledFunction::compile(sharedContext(), target,
                                   which.fused ? which.fused(offset) : which.plain);
}

double conformance::toleranceOf(const Case &which, const std::vector<Expected> &oracle,
                                size_t index, double wanted, Type element) {
  if (which.apart == 0)
    return 0;
  // Both are within the oracle's tolerance of one value.
  if (!oracle.empty())
    return 2 * oracle[index].tolerance;
  double step = which.stepsApart && element ? spacing(element, wanted) : 0;
  return which.apart * (1 + std::abs(wanted)) + step;
}

Output conformance::runCase(CompiledFunction &compiled, Inputs inputs) {
  std::vector<HostValue> results = compiled.run(inputs.arguments, inputs.dims);
  Output output;
  output.values = flatten(results, inputs, compiled.function());
  for (const HostValue &result : results)
    output.elements.insert(output.elements.end(), result.tensor.size(), result.tensor.element);
  output.elements.resize(output.values.size());
  return output;
}

namespace {

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Fails at the first value that is too far from what is expected.
void compare(const std::string &what, const std::vector<double> &values,
             const std::function<Expected(size_t)> &expected) {
  for (size_t i = 0; i < values.size(); ++i) {
    Expected wanted = expected(i);
    bool near =
        same(values[i], wanted.value) || std::abs(values[i] - wanted.value) <= wanted.tolerance;
    if (!near) {
      ADD_FAILURE() << what << ", value " << i << " of " << values.size() << " is " << values[i]
                    << " instead of " << wanted.value << " +- " << wanted.tolerance;
      return;
    }
  }
}

/// One case on one target.
class CaseTest : public testing::Test {
public:
  CaseTest(const Case &which, std::string target) : which(which), target(std::move(target)) {}

  void TestBody() override {
    auto reference = CompiledFunction::compile(sharedContext(), "reference", which.plain);
    if (!reference)
      return;
    if (target == kCuda)
      return runOnCuda(*reference);
    if (target == "reference") {
      runAll([&](const Inputs &inputs,
                 const std::string &what) { checkReference(*reference, inputs, what); },
             *reference);
      return;
    }
    auto compiled = compileCase(which, target);
    if (!compiled)
      return;
    runAll([&](const Inputs &inputs,
               const std::string &what) { checkTarget(*reference, *compiled, inputs, what); },
           *reference);
  }

private:
  /// Every architecture whose PTX differs by more than its name, each in both adversarial modes:
  /// in turn over the rows, or with --full for all rows.
  void runOnCuda(CompiledFunction &reference) {
    std::set<std::string> seen;
    for (const std::string &name : simulatedTargets()) {
      if (!runsOn(which, name))
        continue;
      auto compiled = compileCase(which, name);
      if (!compiled)
        return;
      if (!seen.insert(compiled->portablePtx()).second)
        continue;
      const SimulatedMode modes[] = {{cuda::AsyncCompletion::Late, 0x5eed, 0},
                                     {cuda::AsyncCompletion::Early, 0, 3}};
      size_t turn = seen.size();
      auto check = [&](const Inputs &inputs, const std::string &what) {
        ++turn;
        for (size_t m = 0; m < std::size(modes); ++m)
          if (fullGrid() || turn % std::size(modes) == m) {
            compiled->simulateIn(modes[m]);
            checkTarget(reference, *compiled, inputs, name + (m ? ", early, " : ", late, ") + what);
          }
      };
      runAll(check, reference);
    }
  }

  void runAll(const std::function<void(const Inputs &, const std::string &)> &check,
              CompiledFunction &reference) {
    for (int64_t tokens : which.tokens)
      check(makeInputs(reference.function(), which, tokens, 1000 + tokens),
            target + ", T = " + std::to_string(tokens));
  }

  void checkReference(CompiledFunction &reference, const Inputs &inputs, const std::string &what) {
    Output output = runCase(reference, inputs);
    ASSERT_FALSE(output.values.empty());
    if (!which.oracle)
      return;
    std::vector<Expected> expected = which.oracle(inputs);
    ASSERT_EQ(expected.size(), output.values.size()) << what;
    compare(what + " against the oracle", output.values, [&](size_t i) { return expected[i]; });
  }

  void checkTarget(CompiledFunction &reference, CompiledFunction &compiled, const Inputs &inputs,
                   const std::string &what) {
    Output output = runCase(compiled, inputs), wanted = runCase(reference, inputs);
    ASSERT_EQ(output.values.size(), wanted.values.size()) << what;
    std::vector<Expected> oracle = which.oracle ? which.oracle(inputs) : std::vector<Expected>();
    if (!oracle.empty())
      compare(what + " against the oracle", output.values, [&](size_t i) { return oracle[i]; });
    compare(what + " against the reference", output.values, [&](size_t i) -> Expected {
      double value = wanted.values[i];
      return {value, toleranceOf(which, oracle, i, value, wanted.elements[i])};
    });
  }

  const Case &which;
  std::string target;
};

} // namespace

void conformance::registerCases() {
  const std::vector<Case> &cases = allCases();
  registerCudaCases(cases);
  std::vector<std::string> targets = {"reference"};
  targets.insert(targets.end(), fastTargets().begin(), fastTargets().end());
  targets.push_back(kCuda);
  for (size_t t = 0; t < targets.size(); ++t) {
    std::string suite = targets[t];
    for (char &c : suite)
      c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    for (size_t i = 0; i < cases.size(); ++i) {
      // The default grid gives each further level of a machine its share of the cases.
      bool shared = t < 2 || targets[t] == kCuda || (i + t) % 4 == 0;
      if (!fullGrid() && (cases[i].full || !shared))
        continue;
      if (cases[i].fp8Products && targets[t] != kCuda && targets[t] != "reference")
        continue;
      testing::RegisterTest(suite.c_str(), cases[i].name.c_str(), nullptr, nullptr, __FILE__,
                            __LINE__,
                            [which = &cases[i], target = targets[t]]() -> testing::Test * {
                              return new CaseTest(*which, target);
                            });
    }
  }
}
