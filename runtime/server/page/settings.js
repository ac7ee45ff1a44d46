// SPDX-License-Identifier: Apache-2.0
// The fields of a request that a person may set; an empty one is the engine's own.

const samplingFields = [
  {name: "temperature", label: "Temperature", min: 0, max: 2, step: 0.05},
  {name: "top_p", label: "Top-p", min: 0, max: 1, step: 0.01},
  {name: "top_k", label: "Top-k", min: 0, step: 1},
  {name: "min_p", label: "Min-p", min: 0, max: 1, step: 0.01},
  {name: "max_tokens", label: "Max tokens", min: 1, step: 1, empty: "no limit"},
  {name: "seed", label: "Seed", min: 0, step: 1, empty: "random"},
];

function makeSettings() {
  for (const {name, label, empty = "", ...limits} of samplingFields)
    find("sampling").append(make("div", {class: "field"},
      make("label", {for: name}, label),
      make("input", {type: "number", id: name, placeholder: empty, inputmode: "decimal",
        ...limits, step: limits.step < 1 ? "any" : limits.step})));
}

/// Shows what the engine does when nothing is set. `serving`: of its report.
function showDefaults(serving) {
  for (const {name} of samplingFields)
    if (serving[name] !== undefined)
      find(name).placeholder = Number(serving[name].toPrecision(4));
}

/// The list of tools, or undefined. Throws where the field holds none.
function toolsOf(text) {
  if (!text.trim())
    return undefined;
  const tools = JSON.parse(text);
  if (!Array.isArray(tools))
    throw new Error("no list");
  // Bare functions are wrapped, as the interface wants them.
  return tools.map(tool => tool?.function ? tool : {type: "function", function: tool});
}

/// The members of a request besides its messages; null where one is wrong, which is then shown.
function settings() {
  find("tools-error").textContent = "";
  const body = {stream: true, stream_options: {include_usage: true}};
  for (const {name} of samplingFields) {
    const input = find(name);
    if (!input.checkValidity()) {
      openPanel(true);
      input.reportValidity();
      return null;
    }
    if (input.value !== "")
      body[name] = Number(input.value);
  }
  if (find("logprobs").checked)
    Object.assign(body, {logprobs: true, top_logprobs: 5});
  try {
    body.tools = toolsOf(find("tools").value);
  } catch (error) {
    openPanel(true);
    find("tools").closest("details").open = true;
    find("tools-error").textContent = `This is no JSON list: ${error.message}`;
    find("tools").focus();
    return null;
  }
  return body;
}
