"""A page in headless Chromium, driven over its DevTools pipe. Standard library only."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

CALL_SECONDS = 60


class Browser:
    """One page of one browser; `problems` collects what its console complains of."""

    def __init__(self):
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        self._profile = tempfile.mkdtemp(prefix="veriroce-browser-")

        def give_pipes():  # the browser reads from 3 and writes to 4
            high_in, high_out = 60, 61
            os.dup2(to_browser, high_in)
            os.dup2(from_browser, high_out)
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        self._process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe", "--user-data-dir=" + self._profile],
            preexec_fn=give_pipes, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._calls = 0
        self._session = None
        self.problems = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _message(self, until):
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise EOFError("the browser ended")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + CALL_SECONDS
        while True:
            answer = self._message(until)
            if answer.get("id") == self._calls:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def _note(self, event):
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(parameters["exceptionDetails"].get("text", "exception"))
        elif event.get("method") == "Log.entryAdded":
            self.problems.append(parameters["entry"]["text"])
        elif event.get("method") == "Runtime.consoleAPICalled":
            self.problems.append(str(parameters["args"]))

    def run(self, expression):
        """The value of a JavaScript expression; a promise is awaited."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, seconds=10):
        """Until the expression is true."""
        until = time.monotonic() + seconds
        while not self.run(expression):
            if time.monotonic() > until:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.02)

    def open(self, path):
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait("document.readyState === 'complete'")

    def go(self, fragment):
        self.run(f"location.hash = encodeURIComponent({json.dumps(fragment)})")

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)

    def theme(self, name):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, path, whole=False):
        """Of what the window shows, or of the whole page."""
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png",
                                                  captureBeyondViewport=whole)["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF")["data"])
