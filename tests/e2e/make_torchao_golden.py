#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes torchao_int4.safetensors: a matrix as torchao saves it, beside the values that torchao
0.18 takes it for. Its quantizer needs a library for GPUs, so numbers are packed here."""
import pathlib

import safetensors.torch
import torch
from torchao.prototype.gptq import api
from torchao.prototype.safetensors import safetensors_support
from torchao.quantization import Int4Tensor

NAME = "model.layers.0.self_attn.k_proj.weight"
ROWS, COLUMNS, GROUP = 32, 64, 32


def main():
    torch.manual_seed(1)
    weight = torch.randn(ROWS, COLUMNS) / 8
    groups = weight.reshape(ROWS, -1, GROUP)
    scales = ((groups.amax(2) - groups.amin(2)) / 15).T.contiguous().bfloat16()
    middles = (groups.amin(2).T + 8 * scales.float()).contiguous().bfloat16()
    middles[0, :2] = torch.tensor((0, 2.0**-40))  # Nothing, and less than f32 can add exactly.
    stored = api._int4_row_quantize_zp_precomputed_qparams(
        weight, scales.float(), middles.float(), GROUP)
    packed = (stored[:, ::2] & 15) | (stored[:, 1::2] << 4)
    tensors, metadata = safetensors_support.flatten_tensor_state_dict({NAME: Int4Tensor(
        packed.contiguous(), scales, middles, [1, GROUP], torch.Size((ROWS, COLUMNS)))})
    tensors["values"] = api._int4_row_dequantize_zp(stored, scales.float(), middles.float(), GROUP)
    safetensors.torch.save_file(
        tensors, pathlib.Path(__file__).with_name("torchao_int4.safetensors"), metadata)


if __name__ == "__main__":
    main()
