// SPDX-License-Identifier: Apache-2.0
// What the engine is: /engine as tables.

/// Rows of texts, or {number: text}; the first is the heading.
function tableOf(title, [heading, ...rows]) {
  const cell = (tag, more) => content => content.number === undefined ? make(tag, more, content)
    : make(tag, {...more, class: "number"}, content.number);
  if (!rows.length)
    return [make("h3", {}, title), make("p", {class: "muted"}, "None.")];
  return [make("h3", {}, title), make("table", {"aria-label": title},
    make("thead", {}, make("tr", {}, ...heading.map(cell("th", {scope: "col"})))),
    make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map(cell("td", {}))))))];
}

const number = text => ({number: text});

function memoryRows({memory_plan: plan}) {
  return [["Memory of this session", number("Bytes")],
    ...[["weights", "weight_bytes"], ["arena of a step", "arena_bytes"], ["KV cache", "kv_bytes"],
      ["state of sequences", "state_bytes"], ["scratch of threads", "scratch_bytes"],
      ["total", "total_bytes"]].map(([name, member]) => [name, number(byteText(plan[member]))])];
}

function limitRows({memory_plan: plan}) {
  return [["Limit", number("Value")],
    ...[["sequences in a step", "max_sequences"], ["tokens in a step", "max_tokens"],
      ["context of a sequence", "max_context"], ["threads", "threads"]]
      .map(([name, member]) => [name, number(figure(plan[member]))]),
    ...plan.kv_groups.map(group => [`blocks of KV group “${group.name}”`,
      number(`${figure(group.blocks)} of ${figure(group.block_tokens)} tokens`)])];
}

function contractOf({memory}) {
  return [["Memory contract", number("Bytes")],
    ["weights", number(byteText(memory.weight_bytes))],
    ["state of each sequence", number(byteText(memory.state_bytes_per_sequence))],
    ["scratch of each thread", number(byteText(memory.scratch_bytes_per_thread))],
    ...memory.tiers.map(tier => [
      `steps up to ${tier.limits.map(one => `${one.dim} ${figure(one.max)}`).join(", ")}`,
      number(byteText(tier.bytes))])];
}

function fusionRows({fusions}) {
  const name = pass => pass.replace(/^ingot-/, "").replaceAll("-", " ");
  return [["Fusion", "Outcome", number("Sites")],
    ...fusions.toSorted((a, b) => b.applied - a.applied).map(one => [name(one.pass),
      one.applied ? "applied" : `not applied: ${one.reason}`, number(figure(one.sites))])];
}

function showReport(report) {
  const title = text => make("summary", {}, text);
  find("report").replaceChildren(
    make("p", {}, `${report.name}, ${report.architecture}, ${byteText(report.file_bytes)}`),
    make("p", {class: "muted"}, `built by ${report.provenance.compiler}`),
    ...tableOf("Targets", [["Target", number("Kernels"), "State"],
      ...report.targets.map(target => [target.name, number(figure(target.kernel_count)),
        target.name === report.target ? "runs" : "not used"])]),
    ...tableOf("Weights", [["Format", number("Count"), number("Bytes")],
      ...report.weight_formats.map(one =>
        [one.format, number(figure(one.count)), number(byteText(one.bytes))])]),
    ...tableOf("Memory", memoryRows(report)),
    ...tableOf("Limits", limitRows(report)),
    ...report.targets.flatMap(target => [
      make("details", {}, title(`Memory contract of ${target.name}`),
        ...tableOf("Contract", contractOf(target))),
      make("details", {}, title(`Fusions of ${target.name}`),
        ...tableOf("Fusions", fusionRows(target)))]),
    make("details", {}, title("Options of the build"),
      ...tableOf("Options", [["Option", "Effective", "Reason"],
        ...report.provenance.options.map(one => [one.name, one.effective, one.reason])])));
}
