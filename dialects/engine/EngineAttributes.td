// SPDX-License-Identifier: Apache-2.0
// Attributes of the engine dialect: expressions, ranges, layouts and targets, and arguments and
// variants of launches.
#ifndef INGOT_DIALECTS_ENGINE_ENGINEATTRIBUTES_TD
#define INGOT_DIALECTS_ENGINE_ENGINEATTRIBUTES_TD

include "dialects/engine/EngineDialect.td"
include "mlir/IR/EnumAttr.td"

class Engine_Attr<string name, string mnemonicName> : AttrDef<Engine_Dialect, name> {
  let mnemonic = mnemonicName;
}

def Engine_ExprAttr : Engine_Attr<"Expr", "expr"> {
  let summary = "Integer expression over named dims";
  let description = [{
    Text form: decimal constants, dim names, `+ - * ceildiv floordiv min max` and parentheses, all
    left-associative with the usual precedence (`min` and `max` bind weakest).

    Reading and `getExpr` put the text into its canonical spelling, so that equal postfix lists are
    equal attributes.

    Example: `#engine.expr<"T ceildiv 16 * 4">`.
  }];
  let parameters = (ins StringRefParameter<"canonical text">:$text);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The value, when it depends on no dim.
    std::optional<int64_t> constantValue() const;
  }];
}

def Engine_RangeAttr : Engine_Attr<"Range", "range"> {
  let summary = "Inclusive range of one dim";
  let description = "Example: `#engine.range<\"T\", 1, 16>`.";
  let parameters = (ins StringRefParameter<"dim">:$dim, "int64_t":$min, "int64_t":$max);
  let assemblyFormat = "`<` $dim `,` $min `,` $max `>`";
  let genVerifyDecl = 1;
}

def Engine_TensorMapAttr : Engine_Attr<"TensorMap", "tensor_map"> {
  let summary = "How tensor copies (TMA) of a kernel read a buffer: a descriptor's recipe";
  let description = [{
    Buffer argument number `buffer` is `rows` rows of `row_bytes` bytes, one after the other; a copy
    brings `box_rows` rows of `box_bytes` bytes, with zeros for what lies beyond. `rows` is a number
    or, in quotes, an expression over the dims. The device encodes the recipe for the buffer's
    address and the step's rows, and hands it over after all other arguments.

    `element`, of 8 bytes where none is stated, is what coordinates count; a box has at most 256
    rows and 256 elements a row, and rows and boxes are multiples of 16 bytes. `swizzle`, of 32, 64
    or 128 bytes, is how 16-byte units of a box change places in shared memory; its rows are no
    longer than that.

    `fenced`: before its first copy by the map the kernel fences the asynchronous proxy off from
    what earlier launches stored. A launch must not read by another map what launches write.

    Example: `#engine.tensor_map<buffer = 0, rows = "T" x 8192, box = 64 x 128, element = bf16,
    swizzle = 128, fenced = true>`.
  }];
  let parameters = (ins "int64_t":$buffer, "::ingot::engine::ExprAttr":$rows, "int64_t":$rowBytes,
                        "int64_t":$boxRows, "int64_t":$boxBytes,
                        OptionalParameter<"::mlir::Type">:$element,
                        DefaultValuedParameter<"int64_t", "0">:$swizzle,
                        DefaultValuedParameter<"bool", "false">:$fenced);
  let assemblyFormat = [{
    `<` `buffer` `=` $buffer `,` `rows` `=` custom<TensorRows>($rows) `x` $rowBytes `,`
       `box` `=` $boxRows `x` $boxBytes (`,` struct($element, $swizzle, $fenced)^)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// What coordinates count.
    ::ingot::ElementType elementType() const;
  }];
}

