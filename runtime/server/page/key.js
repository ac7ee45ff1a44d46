// SPDX-License-Identifier: Apache-2.0
// Requests to this server, with the key that it may want. The key is in this variable alone.

let apiKey = "";
let asking = null;
let declined = false;

/// Asks for a key once, however many requests lack one. False: there is none.
function askForKey(insist) {
  if (declined && !insist)
    return false;
  const dialog = find("key-dialog");
  asking ??= new Promise(resolve => {
    dialog.returnValue = "";
    find("key-error").textContent = apiKey && "The server does not know that key.";
    dialog.addEventListener("close", () => {
      asking = null;
      apiKey = find("key").value;
      find("key").value = "";
      declined = dialog.returnValue !== "give";
      resolve(!declined);
    }, {once: true});
    dialog.showModal();
  });
  return asking;
}

/// A response of the server that is no error; errors are thrown with the server's message. `insist`:
/// a key is asked for although none was given when it was asked for before.
async function request(path, {insist, ...options} = {}) {
  for (;;) {
    const sent = apiKey;
    const headers = {...options.headers, ...(sent && {Authorization: `Bearer ${sent}`})};
    const response = await fetch(path, {...options, headers});
    if (response.ok)
      return response;
    if (response.status === 401 && (sent !== apiKey || await askForKey(insist)))
      continue;
    const body = await response.json().catch(() => null);
    throw new Error(body?.error?.message ?? `the server says ${response.status}`);
  }
}

const requestJson = async path => (await request(path)).json();
