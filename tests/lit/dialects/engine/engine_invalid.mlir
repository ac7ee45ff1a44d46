// RUN: %ingot_opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{range is empty}}
engine.dim @T "step" 2 to 1

// -----

// expected-error @+1 {{source 'never' is none of step, load, device}}
engine.dim @T "never" 1 to 2

// -----

// expected-error @+1 {{must be a static tensor of storable integers or floats}}
engine.weight @w tensor<?x2xf32>

// -----

// expected-error @+1 {{must be a static tensor of storable integers or floats}}
engine.weight @w tensor<2xi7>

// -----

// expected-error @+1 {{the type's encoding must be a layout}}
engine.weight @w tensor<2xf32, "T">

// -----

// expected-error @+1 {{a layout is a list of (axis, stride, radix) digits}}
engine.weight @w tensor<2x2xf32, #engine.layout<>>

// -----

// expected-error @+1 {{digits along axis 0 are no mixed-radix system}}
engine.weight @w tensor<4x2xf32, #engine.layout<[0, 4, 2], [1, 1, 2], [0, 1, 2]>>

// -----

// expected-error @+1 {{axis must be 0 or 1}}
engine.weight @w tensor<4x2xf32, #engine.layout<[0, 1, 4], [2, 1, 2]>>

// -----

// expected-error @+1 {{layout has more indices than any weight has elements}}
engine.weight @w tensor<4x2xf32, #engine.layout<[0, 1, 16777216], [1, 1, 33554432]>>

// -----

// expected-error @+1 {{a digit is [axis, stride, radix]}}
engine.weight @w tensor<4x2xf32, #engine.layout<[0, 1], [1, 1, 2]>>

// -----

// expected-error @+1 {{rank 2 is none of 2}}
engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> rank 2 of 2 {
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{needs at least one position per block}}
  engine.kv_group @g "global" block 0
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{a window goes with kind 'sliding' and only with it}}
  engine.kv_group @g "sliding" block 16
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{kind 'local' is none of global, sliding, latent}}
  engine.kv_group @g "local" block 16
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{has no ranks}}
  engine.rank_group @g []
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{ranks must ascend and be ranks of the unit}}
  engine.rank_group @g [0, 1]
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{role 'heap' is none of}}
  engine.buffer @b "heap" f32 [] bytes <"4">
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{a weight goes with role 'weight' and only with it}}
  engine.buffer @b "weight" f32 [] bytes <"4">
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{role 'kv' needs a group}}
  engine.buffer @b "kv" f32 [] bytes <"4">
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.kv_group @g "global" block 16
  // expected-error @+1 {{a group goes with roles 'kv' and 'input' only}}
  engine.buffer @b "arena" f32 [] bytes <"4"> group @g
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{element type 'index' has no storage}}
  engine.buffer @b "arena" index [] bytes <"4">
}

// -----

engine.dim @T "step" 1 to 8
engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{bytes of role 'state' must be constant}}
  engine.buffer @b "state" f32 [] bytes <"T * 4">
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{'T +' is not an expression over dims}}
  engine.buffer @b "arena" f32 [] bytes <"T +">
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{names the dim 'T', which is not declared}}
  engine.buffer @b "arena" f32 [] bytes <"T * 4">
}

// -----

engine.dim @T "step" 1 to 8
engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{names the dim 'X', which is not declared}}
  engine.kernel @k from "x" guards [#engine.range<"X", 1, 2>]
}

// -----

engine.dim @T "step" 1 to 8
engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{range of T is empty: 3 to 2}}
  engine.kernel @k from "x" guards [#engine.range<"T", 3, 2>]
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{names @w, which is no engine.weight}}
  engine.buffer @b "weight" f32 [] bytes <"4"> weight @w
}

// -----