def Engine_LayoutAttr : Engine_Attr<"Layout", "layout"> {
  let summary = "Order of a weight's elements in memory: a mixed-radix permutation of digits";
  let description = [{
    A digit is (axis, stride, radix): it takes `radix` values and moves `stride` elements along
    `axis`. Digits are listed from the outermost (slowest in memory) to the innermost. Every
    element's index along an axis is the sum of digit value times stride over that axis. The
    product of the radices along an axis may exceed the weight's extent: the elements beyond are
    zero. Elements of fewer than 8 bits fill bytes from the low bits up.

    Example, 16-row panels stored column by column for a 2048 x 256 weight:
    `#engine.layout<[0, 16, 128], [1, 1, 256], [0, 1, 16]>`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t", "axis, stride, radix of each digit">:$digits);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    struct Digit { int64_t axis, stride, radix; };
    /// The digits, outermost first.
    ::llvm::SmallVector<Digit> digitList() const;
    /// Number of element places, padding included.
    int64_t places() const;
    /// Extent along `axis` that the digits can address, padding included.
    int64_t extent(int64_t axis) const;
    /// Rows that a contiguous run of memory holds: the stride of the outermost digit when it is
    /// along axis 0, else the whole extent. Streams cut weights at multiples of this.
    int64_t rowBlock() const;
    /// Row-major order of a rows x cols weight.
    static LayoutAttr rowMajor(::mlir::MLIRContext *context, int64_t rows, int64_t cols);
  }];
}

def Engine_SumUnit : I64EnumAttr<"SumUnit", "What joins an f32 sum at once", [
    I64EnumAttrCase<"Products", 0, "products">, I64EnumAttrCase<"Columns", 1, "columns">,
    I64EnumAttrCase<"Pairs", 2, "pairs">, I64EnumAttrCase<"Halves", 3, "halves">,
    I64EnumAttrCase<"Tensor", 4, "tensor">, I64EnumAttrCase<"Integers", 5, "integers">,
    I64EnumAttrCase<"Lanes", 6, "lanes">, I64EnumAttrCase<"WarpGroup", 7, "warpgroup">]> {
  let cppNamespace = "::ingot::engine";
  let genSpecializedAttr = 0;
}

def Engine_SumsAttr : Engine_Attr<"Sums", "sums"> {
  let summary = "In which order numbers are added, and what is added exactly";
  let description = [{
    Numbers are the k products of an element; those of a norm's row; the products of a token's rows
    and their weights; in attention those of q . k by columns, and of a position's weight and values
    by positions. What follows calls all of them columns.

    `unit`, of `width` columns, is what joins a sum in f32 at once:
    - `products`: each rounded to f32, in order (width 1);
    - `columns`: each by a fused multiply-add, in order (width 1);
    - `pairs`: the odd one of two, then the even one, each fused (width 2; VDPBF16PS);
    - `halves`: the even ones' products and the odd ones' summed apart, each fused and in order, and
      the two sums together (width up to 32; TDPBF16PS);
    - `tensor`: as a tensor core of the target's architecture adds `width` products. Where it keeps
      fewer bits than f32, `width` is what it sums before that is added to an f32 sum (promotion);
    - `warpgroup`: the same of wgmma, whose sums may have other bits than those of mma.sync;
    - `integers`: exact, over a group;
    - `lanes`: a warp's 32 lanes take `width` columns by turns and add theirs in order; sums of
      lanes 16 apart are added, of these 8 apart, and so on. Attention sums positions as `columns`.

    `group`: columns whose sum, of numbers as they are stored, is then multiplied by their scale and
    joins the sum of the segment, or of all groups, by a fused multiply-add; 0: scales are applied
    to weights before they are multiplied, or to the whole sum, or there are none.

    `segment`: columns of k whose sum is formed alone; segments are added in order, which lets
    blocks share k: one partial sum a segment, whatever the number of blocks. 0: all of k. -1: each
    kernel has its own (`--determinism fast`). Of attention: positions that are summed alone, at
    multiples of their number.

    `parts`: parts of bf16 that an input, or a weight of attention, is summed as, one behind the
    other. In which order attention adds the weights themselves is the kernel's business then, or
    with a `tensor` unit or `lanes`.

    `fields`: eight columns are taken in the order 0, 2, 1, 3, 4, 6, 5, 7, as packed fields of a
    weight come out of vectors of 16-bit words.

    Example: `#engine.sums<tensor x 16, group = 32, segment = 1024>`.
  }];
  let parameters = (ins EnumParameter<Engine_SumUnit>:$unit, "int64_t":$width,
                        DefaultValuedParameter<"int64_t", "0">:$group,
                        DefaultValuedParameter<"int64_t", "0">:$segment,
                        DefaultValuedParameter<"int64_t", "1">:$parts,
                        DefaultValuedParameter<"bool", "false">:$fields);
  let builders = [AttrBuilder<(ins "::ingot::engine::SumUnit":$unit, "int64_t":$width,
                                   CArg<"int64_t", "0">:$group, CArg<"int64_t", "0">:$segment,
                                   CArg<"int64_t", "1">:$parts, CArg<"bool", "false">:$fields), [{
    return $_get($_ctxt, unit, width, group, segment, parts, fields);
  }]>];
  let skipDefaultBuilders = 1;
  let assemblyFormat = [{
    `<` $unit `x` $width (`,` struct($group, $segment, $parts, $fields)^)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether a kernel that sums as `kernel` does may run where this is asked for.
    bool admits(SumsAttr kernel) const;
    /// The text between the brackets.
    std::string text() const;
  }];
}

