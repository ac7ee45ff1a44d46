// SPDX-License-Identifier: Apache-2.0
// A text that grows: line breaks and fenced code are shown, everything else as it is written.

class Prose {
  #line = "";      // the last one, not ended
  #shown = null;   // its text node
  #block = null;
  #code = false;

  constructor() {
    this.element = make("div", {class: "text"});
  }

  append(text) {
    const lines = (this.#line + text).split("\n");
    this.#line = lines.pop();
    for (const line of lines)
      this.#endLine(line);
    // What may become a fence waits for the end of its line.
    if (!/^\s*`{1,3}/.test(this.#line) || this.#line.length > 40)
      this.#show(this.#line);
  }

  /// Nothing more comes.
  end() {
    if (!this.#isFence(this.#line))
      this.#show(this.#line);
  }

  #isFence(line) {
    return /^\s*```/.test(line) && (this.#code ? !line.trim().slice(3) : !line.trim().slice(3)
      .includes("`"));
  }

  #endLine(line) {
    if (this.#isFence(line)) {
      this.#shown?.remove();
      this.#code = !this.#code;
      this.#block = null;
    } else {
      this.#show(line + "\n");
    }
    this.#shown = null;
  }

  /// Sets the text of the line that goes on.
  #show(text) {
    if (!this.#block) {
      if (!text.trim())
        return; // empty lines beside code
      this.#block = this.#code ? make("code") : make("div");
      this.element.append(this.#code ? make("pre", {tabindex: 0, "aria-label": "Code"},
        this.#block) : this.#block);
    }
    if (!this.#shown)
      this.#block.append(this.#shown = document.createTextNode(""));
    this.#shown.data = text;
  }
}
