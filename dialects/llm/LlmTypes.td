// SPDX-License-Identifier: Apache-2.0
// Types and attributes of the llm dialect.
#ifndef INGOT_DIALECTS_LLM_LLMTYPES_TD
#define INGOT_DIALECTS_LLM_LLMTYPES_TD

include "dialects/llm/EncodedWeight.td"
include "dialects/llm/LlmDialect.td"

def Llm_KvType : TypeDef<Llm_Dialect, "Kv"> {
  let mnemonic = "kv";
  let summary = "The paged KV cache of one layer";
  let description = [{
    A block holds `blockTokens` positions: keys `[heads][blockTokens][headDim]` of `element`, then
    values `[heads][blockTokens][valueDim]`; for 8-bit elements then the scales of keys and of
    values, f32 `[heads][blockTokens]` each: value = element * scale. Sections start at multiples of
    64 bytes. Without `values = N` values have as many columns as keys.

    A `latent` cache (multi-head latent attention, arXiv 2405.04434) has one head and no sections of
    values: values are the first valueDim columns of the keys.

    With `window` w no token attends to more than the last w positions, its own among them: blocks
    that all later tokens have passed go back. 0: every position is kept. Caches of one window
    share a KV group and its block table; latent ones have another.

    Examples: `!llm.kv<2 x 64 x bf16, block = 16, window = 512>`,
    `!llm.kv<1 x 576 x bf16, block = 16, values = 512, latent>`.
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$headDim, "::mlir::Type":$element,
                        "int64_t":$blockTokens, "int64_t":$window, "int64_t":$valueDim,
                        "bool":$latent);
  let builders = [TypeBuilder<(ins "int64_t":$heads, "int64_t":$headDim, "::mlir::Type":$element,
                                   "int64_t":$blockTokens, CArg<"int64_t", "0">:$window), [{
    return $_get($_ctxt, heads, headDim, element, blockTokens, window, headDim, false);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether blocks carry a scale per token and head.
    bool hasScales() const;
    /// Whether keys and values have sections of equal shape, which fused kernels ask for.
    bool isUniform() const { return !getLatent() && getValueDim() == getHeadDim(); }
    /// Byte offsets of a block's sections; keys are at 0, and values of a latent cache too.
    int64_t valuesOffset() const;
    int64_t keyScalesOffset() const;
    int64_t valueScalesOffset() const;
    /// Bytes of one block.
    int64_t blockBytes() const;
    /// The same with elements of another type.
    KvType withElement(::mlir::Type element) const;
  }];
}

def Llm_StateType : TypeDef<Llm_Dialect, "State"> {
  let mnemonic = "state";
  let summary = "What a sequence keeps between steps besides KV";
  let description = [{
    Without `block` a row for each sequence slot. With it recurrent state: a row is the state behind
    a token, and a row in a block of the KV group "recurrent" stands for the last token in each
    block of so many positions. Operations read the row behind the token before a sequence's first
    one of the step, or take zeros where that is at position 0, and write the rows behind the last
    token of each block that the step reaches, unless the block table says -1 there.

    Examples: `!llm.state<tensor<2048xi32>>`: 2048 integers a slot;
    `!llm.state<tensor<3x64xf32>, block = 16>`: 3 x 64 numbers of a sequence.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$row,
                        DefaultValuedParameter<"int64_t", "0">:$blockTokens);
  let builders = [TypeBuilder<(ins "::mlir::RankedTensorType":$row), [{
    return $_get($_ctxt, row, 0);
  }]>];
  let assemblyFormat = "`<` $row (`,` `block` `=` $blockTokens^)? `>`";
  let extraClassDeclaration = [{
    /// Bytes of a row in a block.
    int64_t blockBytes() const;
  }];
}

def Llm_EncodingAttr : AttrDef<Llm_Dialect, "Encoding"> {
  let mnemonic = "encoding";
  let summary = "How stored integers or 8-bit floats stand for a weight's values";
  let description = [{
    value[n,k] = scale[n, k / group] * (stored[n,k] - zero[n, k / group]).
    `group` = 0: one scale per row ("channel"); -1: one scale for the weight ("tensor").
    Scales are f32, f16 or bf16.
    - `int8`: i8; zero is 0, or with `zero_points` stored as i8.
    - `int2`, `int3`, `int4`, `int5`, `int6`: integers of so many bits, read as unsigned; zero is
      half of their range (8 for int4), or with `zero_points` stored as i8 within the range.
    - `fp8`: f8E4M3FN, zero = 0.
    Others use the third tensor, "zeros", in another way:
    - `affine2`, `affine4`, `affine5`: unsigned integers; `affine8`: i8. value = scale * stored +
      zeros[n, k / group], rounded after the product and after the sum; zeros have the scales' type.
      They are ggml's minima.
    - `codebook4`: i4 elements 0 ... 15. value = scale * zeros[stored]; zeros are 16 f32 numbers.
    - `codebook8`: i8 elements read as 0 ... 255, and 256 numbers. Of scales, while weights are
      made: no kernel reads it.

    Scales themselves may be stored in fewer bits, with a fourth tensor, "super_scales":
    - `scales = blocks`: scale[n, g] = super_scales[n, b] * code[n, g] in f32, where b is the block
      of 256 columns that group g is in; codes are i4 or i6, less half of their range, or i8. Of
      affine encodings codes of scales and of zeros are both unsigned, and super-block scales have
      two numbers for each block: of scales (column 2b) and of zeros (2b + 1). They are f16 or f32.
      Rows are whole blocks.
    - `scales = table`: scale[n, g] = super_scales[code[n, g]]; codes are i8 read as 0 ... 255, and
      the fourth tensor is a table of 256 f32 numbers.

    Example: `#llm.encoding<"int4", group = 64, zero_points = false>`.
  }];
  let parameters = (ins "::ingot::EncodingKind":$kind, "int64_t":$group, "bool":$zeroPoints,
                        "::ingot::ScaleForm":$scales);
  let builders = [AttrBuilder<(ins "::ingot::Encoding":$encoding), [{
    return $_get($_ctxt, encoding.kind, encoding.group, encoding.zeroPoints, encoding.scales);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// What follows from it.
    Encoding facts() const { return {getKind(), getGroup(), getZeroPoints(), getScales()}; }
  }];
}

def Llm_ComputeAttr : AttrDef<Llm_Dialect, "Compute"> {
  let mnemonic = "compute";
  let summary = "What products of encoded weights read: activations of 8 bits";
  let description = [{
    `element`: i8 or f8E4M3FN. Scales are found at run time, one for each row or for each `group` of
    its columns, or with `static_scales` are the checkpoint's.

    Example: `#llm.compute<i8, group = 32>`.
  }];
  let parameters = (ins "::mlir::Type":$element,
                        DefaultValuedParameter<"bool", "false">:$static_scales,
                        DefaultValuedParameter<"int64_t", "0">:$group);
  let assemblyFormat = "`<` $element (`,` struct($static_scales, $group)^)? `>`";
  let genVerifyDecl = 1;
}

def Llm_Activation : RankedTensorOf<[F32, F16, BF16]>;
def Llm_MatmulInput : RankedTensorOf<[F32, F16, BF16, F8E4M3FN, I8]>;
def Llm_WeightTensor : RankedTensorOf<[F32, F16, BF16, F8E4M3FN, I8, I<2>, I<3>, I<4>, I<5>,
                                        I<6>]>;
def Llm_IndexTensor : RankedTensorOf<[I32]>;

#endif
