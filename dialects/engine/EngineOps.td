// SPDX-License-Identifier: Apache-2.0
// Operations of the engine dialect; each stands for one table of runtime/schema/Engine.fbs.
#ifndef INGOT_DIALECTS_ENGINE_ENGINEOPS_TD
#define INGOT_DIALECTS_ENGINE_ENGINEOPS_TD

include "dialects/engine/EngineAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Engine_Op<string mnemonic, list<Trait> traits = []> : Op<Engine_Dialect, mnemonic, traits>;
/// An operation that names symbols of its unit.
class Engine_UserOp<string mnemonic, list<Trait> traits = []>
    : Engine_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)>;

/// An instruction of a program.
def Engine_Instruction : NativeOpTrait<"Instruction"> { let cppNamespace = "::ingot::engine"; }

def Engine_ExprArray : TypedArrayAttrBase<Engine_ExprAttr, "array of expressions">;
def Engine_RangeArray : TypedArrayAttrBase<Engine_RangeAttr, "array of ranges">;
def Engine_TensorMapArray : TypedArrayAttrBase<Engine_TensorMapAttr, "array of tensor maps">;

// ---- Declarations of an engine ----------------------------------------------------------------

def Engine_DimOp : Engine_Op<"dim", [Symbol]> {
  let summary = "A named integer and the inclusive range it is declared for";
  let description = [{
    `source` is `step`, `load` or `device`: when the value is known.

    ```mlir
    engine.dim @T "step" 1 to 512
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$source, I64Attr:$min, I64Attr:$max);
  let assemblyFormat = "$sym_name $source $min `to` $max attr-dict";
  let hasVerifier = 1;
}

def Engine_WeightOp : Engine_Op<"weight", [Symbol]> {
  let summary = "A weight of the file: logical type, with its layout as the tensor's encoding";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
                       DefaultValuedAttr<StrAttr, "\"\"">:$format);
  let assemblyFormat = "$sym_name $type (`format` $format^)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Bytes in the file, padding included.
    int64_t byteSize();
  }];
}

def Engine_UnitOp : Engine_UserOp<"unit", [Symbol, SymbolTable, NoTerminator, IsolatedFromAbove,
                                           SingleBlock]> {
  let summary = "Everything of one target: kernels, buffers, programs, memory contract";
  let description = [{
    Runs as process `rank` of `ranks`. `toolkit` and `minimum_driver` record what compiled the
    kernels and the oldest driver that loads them, where the target has such.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Engine_TargetAttr:$target,
                       DefaultValuedAttr<I64Attr, "0">:$rank,
                       DefaultValuedAttr<I64Attr, "1">:$ranks, OptionalAttr<StrAttr>:$toolkit,
                       OptionalAttr<StrAttr>:$minimum_driver);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $target (`rank` $rank `of` $ranks^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Engine_KvGroupOp : Engine_Op<"kv_group", [Symbol]> {
  let summary = "Buffers whose blocks are handed out together";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind, I64Attr:$block_tokens,
                       DefaultValuedAttr<I64Attr, "0">:$window);
  let assemblyFormat = "$sym_name $kind `block` $block_tokens (`window` $window^)? attr-dict";
  let hasVerifier = 1;
}

def Engine_RankGroupOp : Engine_Op<"rank_group", [Symbol]> {
  let summary = "Ranks that take part in a collective";
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$ranks);
  let assemblyFormat = "$sym_name $ranks attr-dict";
  let hasVerifier = 1;
}

def Engine_BufferOp : Engine_UserOp<"buffer", [Symbol]> {
  let summary = "Memory of a target";
  let description = [{
    `role` is input, output, weight, arena, kv, state or slot. `shape` counts elements; of kv and
    state buffers it describes one block or row, as does `bytes`. `group` is the KV group of a kv
    buffer, or the group whose block table an input holds. An arena buffer that is `zeroed` is zero
    at load and keeps its memory between programs.

    ```mlir
    engine.buffer @x "arena" f32 [#engine.expr<"T">, #engine.expr<"256">]
        bytes #engine.expr<"T * 1024">
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$role, TypeAttr:$element,
                       Engine_ExprArray:$shape, Engine_ExprAttr:$bytes,
                       OptionalAttr<FlatSymbolRefAttr>:$weight,
                       OptionalAttr<FlatSymbolRefAttr>:$group, OptionalAttr<StrAttr>:$tap,
                       UnitAttr:$zeroed);
  let assemblyFormat = [{
    $sym_name $role $element $shape `bytes` $bytes (`weight` $weight^)? (`group` $group^)?
    (`tap` $tap^)? (`zeroed` $zeroed^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Engine_LibraryOp : Engine_Op<"library", [Symbol]> {
  let summary = "A compiled binary of kernels; its bytes are a section of the file";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind);
  let assemblyFormat = "$sym_name $kind attr-dict";
  let hasVerifier = 1;
}

def Engine_KernelOp : Engine_UserOp<"kernel", [Symbol, IsolatedFromAbove]> {
  let summary = "A kernel: what it is made from, and the shapes it is correct for";
  let description = [{
    `source` names a kernel template of the target, `constants` specialise it, and the region, where
    present, is its epilogue (block arguments and yielded value f32). Compilation sets `library` and
    `facts`, whose values are strings.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$source,
                       DefaultValuedAttr<DictionaryAttr, "{}">:$constants,
                       DefaultValuedAttr<Engine_RangeArray, "{}">:$guards,
                       DefaultValuedAttr<I64Attr, "0">:$scratch_bytes,
                       DefaultValuedAttr<I64Attr, "0">:$shared_bytes,
                       OptionalAttr<DenseI64ArrayAttr>:$block,
                       OptionalAttr<DenseI64ArrayAttr>:$cluster,
                       DefaultValuedAttr<Engine_TensorMapArray, "{}">:$tensor_maps,
                       UnitAttr:$spmd, OptionalAttr<FlatSymbolRefAttr>:$library,
                       OptionalAttr<DictionaryAttr>:$facts);
  let regions = (region AnyRegion:$epilogue);
  let assemblyFormat = [{
    $sym_name `from` $source (`constants` $constants^)? (`guards` $guards^)?
    (`scratch` $scratch_bytes^)? (`shared` $shared_bytes^)? (`block` $block^)?
    (`cluster` $cluster^)? (`maps` $tensor_maps^)? (`spmd` $spmd^)? (`library` $library^)?
    (`facts` $facts^)? attr-dict (`epilogue` $epilogue^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Adds to what is stated of the kernel; `more` wins.
    void addFacts(::llvm::ArrayRef<::mlir::NamedAttribute> more);
  }];
}

def Engine_YieldOp : Engine_Op<"yield", [Pure, Terminator, ParentOneOf<["KernelOp"]>]> {
  let summary = "The value of a kernel's epilogue";
  let arguments = (ins F32:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Engine_ArenaTierOp : Engine_Op<"arena_tier"> {
  let summary = "Arena plan for steps within `limits`";
  let description = "`offsets` has one entry per arena, input and output buffer of the unit.";
  let arguments = (ins Engine_RangeArray:$limits, I64Attr:$bytes, DenseI64ArrayAttr:$offsets);
  let assemblyFormat = "$limits `bytes` $bytes `offsets` $offsets attr-dict";
  let hasVerifier = 1;
}

def Engine_CoverageOp : Engine_UserOp<"coverage"> {
  let summary = "A row of the coverage proof: an instruction is covered over `ranges` by `kernels`";
  let description = [{
    `instruction` counts the instructions of `program` from 0; engine.segment is none.

    ```mlir
    engine.coverage @step 3 over [#engine.range<"T", 1, 512>] by [@matmul_0, @matmul_1]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$program, I64Attr:$instruction, Engine_RangeArray:$ranges,
                       ArrayAttr:$kernels);
  let assemblyFormat = "$program $instruction `over` $ranges `by` $kernels attr-dict";
}

def Engine_NoteOp : Engine_Op<"note"> {
  let summary = "What a pass did at a site, or why it declined";
  let arguments = (ins StrAttr:$pass, StrAttr:$site, BoolAttr:$applied,
                       DefaultValuedAttr<StrAttr, "\"\"">:$reason);
  let assemblyFormat = "$pass $site `applied` $applied (`because` $reason^)? attr-dict";
}

// ---- Programs and instructions ----------------------------------------------------------------

def Engine_ProgramOp : Engine_UserOp<"program", [Symbol, NoTerminator, SingleBlock]> {
  let summary = "A straight line of instructions over the target's buffers";
  let description = "`dims`, `inputs` and `outputs` are lists of symbols.";
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$dims, ArrayAttr:$inputs,
                       ArrayAttr:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `dims` $dims `inputs` $inputs `outputs` $outputs attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def Engine_LaunchOp : Engine_UserOp<"launch", [Engine_Instruction]> {
  let summary = "Runs the first variant whose ranges hold";
  let description = [{
    Arguments: `@buffer`, `#engine.buffer<@buffer at #engine.expr<...>>`, `#engine.expr<...>` for an
    integer, or an f64. A grid whose extents include a zero runs nothing.
  }];
  let arguments = (ins StrAttr:$site, ArrayAttr:$variants, ArrayAttr:$args);
  let assemblyFormat = "$site $variants `args` $args attr-dict";
  let hasVerifier = 1;
}

def Engine_CopyOp : Engine_UserOp<"copy", [Engine_Instruction]> {
  let summary = "Copies bytes from one buffer to another";
  let arguments = (ins StrAttr:$site, Engine_BufferArgAttr:$source,
                       Engine_BufferArgAttr:$destination, Engine_ExprAttr:$bytes);
  let assemblyFormat = "$site $source `to` $destination `bytes` $bytes attr-dict";
}

def Engine_CollectiveOp : Engine_UserOp<"collective", [Engine_Instruction]> {
  let summary = "An exchange between the ranks of a group";
  let description = [{
    `kind` is all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send or receive. With
    `counts` the per-rank element counts are read from that i32 buffer on the device, and `count` is
    the bound and stride of each rank's part; all_to_all then also needs `receive_counts`.
  }];
  let arguments = (ins StrAttr:$site, StrAttr:$kind, TypeAttr:$element,
                       FlatSymbolRefAttr:$source, FlatSymbolRefAttr:$destination,
                       Engine_ExprAttr:$count, FlatSymbolRefAttr:$group,
                       OptionalAttr<FlatSymbolRefAttr>:$counts,
                       OptionalAttr<FlatSymbolRefAttr>:$receive_counts,
                       DefaultValuedAttr<I64Attr, "-1">:$peer);
  let assemblyFormat = [{
    $site $kind $element $source `to` $destination `count` $count `over` $group
    (`counts` $counts^)? (`receive_counts` $receive_counts^)? (`peer` $peer^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Engine_HostCallOp : Engine_UserOp<"host_call", [Engine_Instruction]> {
  let summary = "A function of the runtime, by name";
  let arguments = (ins StrAttr:$site, StrAttr:$function, ArrayAttr:$args);
  let assemblyFormat = "$site $function `args` $args attr-dict";
  let hasVerifier = 1;
}

def Engine_SegmentOp : Engine_UserOp<"segment", [Engine_Instruction]> {
  let summary = "Ends a segment, which holds the instructions since the one before";
  let arguments = (ins StrAttr:$name, OptionalAttr<FlatSymbolRefAttr>:$tap);
  let assemblyFormat = "$name (`tap` $tap^)? attr-dict";
}

#endif
