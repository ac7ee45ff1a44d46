// SPDX-License-Identifier: Apache-2.0
// The engine now: /metrics, once a second while somebody sees it.

/// Samples of Prometheus text by name, those of one name added up; labels of the last one.
function readMetrics(text) {
  const samples = new Map();
  for (const [, name, labels, value] of text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm))
    samples.set(name, {value: (samples.get(name)?.value ?? 0) + Number(value), labels});
  return name => samples.get(`ingot_${name}`);
}

class Live {
  #rows = new Map();
  #last = null; // {time, metrics}

  constructor() {
    for (const title of ["Tokens per second", "Prompt tokens per second", "Answers in a step",
      "Answers that wait", "KV blocks in use", "Prompt tokens from the cache"]) {
      const value = make("dd", {}, "–");
      const line = new Sparkline();
      find("figures").append(make("div", {}, make("dt", {}, title), value, line.element));
      this.#rows.set(title, {value, line});
    }
  }

  async run() {
    for (;;) {
      if (!document.hidden && find("live").offsetParent)
        await this.#look();
      await new Promise(resolve => setTimeout(resolve, 1000));
    }
  }

  async #look() {
    try {
      const metrics = readMetrics(await (await request("/metrics")).text());
      this.#show({time: performance.now(), metrics});
      find("live-error").textContent = "";
    } catch (error) {
      this.#last = null;
      find("live-error").textContent = `The server does not answer: ${error.message}`;
    }
  }

  #set(title, text, value, top) {
    const row = this.#rows.get(title);
    row.value.textContent = text;
    row.line.add(value, top);
  }

  #show(now) {
    const value = name => now.metrics(name)?.value ?? 0;
    const gained = name => this.#last ? value(name) - (this.#last.metrics(name)?.value ?? 0) : 0;
    const seconds = this.#last ? (now.time - this.#last.time) / 1000 : 1;
    for (const [title, name] of [["Tokens per second", "generation_tokens_total"],
      ["Prompt tokens per second", "prompt_tokens_total"]]) {
      const rate = gained(name) / seconds;
      this.#set(title, figure(rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate)), rate);
    }
    for (const [title, name] of [["Answers in a step", "num_requests_running"],
      ["Answers that wait", "num_requests_waiting"]])
      this.#set(title, figure(value(name)), value(name));
    const blocks = Number(now.metrics("cache_config_info")?.labels
      .match(/num_gpu_blocks="(\d+)"/)?.[1] ?? 0);
    const used = Math.round(value("kv_cache_usage_perc") * blocks);
    this.#set("KV blocks in use", `${figure(used)} of ${figure(blocks)}`, used, blocks || 1);
    const looked = value("prefix_cache_queries");
    const share = looked ? value("prefix_cache_hits") / looked : 0;
    this.#set("Prompt tokens from the cache",
      `${figure(value("prefix_cache_hits"))} (${Math.round(share * 100)} %)`,
      gained("prefix_cache_hits"));
    this.#last = now;
  }
}