def Engine_Determinism : I64EnumAttr<
    "Determinism", "Whether a token's bits may depend on its batch", [
    I64EnumAttrCase<"Strict", 0, "strict">, I64EnumAttrCase<"Fast", 1, "fast">]> {
  let cppNamespace = "::ingot::engine";
  let genSpecializedAttr = 0;
}

def Engine_DeterminismAttr : EnumAttr<Engine_Dialect, Engine_Determinism, "determinism"> {
  let assemblyFormat = "`<` $value `>`";
}

def Engine_TuningAttr : Engine_Attr<"Tuning", "tuning"> {
  let summary = "A line of the tuning lockfile: the kernel of a product at some numbers of rows";
  let description = [{
    `key` names operation, sizes and format; `candidate` the kernel among those that the target has
    for it; `digest` what the kernel was made from when it was measured. The module's
    `engine.tuning` lists those of its target.

    Example:
    `#engine.tuning<"matmul 4096 512 bf16*i4.64" rows 1 to 16 kernel "t8x1" digest "0f">`.
  }];
  let parameters = (ins StringRefParameter<>:$key, "int64_t":$min, "int64_t":$max,
                        StringRefParameter<>:$candidate, StringRefParameter<>:$digest);
  let assemblyFormat = [{
    `<` $key `rows` $min `to` $max `kernel` $candidate `digest` $digest `>`
  }];
}

def Engine_TargetAttr : Engine_Attr<"Target", "target"> {
  let summary = "Facts about the hardware that an engine is built for";
  let description = [{
    `name` is the text the user asked with, `backend` the folder under codegen that owns it,
    `features` what the device must have, `preference` orders runnable targets at load (higher
    first).

    Example: `#engine.target<"x86-64-v4+vnni", backend = "x86", arch = "x86-64", preference = 40,
    features = ["avx512f", "avx512vnni"]>`.
  }];
  let parameters = (ins StringRefParameter<>:$name, StringRefParameter<>:$backend,
                        StringRefParameter<>:$arch,
                        OptionalArrayRefParameter<"::mlir::StringAttr">:$features,
                        "int64_t":$preference);
  let assemblyFormat = [{
    `<` $name `,` `backend` `=` $backend `,` `arch` `=` $arch `,` `preference` `=` $preference
       (`,` `features` `=` `[` $features^ `]`)? `>`
  }];
}

def Engine_BufferArgAttr : Engine_Attr<"BufferArg", "buffer"> {
  let summary = "A buffer at a byte offset, as a launch argument";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$buffer, "::ingot::engine::ExprAttr":$offset);
  let assemblyFormat = "`<` $buffer `at` $offset `>`";
}

def Engine_VariantAttr : Engine_Attr<"Variant", "variant"> {
  let summary = "One kernel of a launch: taken where all ranges hold; the first match wins";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$kernel,
                        OptionalArrayRefParameter<"::ingot::engine::RangeAttr">:$ranges,
                        ArrayRefParameter<"::ingot::engine::ExprAttr">:$grid);
  let assemblyFormat = [{
    `<` $kernel (`where` `[` $ranges^ `]`)? `grid` `[` $grid `]` `>`
  }];
}

#endif
