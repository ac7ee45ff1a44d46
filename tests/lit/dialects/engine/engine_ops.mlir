// RUN: %ingot_opt %s | %ingot_opt | FileCheck %s
// RUN: %ingot_opt %s -o %t.before
// RUN: %ingot_opt --ingot-engine-round-trip %s -o %t.after
// RUN: diff %t.before %t.after

// CHECK: engine.dim @T "step" 1 to 512
engine.dim @T "step" 1 to 512
// CHECK: engine.dim @B.global "load" 1 to 64
engine.dim @B.global "load" 1 to 64
// CHECK: engine.dim @cores "device" 1 to 1024
engine.dim @cores "device" 1 to 1024

// CHECK: engine.weight @plain tensor<64x16xbf16>{{$}}
engine.weight @plain tensor<64x16xbf16>
// CHECK: engine.weight @packed tensor<62x16xi4, #engine.layout<[0, 16, 4], [1, 1, 16], [0, 1, 16]>> format "int4 group=16"
engine.weight @packed tensor<62x16xi4, #engine.layout<[0, 16, 4], [1, 1, 16], [0, 1, 16]>>
    format "int4 group=16"
engine.weight @unsigned tensor<8xui8>

// CHECK: engine.unit @host <"x86-64-v4+vnni", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f", "avx512vnni"]> rank 0 of 2 attributes {minimum_driver = "550", toolkit = "12.4"}
engine.unit @host <"x86-64-v4+vnni", backend = "x86", arch = "x86-64", preference = 40,
    features = ["avx512f", "avx512vnni"]>
    rank 0 of 2 attributes {minimum_driver = "550", toolkit = "12.4"} {
  // CHECK: engine.rank_group @pair [0, 1]
  engine.rank_group @pair [0, 1]
  // CHECK: engine.kv_group @global "global" block 16{{$}}
  engine.kv_group @global "global" block 16
  // CHECK: engine.kv_group @local "sliding" block 16 window 256
  engine.kv_group @local "sliding" block 16 window 256
  // CHECK: engine.kv_group @latent "latent" block 64
  engine.kv_group @latent "latent" block 64

  // CHECK: engine.buffer @table "input" i32 [#engine.expr<"T">, #engine.expr<"B.global">] bytes <"T * B.global * 4"> group @global
  engine.buffer @table "input" i32 [#engine.expr<"T">, #engine.expr<"B.global">]
      bytes <"T*B.global*4"> group @global
  // CHECK: bytes <"(T + 15) floordiv 16 * 16 max 64 min 4096"> tap "layers.0"
  engine.buffer @x "arena" f32 [#engine.expr<"T">]
      bytes <"((T + 15) floordiv 16) * 16 max 64 min 4096"> tap "layers.0"
  // CHECK: engine.buffer @out "output" f16
  engine.buffer @out "output" f16 [#engine.expr<"T">] bytes <"T * 4 - T * 2">
  // CHECK: engine.buffer @w "weight" bf16 [#engine.expr<"64">, #engine.expr<"16">] bytes <"2048"> weight @plain
  engine.buffer @w "weight" bf16 [#engine.expr<"64">, #engine.expr<"16">] bytes <"2048">
      weight @plain
  // CHECK: engine.buffer @kv "kv" f8E5M2 {{.*}} group @local
  engine.buffer @kv "kv" f8E5M2 [#engine.expr<"64">] bytes <"64"> group @local
  // CHECK: engine.buffer @counts "state" ui32
  engine.buffer @counts "state" ui32 [#engine.expr<"64">] bytes <"256">
  // CHECK: engine.buffer @adapter "slot" f64
  engine.buffer @adapter "slot" f64 [#engine.expr<"2">] bytes <"16">

  // CHECK: engine.library @kernels "host_shared_object"
  engine.library @kernels "host_shared_object"
  // CHECK: engine.kernel @plain from "copy" library @kernels
  engine.kernel @plain from "copy" library @kernels
  // CHECK: engine.kernel @full from "matmul" constants {k = 16 : i64, relu} guards [#engine.range<"T", 1, 64>] scratch 64 shared 128 block [32, 1, 1] cluster [1, 2] maps [#engine.tensor_map<buffer = 1, rows = 4 x 512, box = 2 x 64>, #engine.tensor_map<buffer = 0, rows = "T" x 16, box = 8 x 16, element = bf16, swizzle = 32, fenced = true>] spmd library @kernels facts {registers = "40"} epilogue {
  engine.kernel @full from "matmul" constants {k = 16 : i64, relu}
      guards [#engine.range<"T", 1, 64>] scratch 64 shared 128 block [32, 1, 1] cluster [1, 2]
      maps [#engine.tensor_map<buffer = 1, rows = 4 x 512, box = 2 x 64>,
            #engine.tensor_map<buffer = 0, rows = "T" x 16, box = 8 x 16, element = bf16,
                               swizzle = 32, fenced = true>] spmd
      library @kernels facts {registers = "40"} epilogue {
  // CHECK: ^bb0(%[[SUM:.*]]: f32):
  ^bb0(%sum: f32):
    // CHECK: engine.yield %[[SUM]] : f32
    engine.yield %sum : f32
  }

  // CHECK: engine.arena_tier [#engine.range<"T", 1, 64>] bytes 8192 offsets [0, 4096, 4352]
  engine.arena_tier [#engine.range<"T", 1, 64>] bytes 8192 offsets [0, 4096, 4352]

  // CHECK: engine.program @step dims [@T] inputs [@table] outputs [@out] {
  engine.program @step dims [@T] inputs [@table] outputs [@out] {
    // CHECK: engine.launch "matmul a" [#engine.variant<@full where[<"T", 1, 64>] grid[<"T ceildiv 16">, <"4">]>, #engine.variant<@plain grid[<"cores">]>] args [@x, #engine.buffer<@w at <"64">>, #engine.expr<"T">, 5.000000e-01]
    engine.launch "matmul a"
        [#engine.variant<@full where [<"T", 1, 64>] grid [<"T ceildiv 16">, <"4">]>,
         #engine.variant<@plain grid [<"cores">]>]
        args [@x, #engine.buffer<@w at <"64">>, #engine.expr<"T">, 5.000000e-01 : f64]
    // CHECK: engine.segment "layers.0" tap @x
    engine.segment "layers.0" tap @x
    // CHECK: engine.copy "move" <@x at <"0">> to <@out at <"16">> bytes <"T * 2">
    engine.copy "move" <@x at <"0">> to <@out at <"16">> bytes <"T * 2">
    // CHECK: engine.collective "gather" "all_gather" f32 @x to @out count <"T"> over @pair
    engine.collective "gather" "all_gather" f32 @x to @out count <"T"> over @pair
    // CHECK: engine.collective "exchange" "all_to_all" f32 @x to @out count <"T"> over @pair counts @counts receive_counts @table
    engine.collective "exchange" "all_to_all" f32 @x to @out count <"T"> over @pair
        counts @counts receive_counts @table
    // CHECK: engine.collective "root" "broadcast" f32 @x to @out count <"T"> over @pair peer 1
    engine.collective "root" "broadcast" f32 @x to @out count <"T"> over @pair peer 1
    // CHECK: engine.segment "head"{{$}}
    engine.segment "head"
    // CHECK: engine.host_call "tell" "notify" args [@out, #engine.expr<"T">]
    engine.host_call "tell" "notify" args [@out, #engine.expr<"T">]
  }
  // CHECK: engine.coverage @step 0 over [#engine.range<"T", 1, 64>] by [@full, @plain]
  engine.coverage @step 0 over [#engine.range<"T", 1, 64>] by [@full, @plain]
  // CHECK: engine.note "ingot-fuse-swiglu" "layers.0.mlp" applied false because "other users"
  engine.note "ingot-fuse-swiglu" "layers.0.mlp" applied false because "other users"
  // CHECK: engine.note "ingot-fuse-norm" "layers.0" applied true{{$}}
  engine.note "ingot-fuse-norm" "layers.0" applied true
}
