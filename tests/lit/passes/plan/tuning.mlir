// The lockfile's kernels take the place of the cost model's where product, kernel and digest are
// those of the build; each line that has no effect says why. The digest is that of the kernels here.
// RUN: %ingot_opt %s --ingot-choose-sums --ingot-select-kernels > %t.stale
// RUN: FileCheck %s --check-prefix=STALE < %t.stale
// RUN: sed -n 's/.*tuning_candidate = "MatmulFloatColumns:r36,c64", tuning_digest = "\([0-9a-f]*\)".*/s,0000000000000000,\1,/p' %t.stale > %t.sed
// RUN: sed -f %t.sed %s > %t.mlir
// RUN: %ingot_opt %t.mlir --ingot-choose-sums --ingot-select-kernels --ingot-plan-memory --ingot-prove-coverage | FileCheck %s

#x86 = #engine.target<"x86-64-v4+vnni", backend = "x86", arch = "x86-64", preference = 45, features = ["avx512f"]>
#panels = #engine.layout<[0, 16, 64], [1, 1, 32], [0, 1, 16]>
module attributes {engine.target = #x86, engine.tuning = [
    #engine.tuning<"matmul 1024 32 f32*f32" rows 2 to 100 kernel "MatmulFloatColumns:r36,c64" digest "0000000000000000">,
    #engine.tuning<"matmul 1024 32 f32*f32" rows 101 to 200 kernel "MatmulFloatColumns:r7,c7" digest "0000000000000000">,
    #engine.tuning<"matmul 1024 32 f32*f32" rows 201 to 300 kernel "MatmulFloatColumns:r1,c64" digest "1111111111111111">,
    #engine.tuning<"matmul 1024 32 f32*f32" rows 513 to 600 kernel "MatmulFloatColumns:r36,c64" digest "0000000000000000">,
    #engine.tuning<"matmul 64 32 f32*f32" rows 1 to 8 kernel "MatmulFloatColumns:r36,c64" digest "0000000000000000">]} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 8
  engine.dim @B "load" 1 to 32
  // Rows 2 to 32 of the cost model are all taken, so that kernel of it is not there.
  // CHECK: engine.launch "matmul tokens"
  // CHECK-SAME: where[<"T", 2, 100>] grid[<"16">, <"T ceildiv 36">]
  // CHECK-SAME: where[<"T", 1, 1>] grid[<"16">, <"T">]
  // CHECK-NOT: where
  // CHECK-SAME: grid[<"8">, <"T ceildiv 264">]
  // A line that the declared rows end first counts as far as they go.
  // CHECK: engine.launch "matmul logits"
  // CHECK-SAME: where[<"L", 2, 8>] grid[<"16">, <"L ceildiv 36">]
  // CHECK: engine.note "tuning" "matmul 1024 32 f32*f32 rows 2-100: MatmulFloatColumns:r36,c64" applied true
  // CHECK: engine.note "tuning" "matmul 1024 32 f32*f32 rows 101-200: MatmulFloatColumns:r7,c7" applied false because "the target has no such kernel for it"
  // CHECK: engine.note "tuning" "matmul 1024 32 f32*f32 rows 201-300: MatmulFloatColumns:r1,c64" applied false because "stale: the kernel was 1111111111111111 when it was measured, now it is
  // CHECK: engine.note "tuning" "matmul 1024 32 f32*f32 rows 513-600: MatmulFloatColumns:r36,c64" applied false
  // CHECK: engine.note "tuning" "matmul 64 32 f32*f32 rows 1-8: MatmulFloatColumns:r36,c64" applied false because "no product of this size and format"

  // STALE: engine.launch "matmul tokens"
  // STALE-SAME: where[<"T", 1, 1>] grid[<"16">, <"T">]
  // STALE-SAME: where[<"T", 2, 32>] grid[<"16">, <"T ceildiv 36">]
  // STALE: engine.note "tuning" "matmul 1024 32 f32*f32 rows 2-100: MatmulFloatColumns:r36,c64" applied false because "stale: the kernel was 0000000000000000 when
  // STALE: rows 513-600: MatmulFloatColumns:r36,c64" applied false because "stale
  func.func @step(%x: tensor<?x32xf32, "T"> {llm.input = "x"}, %z: tensor<?x32xf32, "L"> {llm.input = "z"})
      -> (tensor<?x1024xf32, "T"> {llm.output = "y"}, tensor<?x1024xf32, "L"> {llm.output = "l"}) {
    %w = llm.load_weight "w" : tensor<1024x32xf32, #panels>
    %0 = llm.matmul %x, %w : tensor<?x32xf32, "T">, tensor<1024x32xf32, #panels> -> tensor<?x1024xf32, "T"> loc("tokens")
    %1 = llm.matmul %z, %w : tensor<?x32xf32, "L">, tensor<1024x32xf32, #panels> -> tensor<?x1024xf32, "L"> loc("logits")
    return %0, %1 : tensor<?x1024xf32, "T">, tensor<?x1024xf32, "L">
  }
}
