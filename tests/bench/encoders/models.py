# SPDX-License-Identifier: Apache-2.0
"""Towers of published shapes, behind text parts that are as small as can be."""
import json
import shutil

TEXT = {"intermediate_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 32, "vocab_size": 288, "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-6, "bos_token_id": None, "eos_token_id": 282}
SIGLIP = {"hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-6, "num_channels": 3}


def change_settings(model, change):
    """Of how pictures are prepared."""
    file = model / "preprocessor_config.json"
    settings = json.loads(file.read_text())
    change(settings)
    file.write_text(json.dumps(settings))


class Tower:
    """What a picture costs: `tile` pixels a side that pictures are cut into or stretched to, 0 for
    those of their own size."""

    def __init__(self, name, folder, layers, width, inner, heads, patch, merge, out, extra=0,
                 tile=0, most=0):
        self.name, self.folder = name, folder
        self.layers, self.width, self.inner, self.heads = layers, width, inner, heads
        self.patch, self.merge, self.out, self.extra = patch, merge, out, extra
        self.tile, self.most = tile, most

    def tiles(self, width, height):
        """Sides of what is encoded, in patches."""
        if self.tile == 0:
            unit = self.patch * self.merge
            return [tuple(round(side / unit) * self.merge for side in (height, width))]
        side = self.tile // self.patch
        if self.most == 0:
            return [(side, side)]
        scale = self.most / max(width, height)
        cut = [-(-round(edge * scale) // self.tile) for edge in (height, width)]
        return [(side, side)] * (cut[0] * cut[1] + 1)

    def operations(self, width, height):
        """Floating-point operations of the products, of them those of attention."""
        linear = attention = 0
        for rows, columns in self.tiles(width, height):
            patches = rows * columns
            each = 4 * self.width ** 2 + 2 * self.width * self.inner
            linear += 2 * patches * (self.layers * each + 3 * self.patch ** 2 * self.width)
            attention += 4 * self.layers * patches ** 2 * self.width
            joined = self.merge ** 2 * self.width
            if self.name == "qwen3-vl-4b":
                linear += 2 * patches // self.merge ** 2 * (1 + self.extra) * (
                    joined ** 2 + joined * self.out)
            else:
                inputs = joined if self.most else self.width
                linear += 2 * patches // self.merge ** 2 * inputs * self.out
        return linear + attention, attention

    def weight_bytes(self):
        """Of the layers, in bf16: read once where a whole picture is encoded at once."""
        return 2 * self.layers * (4 * self.width ** 2 + 2 * self.width * self.inner)

    def write(self, data, folder, layers=None):
        """A folder for `ingot build --random-weights`: config of this shape, and the tokenizer of
        the small model of its family."""
        model = folder / self.name
        model.mkdir(parents=True, exist_ok=True)
        for file in (data / self.folder).iterdir():
            if file.suffix != ".safetensors":
                shutil.copy(file, model)
        config = json.loads((model / "config.json").read_text())
        config["dtype"] = "bfloat16"
        config["text_config"] |= {**TEXT, "hidden_size": self.out}
        config["vision_config"] |= self.vision(layers or self.layers)
        self.change(config, model)
        (model / "config.json").write_text(json.dumps(config))
        return model

    def vision(self, layers):
        return {"hidden_size": self.width, "intermediate_size": self.inner, "depth": layers,
                "num_hidden_layers": layers, "num_heads": self.heads,
                "num_attention_heads": self.heads, "patch_size": self.patch}

    def change(self, config, model):
        """What the family has of its own."""


class Qwen3Vl(Tower):
    @staticmethod
    def behind(layers):
        """Layers that a further merger follows."""
        return [min(5, layers - 3), min(11, layers - 2), min(17, layers - 1)]

    def change(self, config, model):
        for key in ("num_hidden_layers", "num_attention_heads"):
            config["vision_config"].pop(key)
        depth = config["vision_config"]["depth"]
        config["vision_config"] |= {
            "num_position_embeddings": 2304, "out_hidden_size": self.out,
            "deepstack_visual_indexes": self.behind(depth)}
        change_settings(model, lambda settings: settings.update(
            size={"shortest_edge": 65536, "longest_edge": 16777216}))


class Gemma3(Tower):
    def change(self, config, model):
        config["vision_config"] = {**SIGLIP, "model_type": "siglip_vision_model", "image_size": 896,
                                   "vision_use_head": False,
                                   **{key: value for key, value in config["vision_config"].items()
                                      if key not in ("depth", "num_heads", "image_size")}}
        config["mm_tokens_per_image"] = 256
        change_settings(model, lambda settings: settings.update(
            size={"height": self.tile, "width": self.tile}))


class SmolVlm(Tower):
    def change(self, config, model):
        config["vision_config"] = {**{key: value for key, value in config["vision_config"].items()
                                      if key not in ("depth", "num_heads")}, "image_size": 512}
        config["scale_factor"] = 4
        config["text_config"].pop("head_dim")
        config["text_config"] |= {"num_attention_heads": 15, "num_key_value_heads": 5,
                                  "vocab_size": 304}
        change_settings(model, lambda settings: settings.update(
            size={"longest_edge": self.most}, max_image_size={"longest_edge": self.tile}))


TOWERS = {tower.name: tower for tower in (
    Qwen3Vl("qwen3-vl-4b", "qwen3_vl", 24, 1024, 4096, 16, 16, 2, 2560, extra=3),
    Gemma3("gemma3-4b", "gemma3", 27, 1152, 4304, 16, 14, 4, 2560, tile=896),
    SmolVlm("smolvlm2-500m", "smolvlm", 12, 768, 3072, 12, 16, 4, 960, tile=512, most=2048))}
