// SPDX-License-Identifier: Apache-2.0
// A text whose tokens can be looked at: by pointer, by touch, or by the arrow keys.

const percent = logprob => `${figure(Math.round(Math.exp(logprob) * 1000) / 10)} %`;

/// A token as it can be read: spaces and line ends seen.
const visible = token => `“${token.replaceAll("\n", "↵").replaceAll("\t", "⇥")}”`;

function showTip(span, {token, logprob, top_logprobs: others}) {
  const tip = find("tip");
  const rows = others.map(other => make("tr", {},
    make("td", {}, visible(other.token)),
    make("td", {class: "number"}, percent(other.logprob)),
    make("td", {class: "number muted"}, other.logprob.toFixed(3))));
  tip.replaceChildren(
    make("p", {}, make("strong", {}, visible(token)),
      ` ${percent(logprob)}, log-probability ${logprob.toFixed(3)}`),
    make("table", {}, ...rows));
  tip.hidden = false;
  const place = span.getClientRects()[0] ?? span.getBoundingClientRect();
  const below = place.bottom + tip.offsetHeight + 8 < innerHeight;
  tip.style.left = `${Math.max(8, Math.min(place.left, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${below ? place.bottom + 4 : Math.max(8, place.top - tip.offsetHeight - 4)}px`;
}

const hideTip = () => { find("tip").hidden = true; };

class TokenText {
  #entries = new Map(); // by span
  #chosen = null;

  constructor() {
    this.element = make("div", {
      class: "tokens", tabindex: 0, role: "group",
      "aria-label": "Tokens of the answer; left and right arrows choose one",
      onkeydown: event => this.#key(event),
      onfocus: () => this.#choose(this.#chosen ?? this.element.firstElementChild, true),
      onblur: () => this.#choose(null),
      onpointerover: event => this.#choose(event.target),
      onpointerleave: () => document.activeElement === this.element || this.#choose(null),
    });
  }

  /// Text with the tokens that it is of, mostly one. What begins with no token is the last one's.
  append(text, entries) {
    entries.forEach((entry, i) => {
      const last = i + 1 === entries.length;
      const part = !last && text.startsWith(entry.token) ? entry.token : last ? text : "";
      text = text.slice(part.length);
      if (part)
        this.#add(part, entry);
    });
    if (!entries.length)
      (this.element.lastElementChild ?? this.element).append(text);
  }

  #add(text, entry) {
    const span = make("span", {}, text);
    if (entry.logprob < Math.log(0.5))
      span.className = entry.logprob < Math.log(0.1) ? "unlikely" : "doubtful";
    this.#entries.set(span, entry);
    this.element.append(span);
  }

  #choose(span, aloud = false) {
    this.#chosen?.classList.remove("chosen");
    const entry = this.#entries.get(span);
    this.#chosen = entry ? span : null;
    if (!entry)
      return hideTip();
    span.classList.add("chosen");
    showTip(span, entry);
    if (aloud)
      say(`${visible(entry.token)} ${percent(entry.logprob)}. ` + entry.top_logprobs
        .map(other => `${visible(other.token)} ${percent(other.logprob)}`).join(", "));
  }

  #key(event) {
    const ends = {Home: this.element.firstElementChild, End: this.element.lastElementChild};
    const next = event.key === "ArrowRight" ? this.#chosen?.nextElementSibling
      : event.key === "ArrowLeft" ? this.#chosen?.previousElementSibling : ends[event.key];
    if (!next)
      return;
    event.preventDefault();
    next.scrollIntoView({block: "nearest"});
    this.#choose(next, true);
  }
}
