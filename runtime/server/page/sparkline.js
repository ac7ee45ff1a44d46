// SPDX-License-Identifier: Apache-2.0
// The last minute of a figure as a line.

class Sparkline {
  #values = [];
  #paths;

  constructor() {
    const svg = tag => document.createElementNS("http://www.w3.org/2000/svg", tag);
    this.element = svg("svg");
    this.element.setAttribute("viewBox", "0 0 59 20");
    this.element.setAttribute("preserveAspectRatio", "none");
    this.element.setAttribute("aria-hidden", "true");
    this.#paths = [svg("path"), svg("path")];
    this.#paths[0].setAttribute("class", "area");
    this.element.append(...this.#paths);
  }

  /// `top`: the value at the upper edge; without it, the largest one shown.
  add(value, top) {
    this.#values.push(value);
    if (this.#values.length > 60)
      this.#values.shift();
    const most = top ?? Math.max(...this.#values, 1e-9);
    const first = 60 - this.#values.length;
    const points = this.#values.map((one, i) =>
      `${first + i},${(19 - 18 * Math.min(1, one / most)).toFixed(2)}`);
    const line = `M${points.join("L")}`;
    this.#paths[0].setAttribute("d", `${line}L59,20L${first},20Z`);
    this.#paths[1].setAttribute("d", line);
  }
}
