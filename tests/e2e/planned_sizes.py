# SPDX-License-Identifier: Apache-2.0
"""What `ingot plan` says of published sizes: caches, states and weights, as they follow from
config.json alone."""
import json
import shutil
import sys

import harness

sys.path.append(str(harness.ROOT / "tests" / "shapes"))
import models  # noqa: E402

RECIPE = "version: 1\nweights:\n  - {{match: '*', format: bf16}}\n" \
         "activations: bf16\nkv_cache: {}\n"
CONTEXTS = (8192, 131072)
BLOCK = 16  # Positions.
STEP = 512  # Tokens.
STATES = 4  # That each sequence keeps of what has no positions.


def attention_of(config, layer):
    """KV heads, columns of each, and the window of a layer that keeps keys and values."""
    heads, columns = config["num_key_value_heads"], config.get(
        "head_dim", config["hidden_size"] // config["num_attention_heads"])
    if config["layer_types"][layer] == "sliding_attention":
        return heads, columns, config["sliding_window"]
    if config.get("attention_k_eq_v"):
        heads = config.get("num_global_key_value_heads", heads)
    return heads, config.get("global_head_dim", columns), 0


def expected_groups(config, bytes_of_head):
    """(bytes of a block, blocks of a sequence of each context) of every group."""
    owners = config["num_hidden_layers"] - config.get("num_kv_shared_layers", 0)
    windows, states = {}, 0
    for layer in range(owners):
        if config["layer_types"][layer] == "conv":
            states += 4 * config["hidden_size"] * (config.get("conv_L_cache", 3) - 1)
            continue
        heads, columns, window = attention_of(config, layer)
        windows[window] = windows.get(window, 0) + 2 * heads * bytes_of_head(columns)
    groups = [(BLOCK * size, [min(-(-context // BLOCK), -(-(window + STEP) // BLOCK) + 1)
                              if window else -(-context // BLOCK) for context in CONTEXTS])
              for window, size in windows.items()]
    return sorted(groups + ([(states, [STATES] * len(CONTEXTS))] if states else []))


def lfm2_weights(config):
    """Bytes in bf16; the head is the embedding."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    heads, columns, _ = attention_of(config, config["layer_types"].index("full_attention"))
    attention = 2 * hidden * hidden + 2 * heads * columns * hidden + 2 * columns
    convolution = 4 * hidden * hidden + config.get("conv_L_cache", 3) * hidden
    return 2 * (config["vocab_size"] * hidden + hidden + sum(
        2 * hidden + 3 * hidden * inner + (convolution if kind == "conv" else attention)
        for kind in config["layer_types"]))


def deepseek_weights(config):
    """Bytes in bf16 of latent attention and its experts."""
    hidden, heads, dense = (config[key] for key in (
        "hidden_size", "num_attention_heads", "first_k_dense_replace"))
    query, rank, plain, rotary, value, inner = 1536, 512, 128, 64, 128, 2048
    attention = (hidden * query + query + heads * (plain + rotary) * query
                 + (rank + rotary) * hidden + rank + heads * (plain + value) * rank
                 + hidden * heads * value)
    sparse = (config["n_routed_experts"] * (hidden + 1 + 3 * hidden * inner)
              + 3 * hidden * inner)
    layers = config["num_hidden_layers"]
    return 2 * (2 * config["vocab_size"] * hidden + hidden + layers * (2 * hidden + attention)
                + dense * 3 * hidden * config["intermediate_size"] + (layers - dense) * sparse)


class PlannedSizes(harness.BuildTest):
    def plan(self, config, cache):
        folder, recipe = self.fresh(f"model{config['vocab_size']}"), self.folder / "recipe.yaml"
        (folder / "config.json").write_text(json.dumps(config))
        for file in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(harness.FABLES / file, folder)
        recipe.write_text(RECIPE.format(cache))
        result = self.ingot("plan", folder, "--random-weights", 1, "--recipe", recipe, "--target",
                            "sm_90a", "--max-context", max(CONTEXTS), "--json")
        self.assertEqual(result.returncode, 0, result.stdout)
        return json.loads(result.stdout)

    def check(self, name, cache="f16", bytes_of_head=lambda columns: 2 * columns):
        config = {**models.config(name), "max_position_embeddings": max(CONTEXTS)}
        plan = self.plan(config, cache)
        expected = expected_groups(config, bytes_of_head)
        self.assertEqual(sorted((group["block_bytes"], group["blocks_per_sequence"])
                                for group in plan["kv_groups"]),
                         [(size, blocks[-1]) for size, blocks in expected])
        for place, context in enumerate(CONTEXTS):
            for cell in plan["fits"]:
                if cell["context"] == context:
                    self.assertEqual(cell["kv_bytes"], cell["sequences"] * sum(
                        size * blocks[place] for size, blocks in expected))
        return config, plan

    def test_states_of_convolutions_and_all_weights(self):
        config, plan = self.check("LFM2-1.2B")
        self.assertEqual(plan["random_weight_bytes"], lfm2_weights(config))

    def test_latents_and_all_weights(self):
        for name, whole in (("DeepSeek-V3", 671_026_419_200), ("Kimi-K2", 1_026_408_232_448)):
            config = {**models.config(name), "max_position_embeddings": max(CONTEXTS),
                      "num_hidden_layers": 5, "first_k_dense_replace": 3 - 2 * ("Kimi" in name)}
            plan = self.plan(config, "f16")
            self.assertEqual(plan["random_weight_bytes"], deepseek_weights(config))
            self.assertEqual([group["block_bytes"] for group in plan["kv_groups"]],
                             [5 * BLOCK * 2 * (512 + 64)])
            self.assertEqual(deepseek_weights({**config, "num_hidden_layers": 61}), 2 * whole)

    def test_states_of_state_spaces(self):
        config = {**models.config("Nemotron-3-Nano-30B-A3B"), "num_hidden_layers": 5,
                  "hybrid_override_pattern": "MEM*E", "max_position_embeddings": max(CONTEXTS)}
        plan = self.plan(config, "f16")
        heads, columns, groups, state, taps, chunk = 64, 64, 8, 128, 4, 64
        convolution = (taps - 1) * (heads * columns + 2 * groups * state)
        # A chunk's inputs of the state are kept until it ends.
        space = heads * columns * state + chunk * (heads * columns + groups * state + heads)
        self.assertEqual({group["block_bytes"] for group in plan["kv_groups"]},
                         {BLOCK * 2 * 2 * 2 * 128, 2 * 4 * (convolution + space)})

    def test_layers_that_share_keys_have_none(self):
        self.check("Gemma-4-E2B")

    def test_layers_of_two_kinds_of_heads(self):
        self.check("Gemma-4-26B-A4B")

    def test_eight_bits_have_a_scale_for_each_token_and_head(self):
        self.check("Gemma-4-31B", "int8", lambda columns: columns + 4)


if __name__ == "__main__":
    harness.main()
