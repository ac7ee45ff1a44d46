// SPDX-License-Identifier: Apache-2.0
// The messages of a conversation and what may be done with them: send, stop, retry, edit.

class Conversation {
  #turns = []; // {message, element}; message: as requests have it
  #running = null; // what ends the answer that streams
  #atEnd = true; // as the reader has scrolled

  constructor() {
    const {list} = this;
    list.addEventListener("scroll", () => {
      this.#atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
    });
    new ResizeObserver(() => this.#follow()).observe(list);
  }

  get list() { return find("messages"); }

  /// Calls of the last answer that have no result yet.
  #openCalls() {
    const answered = new Set(this.#turns.map(turn => turn.message?.tool_call_id));
    return (this.#turns.findLast(turn => turn.message?.role === "assistant")?.message.tool_calls
      ?? []).filter(call => !answered.has(call.id));
  }

  /// A person's next message, or the result of a call that waits for one. `content`: a text, or
  /// pictures and a text.
  async send(content) {
    if (this.#running)
      return;
    this.#dropFailed();
    const [call] = this.#openCalls();
    const title = call ? `Result of ${call.function.name}` : "You";
    const message = call ? {role: "tool", tool_call_id: call.id, name: call.function.name,
      content} : {role: "user", content};
    const element = make("article", {class: "user"}, make("h3", {}, title),
      make("div", {class: "pictures"},
        ...pictureParts(content).map((part, i) => thumbnail(part, i + 1))),
      make("div", {class: "text"}, textOf(content)));
    this.#add({message, element});
    this.#showDraft();
    if (!this.#openCalls().length)
      await this.#answer();
  }

  #add(turn) {
    this.#turns.push(turn);
    this.list.append(turn.element);
    this.#atEnd = true;
    this.#follow();
  }

  #removeLast() {
    this.#turns.pop().element.remove();
  }

  /// A message whose answer came to nothing: templates want each to have one.
  #dropFailed() {
    if (!this.#turns.length || this.#turns.at(-1).message)
      return;
    this.#removeLast();
    if (this.#turns.at(-1)?.message.role === "user")
      this.#removeLast();
  }

  #isAsked() {
    return ["user", "tool"].includes(this.#turns.at(-1)?.message?.role);
  }

  stop() { this.#running?.abort(); }

  /// Another answer to the same messages.
  async retry() {
    if (this.#running)
      return;
    while (this.#turns.length && !this.#isAsked())
      this.#removeLast();
    find("draft").focus();
    await this.#answer();
  }

  /// Takes the last message back, for its writer to change.
  edit(focus = true) {
    if (this.#running)
      return;
    while (this.#turns.length && !this.#isAsked())
      this.#removeLast();
    const content = this.#turns.at(-1)?.message.content;
    find("draft").value = textOf(content);
    pictures.put(pictureParts(content));
    if (this.#turns.length)
      this.#removeLast();
    this.#showDraft();
    this.#showActions();
    if (focus)
      find("draft").focus();
  }

  clear() {
    this.stop();
    this.#turns = [];
    this.list.replaceChildren();
    this.#showDraft();
    find("draft").focus();
  }

  #body(settings) {
    const system = find("system").value.trim();
    const messages = this.#turns.map(turn => turn.message).filter(Boolean);
    return JSON.stringify({...settings,
      messages: [...(system ? [{role: "system", content: system}] : []), ...messages]});
  }

  async #answer() {
    const asked = settings();
    if (!asked)
      return this.edit(false);
    const running = this.#running = new AbortController();
    this.#showRunning();
    const answer = new Answer(asked.logprobs);
    const body = this.#body(asked);
    const turn = {message: null, element: answer.element};
    this.#add(turn);
    let why;
    try {
      const response = await request("v1/chat/completions", {method: "POST", body,
        insist: true, signal: running.signal, headers: {"Content-Type": "application/json"}});
      for await (const event of eventsOf(response)) {
        answer.take(event);
        this.#follow();
      }
    } catch (error) {
      why = running.signal.aborted ? "stopped" : "ended by an error";
      if (!running.signal.aborted)
        answer.body.append(make("p", {class: "error", role: "alert"}, error.message));
    }
    turn.message = answer.message();
    this.#running = null;
    answer.end(why);
    this.#showRunning();
    this.#follow();
  }

  /// Keeps the end of the list in view where it is there; once a frame, since it costs a layout.
  #follow() {
    if (!this.#atEnd)
      return;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => { this.list.scrollTop = this.list.scrollHeight; });
  }

  #showRunning() {
    const held = document.activeElement === find(this.#running ? "send" : "stop");
    find("send").hidden = Boolean(this.#running);
    find("stop").hidden = !this.#running;
    if (held) // a hidden button would drop the focus
      find(this.#running ? "stop" : "draft").focus();
    this.#showActions();
    this.#showDraft();
  }

  /// The last turn alone has them.
  #showActions() {
    this.list.querySelectorAll(".foot button").forEach(old => old.remove());
    const foot = this.#turns.at(-1)?.element.querySelector(".foot");
    if (foot && !this.#running)
      foot.prepend(button("Retry", () => this.retry()),
        button("Edit the message", () => this.edit()));
  }

  #showDraft() {
    const [call] = this.#openCalls();
    const label = call ? `Result of ${call.function.name}` : "Message";
    find("draft-label").textContent = label;
    find("draft").placeholder = label;
  }
}
