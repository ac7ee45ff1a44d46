// SPDX-License-Identifier: Apache-2.0
// What the controls of the page do, and what it asks for first.

function openPanel(open) {
  document.body.classList.toggle("panel", open);
  find("open-panel").setAttribute("aria-expanded", open);
  find("open-panel").textContent = open ? "Chat" : "Panel";
}

const themes = ["Auto", "Light", "Dark"];

function setTheme(theme) {
  document.documentElement.dataset.theme = theme.toLowerCase();
  find("theme").textContent = theme;
  find("theme").setAttribute("aria-label", `Theme: ${theme}`);
}

/// Until there is an engine, and a key where one is needed.
async function meetEngine() {
  for (;;) {
    try {
      const models = await requestJson("v1/models");
      find("model").textContent = models.data[0].id;
      document.title = `${models.data[0].id} – Ingot`;
      const report = await requestJson("engine");
      showDefaults(report.serving);
      showReport(report);
      if (report.images)
        pictures.allow();
      find("state").textContent = "";
      return;
    } catch (error) {
      find("state").textContent = error.message;
    }
    await new Promise(resolve => setTimeout(resolve, 3000));
  }
}

const pictures = new Pictures();
const conversation = new Conversation();
makeSettings();
setTheme("Auto");

find("composer").addEventListener("submit", event => {
  event.preventDefault();
  const text = find("draft").value;
  if ((!text.trim() && !pictures.any) || !find("stop").hidden)
    return;
  find("draft").value = "";
  conversation.send(pictures.take(text));
});
find("draft").addEventListener("keydown", event => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing)
    return;
  event.preventDefault();
  find("composer").requestSubmit();
});
document.addEventListener("keydown", event => {
  if (event.key === "Escape")
    conversation.stop();
});
find("stop").addEventListener("click", () => conversation.stop());
find("clear").addEventListener("click", () => conversation.clear());
find("theme").addEventListener("click",
  () => setTheme(themes[(themes.indexOf(find("theme").textContent) + 1) % themes.length]));
find("open-panel").addEventListener("click",
  () => openPanel(!document.body.classList.contains("panel")));

find("draft").focus();
new Live().run();
meetEngine();
