// SPDX-License-Identifier: Apache-2.0
// Every case on the reference against its oracle, and on every other target against the reference.
#include "tests/conformance/Cases.h"
#include "tests/conformance/EmulatedDevice.h"
#include "tests/conformance/Targets.h"

#include "codegen/cuda/CudaArchitecture.h"
#include "runtime/devices/host/HostCpu.h"
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

std::vector<std::string> &conformance::chosenTargets() {
  static std::vector<std::string> names;
  return names;
}

bool conformance::isChosen(llvm::StringRef target) {
  return chosenTargets().empty() || llvm::is_contained(chosenTargets(), target);
}

const std::vector<std::string> &conformance::fastTargets() {
  static const auto *names = [] {
    auto *found = new std::vector<std::string>();
    if (emulating()) {
      llvm::copy_if(std::vector<std::string>{"x86-64-v4+vnni", "x86-64-v4"},
                    std::back_inserter(*found), isChosen);
      return found;
    }
    // This asks the kernel for the tiles of AMX too.
    std::vector<std::string_view> host = runtime::detectCpuFeatures();
    for (const char *name : {"x86-64-v4+vnni+bf16+amx", "x86-64-v4+vnni+bf16", "x86-64-v4+vnni",
                             kEmulatedAmx, "x86-64-v4", "x86-64-v3+avxvnni", "x86-64-v3"}) {
      std::string error;
      auto target = codegen::findTarget(&sharedContext(), name, error);
      if (isChosen(name) && succeeded(target) &&
          llvm::all_of(target->second.getFeatures(), [&](StringAttr feature) {
            return llvm::is_contained(host, std::string_view(feature.getValue()));
          }))
        found->push_back(name);
    }
    return found;
  }();
  return *names;
}

const std::vector<std::string> &conformance::simulatedTargets() {
  static const auto *names = [] {
    constexpr llvm::StringLiteral all[] = {"sm_80", "sm_89", "sm_90a", "sm_120a",
                                           "sm_86", "sm_87", "sm_100a"};
    auto *found = new std::vector<std::string>();
    for (llvm::StringRef name : llvm::ArrayRef(all).take_front(fullGrid() ? std::size(all) : 4))
      if (isChosen(name))
        found->push_back(name.str());
    return found;
  }();
  return *names;
}

std::vector<std::string> conformance::typicalTargets() {
  std::vector<std::string> names = {"reference"};
  for (const auto *others : {&fastTargets(), &simulatedTargets()})
    if (!others->empty())
      names.push_back(others->front());
  return names;
}

const std::vector<Case> &conformance::allCases() {
  static const auto *cases = [] {
    auto *all = new std::vector<Case>();
    for (auto family : {matmulCases(), rowCases(), attentionCases(), expertCases()})
      all->insert(all->end(), family.begin(), family.end());
    return all;
  }();
  return *cases;
}

bool conformance::runsOn(const Case &which, llvm::StringRef architecture) {
  return !which.nativeOnly && !which.referenceOnly &&
         (!which.fp8Products || codegen::findCudaArchitecture(architecture)->hasFp8Products());
}

