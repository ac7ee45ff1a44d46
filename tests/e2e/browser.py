# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium, driven through its developer tools' protocol on a pair of pipes."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

LIMIT = 60  # Seconds for anything that a page does.


def program():
    """The path of Chromium; None where there is none."""
    return shutil.which("chromium")


class Browser:
    """A browser with one page. What the page asks for and what goes wrong in it are in lists."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="ingot-browser-")
        command_end, commands = os.pipe()
        events, event_end = os.pipe()
        # The protocol is spoken on the descriptors 3 and 4. Nothing here comes from outside, and a
        # container's root has no sandbox.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$0" "$@" 3<&{command_end} 4>&{event_end}', program(),
             "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
             "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--hide-scrollbars", "about:blank"],
            pass_fds=(command_end, event_end), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_end)
        os.close(event_end)
        self.commands, self.events = commands, events
        self.unread, self.last_id, self.session = b"", 0, None
        self.requests, self.faults = [], []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.events)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self):
        """The next message of the browser; notes what events tell."""
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.events], [], [], LIMIT)
            assert ready, "the browser says nothing"
            part = os.read(self.events, 1 << 20)
            assert part, "the browser has ended"
            self.unread += part
        text, _, self.unread = self.unread.partition(b"\0")
        message = json.loads(text)
        method, told = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.faults.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning"):
            self.faults.append(str([value.get("value") for value in told["args"]]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.faults.append(told["entry"]["text"])
        return message

    def call(self, method, **parameters):
        """A method of the protocol and its result."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self.last_id:
                assert "error" not in answer, answer
                return answer["result"]

    def value(self, expression):
        """What an expression of the page is."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, expression):
        end = time.monotonic() + LIMIT
        while not (value := self.value(expression)):
            assert time.monotonic() < end, (expression, self.faults)
            time.sleep(0.05)
        return value

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete'")

    def key(self, name, code=0, **more):
        """Presses a key that types nothing, or Enter."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name,
                      windowsVirtualKeyCode=code, **(more if kind == "keyDown" else {}))

    def type(self, text):
        self.call("Input.insertText", text=text)

    def show(self, width, height, scheme="light"):
        """The size of the page in CSS pixels, and what the system's colours are."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))
