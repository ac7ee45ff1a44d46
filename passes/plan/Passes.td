// SPDX-License-Identifier: Apache-2.0
// Passes from llm IR to a complete engine.unit, alphabetical.
include "mlir/Pass/PassBase.td"

class PlanPass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::ingot::llm::LlmDialect", "::ingot::engine::EngineDialect",
                           "::mlir::func::FuncDialect"];
}

def ChooseSumsPass : PlanPass<"ingot-choose-sums"> {
  let summary = "Settles in which order each operation adds: the first that its target offers";
  let description = [{
    With `engine.determinism = #engine.determinism<fast>` on the module also orders that leave
    segments to the kernel, with which a result depends on the number of rows beside it. An order
    that is settled stays.
  }];
}

def PlanMemoryPass : PlanPass<"ingot-plan-memory"> {
  let summary = "Arena offsets for a few step sizes, from the lifetimes of values";
}

def ProveCoveragePass : PlanPass<"ingot-prove-coverage"> {
  let summary = "Fails unless every launch has a kernel for every declared shape";
}

def SchedulePass : PlanPass<"ingot-schedule"> {
  let summary = "Moves each operation to its first user, so that values live briefly";
}

def SelectKernelsPass : PlanPass<"ingot-select-kernels"> {
  let summary = "Turns programs into launches of the target's kernels over buffers";
  let description = [{
    Makes an engine.unit from every function but @weights, with the module's engine.dim operations
    as the declared shapes, and removes the functions. Arguments with `llm.input` become buffers of
    that name, results (`llm.output`) too; programs share buffers of the same name. The module's
    `engine.tuning` chooses kernels before the target's cost model does; with
    `engine.tuning_candidates` launches get every kernel that tuning may choose as well, behind
    those that run.
  }];
}
