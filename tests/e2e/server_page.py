#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `ingot-server` in headless Chromium: a conversation with a toy engine, what it shows
of streams, keys, keyboard and screen reader, colours. Leaves screenshots in build/page."""
import json
import sys

import browser

if not browser.program():
    print("SKIP server_page: scripts/setup --full installs chromium")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

import harness
from server_process import ServerTest, wait_for

TEMPLATE = ("{% for message in messages %}{{ message.content }} {% endfor %}"
            "{% if add_generation_prompt %}a {% endif %}")
DONE = "document.querySelectorAll('.assistant:not(.running)').length === {}"
LAST = "[...document.querySelectorAll('.assistant')].at(-1)"
# Contrast of each text with the nearest ground behind it, as WCAG 2 computes it.
CONTRAST = """(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const rgba = color => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = color => rgba(color).slice(0, 3).map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    for (; element; element = element.parentElement) {
      const color = getComputedStyle(element).backgroundColor;
      if (rgba(color)[3])
        return color;
    }
  };
  return [...document.body.querySelectorAll("*")].filter(element => element.checkVisibility()
      && [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
    .map(element => {
      const [a, b] = [getComputedStyle(element).color, ground(element)].map(luminance);
      return [element.textContent.slice(0, 40), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
    });
})()"""
FOCUSABLE = ".skip, button, input, textarea, summary, [tabindex='0']"


def chunk(**delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


class Page(ServerTest):
    def setUp(self):
        self.shots = harness.ROOT / "build" / "page"
        self.shots.mkdir(parents=True, exist_ok=True)
        self.browser = browser.Browser()
        self.addCleanup(self.browser.end)
        self.browser.show(1280, 800)
        self.value, self.wait = self.browser.value, self.browser.wait_for

    def open(self, *options):
        template = self.folder / "chat.jinja"
        template.write_text(TEMPLATE, encoding="ascii")
        self.server = self.start("--chat-template", template, *options)
        self.browser.open(f"{self.server.address}/")

    def check(self):
        """Nothing went wrong, and nobody else was asked."""
        self.assertEqual(self.browser.faults, [])
        self.assertTrue(self.browser.requests)
        for url in self.browser.requests:
            self.assertTrue(url.startswith((f"{self.server.address}/", "data:")), url)

    def send(self, text):
        self.value("document.getElementById('draft').focus()")
        self.browser.type(text)
        self.browser.key("Enter", 13, text="\r")

    def set(self, name, value):
        self.value(f"document.getElementById('{name}').value = {json.dumps(value)}")

    def answer(self, count=1):
        """The text of the last answer, once there are so many."""
        self.wait(DONE.format(count))
        return self.value(f"{LAST}.querySelector('.text').textContent")

    def replay(self, events):
        """The next answer is this stream."""
        stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        self.value(f"""{{
          const real = window.fetch;
          window.fetch = (path, options) => {{
            if (!path.includes("chat"))
              return real(path, options);
            window.fetch = real;
            window.asked = JSON.parse(options.body);
            return Promise.resolve(new Response({json.dumps(stream)}));
          }};
        }}""")

    def test_conversation(self):
        self.open()
        self.wait("document.getElementById('model').textContent === 'toy'")
        self.set("max_tokens", 30)
        self.set("system", "be brief")
        self.send("hello there")
        messages = [{"role": "system", "content": "be brief"},
                    {"role": "user", "content": "hello there"}]
        body = {"messages": messages, "max_tokens": 30}
        _, _, text = self.server.request("POST", "/v1/chat/completions", body)
        self.assertEqual(self.answer(),
                         json.loads(text)["choices"][0]["message"]["content"])
        self.assertIn("tokens/s", self.value(f"{LAST}.querySelector('.foot').textContent"))
        spoken = "document.getElementById('spoken').textContent"
        self.assertIn("limit of tokens", self.value(spoken))
        # The figures are those of the metrics.
        cached = "document.querySelector('#figures div:last-child dd').textContent"
        self.wait("document.querySelector('#figures path').getAttribute('d')?.includes('L')")
        self.assertRegex(self.value(cached), r"\d+ \(\d+ %\)")
        report = self.value("document.getElementById('report').innerText")
        for part in ("Targets", "Weights", "Memory contract", "Fusions"):
            self.assertIn(part, report)
        # A second turn has the first in it; the message taken back is in the draft again.
        self.send("and then")
        self.answer(2)
        self.value("[...document.querySelectorAll('.foot button')].at(-1).click()")
        self.assertEqual(self.value("document.getElementById('draft').value"), "and then")
        self.assertEqual(self.value("document.querySelectorAll('article').length"), 2)
        self.value("document.getElementById('clear').click()")
        self.assertEqual(self.value("document.querySelectorAll('article').length"), 0)
        self.check()

    def test_stop_and_retry(self):
        self.open()
        # An answer that takes long.
        self.value("""{
          const real = window.fetch;
          window.fetch = (path, options) => real(path, options.body ? {...options,
            body: JSON.stringify({...JSON.parse(options.body), ignore_eos: true})} : options);
        }""")
        self.value("document.getElementById('logprobs').click()")
        self.set("temperature", 1)
        self.set("max_tokens", 4000)
        # The toy is too fast for a key that comes from here.
        self.value("""new MutationObserver((_, observer) => {
          if (document.querySelectorAll(".tokens span").length < 20)
            return;
          observer.disconnect();
          window.stopShown = !document.getElementById("stop").hidden;
          document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));
        }).observe(document.getElementById("messages"), {childList: true, subtree: true})""")
        self.send("hello")
        first = self.answer()
        self.assertTrue(self.value("window.stopShown"))
        self.assertLess(len(first), 1000)
        self.assertIn("stopped", self.value(f"{LAST}.querySelector('.foot').textContent"))
        wait_for(self.server.is_idle)
        self.set("max_tokens", 10)
        self.value("document.querySelector('.foot button').click()")
        self.wait(f"{DONE.format(1)} && {LAST}.textContent.includes('10 tokens')")
        self.assertNotEqual(self.answer(), first)
        self.assertEqual(self.value("document.querySelectorAll('article').length"), 2)
        self.check()

    def test_log_probabilities(self):
        self.open()
        self.set("max_tokens", 12)
        self.value("document.getElementById('logprobs').click()")
        self.send("abc")
        self.assertTrue(self.answer())
        self.value("document.querySelector('.tokens').focus()")
        for _ in range(3):
            self.browser.key("ArrowRight", 39)
        token = self.value("document.querySelector('.tokens .chosen').textContent")
        self.assertEqual(token, self.value("document.querySelectorAll('.tokens span')[3]"
                                           ".textContent"))
        tip = self.value("document.getElementById('tip').innerText")
        self.assertIn(token, tip)
        self.assertEqual(self.value("document.querySelectorAll('#tip tr').length"), 5)
        self.assertIn("%", self.value("document.getElementById('spoken').lastChild.textContent"))
        self.browser.screenshot(self.shots / "tokens.png")
        self.value("document.getElementById('draft').focus()")
        self.assertTrue(self.value("document.getElementById('tip').hidden"))
        place = self.value("(({x, y}) => [x, y])(document.querySelector('.tokens span')"
                           ".getBoundingClientRect())")
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0] + 2,
                          y=place[1] + 5)
        self.wait("!document.getElementById('tip').hidden")
        self.check()

    def test_what_streams_hold(self):
        """Reasoning, markup that is text, code, a call and its result."""
        self.open()
        self.replay([chunk(role="assistant", content=""), chunk(reasoning="Let me "),
                     chunk(reasoning="think."), chunk(content="<b id='bad'>bold</b>\n``"),
                     chunk(content="`py\na = 1\n  b = 2\n``"), chunk(content="`\nafter\n"),
                     chunk(tool_calls=[{"index": 0, "id": "c1", "type": "function",
                                        "function": {"name": "look", "arguments": ""}}]),
                     chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"a": "<i>"}'}}]),
                     {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}])
        self.send("go")
        self.answer()
        self.assertIsNone(self.value("document.getElementById('bad') || null"))
        self.assertEqual(self.value(f"[...{LAST}.querySelectorAll('.text > *')]"
                                    ".map(part => [part.tagName, part.textContent])")[1:],
                         [["DIV", "<b id='bad'>bold</b>\n"], ["PRE", "a = 1\n  b = 2\n"],
                          ["DIV", "after\n"]])
        self.assertEqual(self.value(f"{LAST}.querySelector('.reasoning .text').textContent"),
                         "Let me think.")
        self.assertFalse(self.value(f"{LAST}.querySelector('.reasoning').open"))
        self.assertEqual(self.value(f"{LAST}.querySelector('.call code').textContent"),
                         '{"a": "<i>"}')
        # What is written next is the result of the call.
        self.assertEqual(self.value("document.getElementById('draft').placeholder"),
                         "Result of look")
        self.replay([chunk(content="fine")])
        self.send("42")
        self.answer(2)
        asked = self.value("window.asked.messages")
        self.assertEqual([one["role"] for one in asked], ["user", "assistant", "tool"])
        self.assertEqual((asked[1]["tool_calls"][0]["function"]["arguments"],
                          asked[2]["tool_call_id"]), ('{"a": "<i>"}', "c1"))
        # A stream that says an error, and settings that are none.
        self.replay([{"error": {"message": "the device failed"}}])
        self.send("more")
        self.wait(f"{DONE.format(3)} && {LAST}.innerText.includes('the device failed')")
        self.set("tools", "{")
        self.send("once more")
        self.wait("document.getElementById('tools-error').textContent")
        self.assertEqual(self.value("document.getElementById('draft').value"), "once more")
        # What got no answer is not part of what is asked later.
        self.set("tools", "")
        self.replay([chunk(content="yes")])
        self.send("!")
        self.answer(3)
        self.assertEqual([one["role"] for one in self.value("window.asked.messages")],
                         ["user", "assistant", "tool", "assistant", "user"])
        self.check()

    def test_pictures(self):
        self.open()
        self.wait("document.getElementById('model').textContent === 'toy'")
        button = "document.getElementById('add-picture').checkVisibility()"
        self.assertFalse(self.value(button), "the toy takes none")
        # As if it did.
        self.browser.call("Page.addScriptToEvaluateOnNewDocument", source="""{
          const real = window.fetch;
          window.fetch = async (path, options) => path !== "engine" ? real(path, options)
            : Response.json({...await (await real(path, options)).json(), images: {}});
        }""")
        self.browser.open(f"{self.server.address}/")
        self.wait(button)
        # One pixel, chosen, pasted and dropped; and what is no picture.
        self.value("""{
          const bytes = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
            + "AAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="),
            letter => letter.charCodeAt(0));
          window.given = (name, type) => {
            const data = new DataTransfer();
            data.items.add(new File([bytes], name, {type}));
            return data;
          };
          const input = document.getElementById("picture-files");
          input.files = given("a.png", "image/png").files;
          input.dispatchEvent(new Event("change"));
        }""")
        shown = "document.querySelectorAll('#pictures img').length"
        self.wait(f"{shown} === 1")
        self.value("document.getElementById('draft').dispatchEvent(new ClipboardEvent('paste', "
                   "{clipboardData: given('b.png', 'image/png'), bubbles: true}))")
        self.wait(f"{shown} === 2")
        self.value("document.getElementById('composer').dispatchEvent(new DragEvent('drop', "
                   "{dataTransfer: given('c.webp', 'image/webp'), bubbles: true}))")
        self.wait(f"{shown} === 3")
        self.value("document.getElementById('composer').dispatchEvent(new DragEvent('drop', "
                   "{dataTransfer: given('d.gif', 'image/gif'), bubbles: true}))")
        self.wait("document.getElementById('picture-error').textContent.includes('d.gif')")
        self.value("document.querySelectorAll('#pictures button')[2].click()")
        self.assertEqual(self.value(shown), 2)
        self.replay([chunk(content="one pixel")])
        self.send("what is it")
        self.assertEqual(self.answer(), "one pixel")
        [message] = self.value("window.asked.messages")
        self.assertEqual([part["type"] for part in message["content"]],
                         ["image_url", "image_url", "text"])
        self.assertTrue(message["content"][0]["image_url"]["url"].startswith(
            "data:image/png;base64,iVBORw0KGgo"))
        self.assertEqual(message["content"][2]["text"], "what is it")
        self.assertEqual(self.value(shown), 0)
        self.assertEqual(self.value("document.querySelectorAll('.user .pictures img').length"), 2)
        # What is taken back has its pictures.
        self.value("[...document.querySelectorAll('.foot button')].at(-1).click()")
        self.assertEqual(self.value(shown), 2)
        self.assertEqual(self.value("document.getElementById('draft').value"), "what is it")
        self.browser.screenshot(self.shots / "pictures.png")
        self.check()

    def test_keyboard_and_screen_reader(self):
        self.open()
        self.set("max_tokens", 5)
        self.send("hello")
        self.answer()
        self.wait("!!document.querySelector('#report details')")
        nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        controls = [node for node in nodes if not node["ignored"] and any(
            fact["name"] == "focusable" for fact in node.get("properties", []))]
        nameless = [node for node in controls if node["role"]["value"] != "RootWebArea"
                    and not node.get("name", {}).get("value")]
        # The list scrolls, so that browsers let keys reach it.
        self.assertEqual([node["role"]["value"] for node in nameless
                          if node["role"]["value"] not in ("generic", "none")], [])
        self.assertGreater(len(controls), 15)
        roles = {node["role"]["value"] for node in nodes}
        self.assertLessEqual({"main", "banner", "complementary", "status", "article"}, roles)
        wanted = self.value(
            f"[...document.querySelectorAll(\"{FOCUSABLE}\")].filter(one => one.checkVisibility())"
            ".map((one, i) => one.dataset.place = i).length")
        self.value("document.querySelector('.skip').focus()")
        reached = ["0"]
        for _ in range(wanted + 8):
            self.browser.key("Tab", 9)
            place = self.value("document.activeElement.dataset.place")
            if place is not None and place not in reached:
                reached.append(place)
        self.assertEqual(sorted(reached, key=int), [str(i) for i in range(wanted)])
        self.assertEqual(reached, sorted(reached, key=int), "the order of the page")
        self.check()

    def test_key(self):
        keys = self.folder / "keys"
        keys.write_text("secret\n", encoding="ascii")
        self.open("--api-keys", keys)
        for key, wrong in (("guess", ""), ("secret", "does not know")):
            self.wait("document.getElementById('key-dialog').open && "
                      f"document.getElementById('key-error').textContent.includes('{wrong}')")
            self.value("document.getElementById('key').focus()")
            self.browser.type(key)
            self.browser.key("Enter", 13, text="\r")
        self.wait("document.getElementById('model').textContent === 'toy'")
        self.set("max_tokens", 5)
        self.send("hello")
        self.assertTrue(self.answer())
        self.browser.faults = [fault for fault in self.browser.faults if "401" not in fault]
        self.check()

    def test_colours_and_sizes(self):
        self.open()
        self.set("max_tokens", 60)
        self.send("hello there")
        self.answer()
        self.wait("!!document.querySelector('#report details')")
        grounds = set()
        for name, width, height, scheme in (("light", 1280, 800, "light"),
                                            ("dark", 1280, 800, "dark"),
                                            ("narrow", 360, 740, "light"),
                                            ("narrow-dark", 320, 640, "dark")):
            with self.subTest(name):
                self.browser.show(width, height, scheme)
                self.browser.screenshot(self.shots / f"{name}.png")
                grounds.add(self.value("getComputedStyle(document.body).backgroundColor"))
                self.assertLessEqual(self.value("document.documentElement.scrollWidth"), width)
                texts = self.value(CONTRAST)
                self.assertGreater(len(texts), 8)
                self.assertEqual([text for text in texts if text[1] < 4.5], [])
        self.value("document.getElementById('open-panel').click()")
        self.assertTrue(self.value("document.getElementById('panel').checkVisibility()"))
        self.assertLessEqual(self.value("document.documentElement.scrollWidth"), 320)
        self.browser.screenshot(self.shots / "narrow-panel.png")
        self.assertEqual(len(grounds), 2)
        # The switch wins over the system.
        for ground in ("Light", "Dark"):
            self.value("document.getElementById('theme').click()")
            self.assertEqual(self.value("document.getElementById('theme').textContent"), ground)
            grounds.add(self.value("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(grounds), 2)
        self.check()


if __name__ == "__main__":
    harness.main()
