// SPDX-License-Identifier: Apache-2.0
// One answer while it streams: its reasoning, its text, its calls of tools, and its figures.

class Answer {
  #start = performance.now();
  #first = 0;
  #content = "";
  #reasoning = "";
  #calls = []; // {id, name, arguments, shown}
  #speaker = new Speaker();
  #reason = null;
  #usage = null;

  constructor(withTokens) {
    this.withTokens = withTokens;
    this.body = make("div", {});
    this.foot = make("div", {class: "foot"});
    this.element = make("article", {class: "assistant running", "aria-busy": true},
      make("h3", {}, "Model"), this.body, this.foot);
  }

  /// An event of the stream.
  take(event) {
    this.#usage = event.usage ?? this.#usage;
    const choice = event.choices[0];
    if (!choice)
      return;
    const {delta, logprobs, finish_reason: reason} = choice;
    const entries = logprobs?.content ?? [];
    this.#reason = reason ?? this.#reason;
    if (delta.reasoning)
      this.#think(delta.reasoning);
    if (delta.content)
      this.#write(delta.content, entries);
    for (const call of delta.tool_calls ?? [])
      this.#call(call);
  }

  #begin() {
    this.#first ||= performance.now();
  }

  #think(text) {
    this.#begin();
    if (!this.thoughts) {
      this.thoughts = new Prose();
      this.body.prepend(make("details", {class: "reasoning"}, make("summary", {}, "Reasoning"),
        this.thoughts.element));
    }
    this.#reasoning += text;
    this.thoughts.append(text);
  }

  #write(text, entries) {
    this.#begin();
    if (!this.text) {
      this.text = this.withTokens ? new TokenText() : new Prose();
      this.body.append(this.withTokens ? make("div", {class: "text"}, this.text.element)
        : this.text.element);
    }
    this.#content += text;
    this.text.append(text, entries);
    this.#speaker.add(text);
  }

  #call({index, id, function: {name, arguments: part}}) {
    this.#begin();
    if (!this.#calls[index]) {
      const shown = make("code");
      this.#calls[index] = {id, name, arguments: "", shown};
      this.body.append(make("details", {class: "call", open: ""},
        make("summary", {}, `Calls ${name}`), make("pre", {tabindex: 0,
          "aria-label": `Arguments of ${name}`}, shown)));
    }
    const call = this.#calls[index];
    call.arguments += part ?? "";
    call.shown.textContent = call.arguments;
  }

  /// Nothing more comes. `why`: where the stream did not say it.
  end(why) {
    this.thoughts?.end();
    this.text?.end?.();
    this.element.classList.remove("running");
    this.element.removeAttribute("aria-busy");
    const reasons = {length: "ended by the limit of tokens", stop: "", tool_calls: ""};
    const closing = why ?? reasons[this.#reason] ?? this.#reason ?? "";
    this.#speaker.end(closing || "The answer is complete.");
    const parts = [...this.#figures(), closing].filter(Boolean);
    this.foot.append(make("p", {}, parts.join(" · ")));
  }

  #figures() {
    if (!this.#usage)
      return [];
    const {completion_tokens: tokens, prompt_tokens: prompt, prompt_tokens_details: details}
      = this.#usage;
    const seconds = (performance.now() - this.#first) / 1000;
    return [
      `${figure(tokens)} tokens`,
      tokens > 1 && `${figure((tokens - 1) / seconds)} tokens/s`,
      this.#first && `first after ${figure(Math.round(this.#first - this.#start))} ms`,
      `prompt of ${figure(prompt)}, ${figure(details.cached_tokens)} of them cached`,
    ];
  }

  /// The answer as a later request tells it; null when there is nothing in it.
  message() {
    const calls = this.#calls.filter(Boolean).map(call => ({id: call.id, type: "function",
      function: {name: call.name, arguments: call.arguments}}));
    if (!this.#content && !calls.length)
      return null;
    return {role: "assistant", content: this.#content,
      ...(this.#reasoning && {reasoning: this.#reasoning}),
      ...(calls.length && {tool_calls: calls})};
  }
}
