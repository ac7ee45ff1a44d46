// SPDX-License-Identifier: Apache-2.0
// Making elements. Text is only ever set as text: what a model writes is never markup.

const find = id => document.getElementById(id);

/// An element with attributes ("class", "aria-label"), listeners ("onclick") and children.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name.startsWith("on"))
      element.addEventListener(name.slice(2), value);
    else
      element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const button = (label, onclick, more = {}) =>
  make("button", {type: "button", class: "plain", onclick, ...more}, label);

/// "1,234", "56.7", "0.123"
function figure(value) {
  const digits = value >= 100 || Number.isInteger(value) ? 0 : value >= 1 ? 1 : 3;
  return value.toLocaleString("en", {maximumFractionDigits: digits});
}

/// "94.6 MiB"
function byteText(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.length; ++unit)
    bytes /= 1024;
  return `${figure(unit ? Math.round(bytes * 10) / 10 : bytes)} ${units[unit]}`;
}
