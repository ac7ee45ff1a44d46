// SPDX-License-Identifier: Apache-2.0
// What a screen reader says while an answer streams: whole sentences, not each token.

function say(text) {
  const spoken = find("spoken");
  spoken.append(make("p", {}, text));
  while (spoken.childElementCount > 5)
    spoken.firstElementChild.remove();
}

class Speaker {
  #waiting = "";

  add(text) {
    this.#waiting += text;
    const ended = this.#waiting.match(/^[^]{60,}?[.!?:\n](?=\s)/)?.[0];
    const said = ended ?? (this.#waiting.length > 400 ? this.#waiting : "");
    if (said)
      say(said);
    this.#waiting = this.#waiting.slice(said.length);
  }

  end(closing) {
    if (this.#waiting.trim())
      say(this.#waiting);
    this.#waiting = "";
    say(closing);
  }
}
