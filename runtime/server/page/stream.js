// SPDX-License-Identifier: Apache-2.0
// Server-sent events of a response, as JSON, up to the one that says that it is done.

async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done)
      throw new Error("the answer ends in its midst");
    const parts = (text + value).split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      if (part === "data: [DONE]")
        return;
      if (!part.startsWith("data: ")) // a comment that keeps the connection alive
        continue;
      const event = JSON.parse(part.slice(6));
      if (event.error)
        throw new Error(event.error.message);
      yield event;
    }
  }
}