std::unique_ptr<CompiledFunction> conformance::compileCase(const Case &which,
                                                           const std::string &target,
                                                           llvm::ArrayRef<Dims> runs,
                                                           CudaCode code) {
  std::string error;
  auto found = codegen::findTarget(&sharedContext(), target, error);
  if (failed(found)) {
    ADD_FAILURE() << target << ": " << error;
    return nullptr;
  }
  int64_t offset = found->first->createProvider(found->second)->pairOffset();
  return CompiledFunction::compile(sharedContext(), target,
                                   which.fused ? which.fused(offset) : which.plain, runs, code);
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

double conformance::worstError(const Case &which, CompiledFunction &compiled, int64_t tokens,
                               llvm::function_ref<void(std::vector<HostValue> &)> fill) {
  Inputs inputs = makeInputs(compiled.function(), which, tokens, 3);
  fill(inputs.arguments);
  std::vector<Expected> expected = which.oracle(inputs);
  std::vector<HostValue> results = compiled.run(inputs.arguments, inputs.dims);
  if (results.empty())
    return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::abs(results[0].tensor.at(int64_t(i)) - expected[i].value) /
                                expected[i].tolerance);
  return worst;
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

constexpr const char *kMainCuda = "sm_90a";

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

/// One run of a case: its inputs, what the reference makes of them, and the oracle's values, which
/// are empty without one.
struct Answer {
  Inputs inputs;
  Output reference;
  std::vector<Expected> oracle;
};

/// One case on all of its targets.
class CaseTest : public testing::Test {
public:
  CaseTest(const Case &which, size_t index) : which(which), index(index) {}

  void TestBody() override {
    auto reference = CompiledFunction::compile(sharedContext(), "reference", which.plain);
    if (!reference)
      return;
    for (int64_t tokens : which.tokens)
      answer(*reference, tokens);
    if (HasFatalFailure())
      return;
    for (size_t level = 0;
         level < fastTargets().size() && !which.fp8Products && !which.referenceOnly; ++level) {
      // The default grid gives each level of a machine but the best its share of the cases.
      const std::string &target = fastTargets()[level];
      size_t share = target == kEmulatedAmx ? 4 : 8;
      if (fullGrid() || level == 0 || (index + level) % share == 0)
        runOn(target);
    }
    runOnCuda();
  }

private:
  /// Computes the answer for one number of rows, and holds the reference to its oracle.
  void answer(CompiledFunction &reference, int64_t tokens) {
    Answer &made = answers.emplace_back();
    made.inputs = makeInputs(reference.function(), which, tokens, 1000 + tokens);
    made.reference = runCase(reference, made.inputs);
    ASSERT_FALSE(made.reference.values.empty());
    if (!which.oracle)
      return;
    made.oracle = which.oracle(made.inputs);
    check(made, made.reference, "reference");
  }

  /// What the case's kernels must be there for: the larger grid compiles all of them.
  std::vector<Dims> runs() const {
    if (fullGrid())
      return {};
    std::vector<Dims> dims;
    for (const Answer &made : answers)
      dims.push_back(made.inputs.dims);
    return dims;
  }

  void runOn(const std::string &target) {
    auto compiled = compileCase(which, target, runs());
    if (!compiled)
      return;
    for (const Answer &made : answers)
      check(made, runCase(*compiled, made.inputs), target);
    SCOPED_TRACE(target);
    if (fullGrid() && hasInvariantRows(which))
      checkInvariance(which, *compiled);
  }

  /// The CUDA targets of the case: of the default grid the one that most people have, and one of
  /// the others in turn, so that each gets its share of every family of cases.
  std::vector<std::string> cudaTargets() const {
    std::vector<std::string> targets;
    llvm::copy_if(simulatedTargets(), std::back_inserter(targets),
                  [&](const std::string &name) { return runsOn(which, name); });
    auto main = llvm::find(targets, kMainCuda);
    if (fullGrid() || main == targets.end() || targets.size() < 3)
      return targets;
    targets.erase(main);
    return {kMainCuda, targets[index % targets.size()]};
  }

  /// The architectures whose PTX differs by more than its name.
  std::vector<std::pair<std::string, std::unique_ptr<CompiledFunction>>> compileForCuda() const {
    std::vector<std::pair<std::string, std::unique_ptr<CompiledFunction>>> compiled;
    std::set<std::string> seen;
    for (const std::string &name : cudaTargets()) {
      auto function = compileCase(which, name, runs());
      if (!function)
        return {};
      if (seen.insert(function->portablePtx()).second)
        compiled.emplace_back(name, std::move(function));
    }
    return compiled;
  }

  /// Each architecture in one of the adversarial modes and on some of the rows, dealt out in turn;
  /// with --full in both, on all of them.
  void runOnCuda() {
    const SimulatedMode modes[] = {{cuda::AsyncCompletion::Late, 0x5eed, 0},
                                   {cuda::AsyncCompletion::Early, 0, 3}};
    auto architectures = compileForCuda();
    auto run = [&](size_t architecture, size_t row, size_t mode) {
      auto &[name, compiled] = architectures[architecture];
      compiled->simulateIn(modes[mode]);
      check(answers[row], runCase(*compiled, answers[row].inputs),
            name + (mode ? ", early" : ", late"));
    };
    size_t rows = answers.size(), all = architectures.size();
    if (fullGrid()) {
      for (size_t i = 0; i < rows * all; ++i)
        for (size_t mode = 0; mode < std::size(modes); ++mode)
          run(i % all, i / all, mode);
    } else if (all > 0) {
      for (size_t i = 0; i < std::max(rows, all); ++i)
        run((i + index) % all, i % rows, (i + i / all + index / all) % std::size(modes));
    }
  }

  void check(const Answer &wanted, const Output &output, const std::string &target) {
    std::string what = target + ", T = " + std::to_string(wanted.inputs.dims.T);
    ASSERT_EQ(wanted.reference.values.size(), output.values.size()) << what;
    if (which.oracle) {
      ASSERT_EQ(wanted.oracle.size(), output.values.size()) << what;
      compare(what + " against the oracle", output.values,
              [&](size_t i) { return wanted.oracle[i]; });
    }
    compare(what + " against the reference", output.values, [&](size_t i) -> Expected {
      double value = wanted.reference.values[i];
      return {value, toleranceOf(which, wanted.oracle, i, value, wanted.reference.elements[i])};
    });
  }

  const Case &which;
  size_t index;
  std::vector<Answer> answers;
};

} // namespace

void conformance::registerCases() {
  const std::vector<Case> &cases = allCases();
  registerCudaCases(cases);
  for (size_t i = 0; i < cases.size(); ++i)
    if (fullGrid() || !cases[i].full)
      testing::RegisterTest(
          "case", cases[i].name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
          [which = &cases[i], i]() -> testing::Test * { return new CaseTest(*which, i); });
}
