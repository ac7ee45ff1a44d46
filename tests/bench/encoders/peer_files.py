# SPDX-License-Identifier: Apache-2.0
"""Towers as the second file that llama.cpp takes for pictures, of random weights, matrices in bf16;
needs numpy and llama.cpp's own package gguf."""
import gguf
import numpy as np

KINDS = {"qwen3-vl-4b": "qwen3vl_merger", "gemma3-4b": "gemma3", "smolvlm2-500m": "idefics3"}


class Encoder:
    """The file of one tower, with so many of its layers."""

    def __init__(self, tower, path, layers):
        self.tower, self.layers = tower, layers
        self.writer = gguf.GGUFWriter(path, "clip")
        random = np.random.default_rng(1)
        self.numbers = (random.standard_normal(1 << 20) * 0.02).astype(np.float32)
        self.is_qwen = tower.name == "qwen3-vl-4b"

    def take(self, *shape):
        return np.resize(self.numbers, shape)

    def vector(self, name, size, weight=False):
        self.writer.add_tensor(name, self.take(size) + weight)

    def matrix(self, name, rows, columns):
        """bf16: the upper halves of floats."""
        halves = (self.take(rows, columns).view(np.uint32) >> 16).astype(np.uint16)
        self.writer.add_tensor(name, halves.view(np.uint8),
                               raw_dtype=gguf.GGMLQuantizationType.BF16)

    def linear(self, name, rows, columns):
        self.matrix(name + ".weight", rows, columns)
        self.vector(name + ".bias", rows)

    def norm(self, name, size):
        self.vector(name + ".weight", size, weight=True)
        self.vector(name + ".bias", size)

    def merger(self, prefix, names):
        joined = self.tower.width * self.tower.merge ** 2
        self.linear(prefix + names[0], joined, joined)
        self.linear(prefix + names[1], self.tower.out, joined)

    def layer(self, index):
        tower, prefix = self.tower, f"v.blk.{index}."
        self.norm(prefix + "ln1", tower.width)
        self.norm(prefix + "ln2", tower.width)
        if self.is_qwen:
            self.linear(prefix + "attn_qkv", 3 * tower.width, tower.width)
        else:
            for name in ("q", "k", "v"):
                self.linear(f"{prefix}attn_{name}", tower.width, tower.width)
        self.linear(prefix + "attn_out", tower.width, tower.width)
        self.linear(prefix + "ffn_up", tower.inner, tower.width)
        self.linear(prefix + "ffn_down", tower.width, tower.inner)

    def settings(self):
        tower, writer = self.tower, self.writer
        writer.add_string("clip.projector_type", KINDS[tower.name])
        writer.add_bool("clip.has_vision_encoder", True)
        writer.add_bool("clip.use_gelu", True)
        side = tower.tile or 768
        for key, value in (("image_size", side), ("patch_size", tower.patch),
                           ("embedding_length", tower.width), ("feed_forward_length", tower.inner),
                           ("block_count", self.layers), ("projection_dim", tower.out),
                           ("attention.head_count", tower.heads)):
            writer.add_uint32("clip.vision." + key, value)
        writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-6)
        for key in ("image_mean", "image_std"):
            writer.add_array("clip.vision." + key, [0.5, 0.5, 0.5])
        key = "spatial_merge_size" if self.is_qwen else "projector.scale_factor"
        writer.add_uint32("clip.vision." + key, tower.merge)
        if tower.most:
            writer.add_uint32("clip.vision.preproc_image_size", tower.most)

    def write(self):
        tower = self.tower
        self.settings()
        patch = self.take(tower.width, 3, tower.patch, tower.patch).astype(np.float16)
        self.writer.add_tensor("v.patch_embd.weight", patch)
        self.vector("v.patch_embd.bias", tower.width)
        side = 48 if self.is_qwen else tower.tile // tower.patch
        self.writer.add_tensor("v.position_embd.weight", self.take(side * side, tower.width))
        for index in range(self.layers):
            self.layer(index)
        self.norm("v.post_ln", tower.width)
        if self.is_qwen:
            self.writer.add_tensor("v.patch_embd.weight.1", patch)
            self.merger("mm.", ("0", "2"))
            for index in tower.behind(self.layers):
                self.norm(f"v.deepstack.{index}.norm", tower.width * tower.merge ** 2)
                self.merger(f"v.deepstack.{index}.", ("fc1", "fc2"))
        elif tower.most:
            self.matrix("mm.model.fc.weight", tower.out, tower.width * tower.merge ** 2)
        else:
            self.vector("mm.soft_emb_norm.weight", tower.width, weight=True)
            self.writer.add_tensor("mm.input_projection.weight", self.take(tower.width, tower.out))
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def write(tower, folder, layers=None):
    """The path of the file."""
    path = folder / f"{tower.name}.gguf"
    if not path.exists():
        Encoder(tower, path, layers or tower.layers).write()
    return path
