// SPDX-License-Identifier: Apache-2.0
// Pictures that go with the next message: chosen, dropped or pasted. They are kept as the data:
// URLs that requests have, so that nothing is stored.

const pictureTypes = ["image/png", "image/jpeg", "image/webp"];

const pictureParts = content => Array.isArray(content)
  ? content.filter(part => part.type === "image_url") : [];
const textOf = content => Array.isArray(content)
  ? content.find(part => part.type === "text")?.text ?? "" : content ?? "";

const thumbnail = (part, number) =>
  make("img", {src: part.image_url.url, alt: `Picture ${number}`});

function readPicture(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

class Pictures {
  #parts = []; // as requests have them
  #allowed = false;

  constructor() {
    const files = find("picture-files"), composer = find("composer");
    find("add-picture").addEventListener("click", () => files.click());
    files.addEventListener("change", async () => {
      await this.add([...files.files]);
      files.value = "";
      find("draft").focus();
    });
    find("draft").addEventListener("paste", event => this.#take(event, event.clipboardData));
    composer.addEventListener("drop", event => this.#take(event, event.dataTransfer));
    composer.addEventListener("dragover", event => {
      if (this.#allowed && event.dataTransfer.types.includes("Files"))
        event.preventDefault();
    });
  }

  /// The engine takes pictures.
  allow() {
    this.#allowed = true;
    find("add-picture").hidden = false;
  }

  get any() { return this.#parts.length > 0; }

  #take(event, data) {
    const files = [...data.files];
    if (!this.#allowed || !files.length)
      return;
    event.preventDefault();
    this.add(files);
  }

  async add(files) {
    find("picture-error").textContent = "";
    for (const file of files)
      try {
        if (!pictureTypes.includes(file.type))
          throw new Error(`${file.name} is no PNG, JPEG or WebP`);
        this.#parts.push({type: "image_url", image_url: {url: await readPicture(file)}});
      } catch (error) {
        find("picture-error").textContent = error.message;
      }
    this.#show();
  }

  /// What a message says: the text alone, or parts with the pictures before it.
  take(text) {
    const parts = this.#parts;
    this.put([]);
    return parts.length ? [...parts, ...(text.trim() ? [{type: "text", text}] : [])] : text;
  }

  put(parts) {
    find("picture-error").textContent = "";
    this.#parts = parts;
    this.#show();
  }

  #show() {
    find("pictures").replaceChildren(...this.#parts.map((part, i) =>
      make("button", {type: "button", "aria-label": `Remove picture ${i + 1}`, onclick: () => {
        this.put(this.#parts.filter(other => other !== part));
        find("draft").focus();
      }}, thumbnail(part, i + 1))));
  }
}