engine.weight @w tensor<2xf32>
engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{has more bytes than the 8 of @w}}
  engine.buffer @b "weight" f32 [] bytes <"16"> weight @w
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{names @g, which is no engine.kv_group}}
  engine.buffer @b "kv" f32 [] bytes <"4"> group @g
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{kind 'dll' is none of host_shared_object, cubin, ptx}}
  engine.library @l "dll"
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{names @l, which is no engine.library}}
  engine.kernel @k from "x" library @l
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{metadata 'registers' must be a string}}
  engine.kernel @k from "x" facts {registers = 4 : i64}
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{block and cluster have one to three positive extents}}
  engine.kernel @k from "x" block [32, 0]
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{a tensor map reads rows of a buffer, whose bytes are a multiple of 16}}
  engine.kernel @k from "x" maps [#engine.tensor_map<buffer = 0, rows = 4 x 24, box = 2 x 16>]
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{a tensor map's box has 1 to 256 rows of at most 2048 bytes, a multiple of 16}}
  engine.kernel @k from "x" maps [#engine.tensor_map<buffer = 0, rows = 4 x 32, box = 2 x 4096>]
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{a tensor map's box has 1 to 256 rows of at most 512 bytes, a multiple of 16}}
  engine.kernel @k from "x" maps [#engine.tensor_map<buffer = 0, rows = 4 x 1024, box = 2 x 528, element = bf16>]
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{a tensor map has elements of 1, 2, 4 or 8 bytes}}
  engine.kernel @k from "x" maps [#engine.tensor_map<buffer = 0, rows = 4 x 32, box = 2 x 32, element = i4>]
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{a tensor map swizzles by 32, 64 or 128 bytes, which hold a row of its box}}
  engine.kernel @k from "x" maps [#engine.tensor_map<buffer = 0, rows = 4 x 128, box = 2 x 64, element = bf16, swizzle = 32>]
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{a tensor map swizzles by 32, 64 or 128 bytes}}
  engine.kernel @k from "x" maps [#engine.tensor_map<buffer = 0, rows = 4 x 128, box = 2 x 16, element = bf16, swizzle = 16>]
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{these rows are no expression over dims}}
  engine.kernel @k from "x" maps [#engine.tensor_map<buffer = 0, rows = "T +" x 128, box = 2 x 16>]
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{a cluster has at most 8 blocks, which every device can run}}
  engine.kernel @k from "x" cluster [4, 4]
}

// -----

engine.dim @T "step" 1 to 64
engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" bf16 [#engine.expr<"T">, #engine.expr<"64">] bytes <"T * 128">
  engine.kernel @k from "x" maps [#engine.tensor_map<buffer = 0, rows = "T" x 128, box = 64 x 128, element = bf16, swizzle = 128>]
  engine.program @step dims [@T] inputs [] outputs [] {
    // expected-error @+1 {{reads @b, which launches write, by a tensor map that is not fenced}}
    engine.launch "a" [#engine.variant<@k grid [<"T">]>] args [@b]
  }
}

// -----

engine.dim @T "step" 1 to 64
engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" bf16 [#engine.expr<"T">, #engine.expr<"64">] bytes <"T * 128">
  engine.kernel @k from "x" maps [#engine.tensor_map<buffer = 1, rows = "T" x 128, box = 64 x 128, element = bf16, swizzle = 128>]
  engine.program @step dims [@T] inputs [] outputs [] {
    // expected-error @+1 {{has 1 buffers, and a tensor map of "k" reads number 1}}
    engine.launch "a" [#engine.variant<@k grid [<"T">]>] args [@b]
  }
}

// -----

engine.dim @T "step" 1 to 64
engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" bf16 [#engine.expr<"T">, #engine.expr<"64">] bytes <"T * 128">
  engine.kernel @k from "x" cluster [2]
  engine.program @step dims [@T] inputs [] outputs [] {
    // expected-error @+1 {{grid extent 'T ceildiv 64' is no multiple of the 2 blocks of a cluster of "k"}}
    engine.launch "a" [#engine.variant<@k grid [<"T ceildiv 64">]>] args [@b]
  }
}

// -----

engine.dim @T "step" 1 to 64
engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" bf16 [#engine.expr<"T">, #engine.expr<"64">] bytes <"T * 128">
  engine.kernel @k from "x" cluster [1, 2]
  engine.program @step dims [@T] inputs [] outputs [] {
    // expected-error @+1 {{grid extent '1' is no multiple of the 2 blocks of a cluster of "k"}}
    engine.launch "a" [#engine.variant<@k grid [<"T">]>] args [@b]
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  // expected-error @+1 {{offset 32 must be a multiple of 64 within 64 bytes}}
  engine.arena_tier [] bytes 64 offsets [32]
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  // expected-error @+1 {{has 0 offsets for 1 arena, input and output buffers}}
  engine.arena_tier [] bytes 64 offsets []
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{is no instruction of a program}}
    engine.note "pass" "site" applied true
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{has no variant}}
    engine.launch "x" [] args []
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{variants must be #engine.variant attributes}}
    engine.launch "x" [@k] args []
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{a grid has one to three extents}}
    engine.launch "x" [#engine.variant<@k grid [<"1">, <"1">, <"1">, <"1">]>] args []
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{is neither a buffer, an expression nor an f64}}
    engine.launch "x" [#engine.variant<@k grid [<"1">]>] args [1.0 : f32]
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{is neither a buffer, an expression nor an f64}}
    engine.host_call "x" "f" args ["text"]
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{names @none, which is no engine.kernel}}
    engine.launch "x" [#engine.variant<@none grid [<"1">]>] args []
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{names @k, which is no engine.buffer}}
    engine.launch "x" [#engine.variant<@k grid [<"1">]>] args [@k]
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{names @none, which is no engine.buffer}}
    engine.launch "x" [#engine.variant<@k grid [<"1">]>] args [#engine.buffer<@none at <"0">>]
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{names @none, which is no engine.buffer}}
    engine.copy "x" <@b at <"0">> to <@none at <"0">> bytes <"4">
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{names @none, which is no engine.buffer}}
    engine.host_call "x" "f" args [@none]
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{names @none, which is no engine.buffer}}
    engine.segment "x" tap @none
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{names @none, which is no engine.buffer}}
    engine.collective "x" "all_reduce" f32 @none to @b count <"1"> over @g
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{names @b, which is no engine.rank_group}}
    engine.collective "x" "all_reduce" f32 @b to @b count <"1"> over @b
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{kind 'reduce' is none of}}
    engine.collective "x" "reduce" f32 @b to @b count <"1"> over @g
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{element type 'i7' has no storage}}
    engine.collective "x" "all_reduce" i7 @b to @b count <"1"> over @g
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{a peer goes with broadcast, send and receive, and only with them}}
    engine.collective "x" "send" f32 @b to @b count <"1"> over @g
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{receive counts go with all_to_all by counts, and only with it}}
    engine.collective "x" "all_to_all" f32 @b to @b count <"1"> over @g counts @b
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.program @p dims [] inputs [] outputs [] {
    // expected-error @+1 {{names the dim 'T', which is not declared}}
    engine.launch "x" [#engine.variant<@k grid [<"T">]>] args []
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{dims has @X, which is no engine.dim}}
  engine.program @p dims [@X] inputs [] outputs [] {
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{names @none, which is no engine.buffer}}
  engine.program @p dims [] inputs [@none] outputs [] {
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  // expected-error @+1 {{expects a symbol instead of "b"}}
  engine.program @p dims [] inputs [] outputs ["b"] {
  }
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.kernel @other from "x"
  engine.program @p dims [] inputs [] outputs [] {
    engine.segment "s"
    engine.launch "x" [#engine.variant<@k grid [<"1">]>] args []
  }
  // expected-error @+1 {{names @q, which is no engine.program}}
  engine.coverage @q 0 over [] by [@k]
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.kernel @other from "x"
  engine.program @p dims [] inputs [] outputs [] {
    engine.segment "s"
    engine.launch "x" [#engine.variant<@k grid [<"1">]>] args []
  }
  // expected-error @+1 {{@p has no instruction 1}}
  engine.coverage @p 1 over [] by [@k]
}

// -----

engine.unit @u <"host", backend = "x86", arch = "x86-64", preference = 1> {
  engine.buffer @b "arena" f32 [] bytes <"4">
  engine.kernel @k from "x"
  engine.rank_group @g [0]
  engine.kernel @other from "x"
  engine.program @p dims [] inputs [] outputs [] {
    engine.segment "s"
    engine.launch "x" [#engine.variant<@k grid [<"1">]>] args []
  }
  // expected-error @+1 {{instruction 0 of @p does not launch these kernels}}
  engine.coverage @p 0 over [] by [@other]
}

// -----

// expected-error @+1 {{pairs cannot have 4 columns}}
module attributes {test.sums = #engine.sums<pairs x 4>} {}

// -----

// expected-error @+1 {{sums need a group and a segment of columns and at least one part}}
module attributes {test.sums = #engine.sums<columns x 1, segment = -2>} {}

// -----

// expected-error @+1 {{sums of integers are exact: they have no segments and no parts}}
module attributes {test.sums = #engine.sums<integers x 32, group = 32, segment = 512>} {}

// -----

// expected-error @+1 {{"engine.determinism" is no attribute of the dialect}}
module attributes {engine.determinism = "fast"} {}
