"""A real browser, driven through its DevTools protocol over two pipes: no other package is needed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
]

# The browser reads from file 3 and writes to file 4; neither may be closed before it has moved there.
_START = """import fcntl, os, sys
reads, writes = (fcntl.fcntl(int(word), fcntl.F_DUPFD, 10) for word in sys.argv[1:3])
os.dup2(reads, 3), os.dup2(writes, 4), os.close(reads), os.close(writes)
os.execv(sys.argv[3], sys.argv[3:])"""


class Browser:
    """One page in a chromium; ``complaints`` is what its console said that should not be there."""

    def __init__(self, chromium: str) -> None:
        self._profile = tempfile.mkdtemp()
        reads, self._to = os.pipe()
        self._from, writes = os.pipe()
        words = [chromium, *OPTIONS, "--remote-debugging-pipe", f"--user-data-dir={self._profile}", "about:blank"]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(reads), str(writes), *words],
            pass_fds=(reads, writes), stdout=quiet, stderr=quiet,
        )  # fmt: skip
        os.close(reads)
        os.close(writes)
        self._read, self._number, self._session = b"", 0, None
        self.complaints: list[str] = []
        page = next(t for t in self._send("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self._send("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._profile, ignore_errors=True)

    def look(self, *, width: int = 1200, height: int = 1000, dark: bool = False) -> None:
        """The size and the colours of the screen."""
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._send("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url: str) -> None:
        """Go there, and wait until it is loaded."""
        self._send("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script: str) -> Any:
        """The value of a piece of JavaScript in the page."""
        told = self._send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise AssertionError(f"{script}: {told['exceptionDetails']}")
        return told["result"].get("value")

    def wait(self, script: str, seconds: float = 20) -> None:
        """Until the script's value is true."""
        end = time.monotonic() + seconds
        while not self.run(script):
            if time.monotonic() > end:
                raise AssertionError(f"in {seconds:g} s it did not become true: {script}")
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        """With the mouse, in the middle of an element."""
        script = """(() => { const e = document.querySelector(%s); e.scrollIntoView({block: "center"});
            const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2] })()"""
        x, y = self.run(script % json.dumps(selector))
        for kind in ("mousePressed", "mouseReleased"):
            self._send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, path: Path) -> None:
        """The whole page as PNG."""
        told = self._send("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(told["data"]))

    def sideways(self) -> list[str]:
        """What is wider than the screen, or scrolls sideways in itself."""
        return list(
            self.run("""[document.documentElement, ...document.querySelectorAll("body *")]
            .filter(e => e.getBoundingClientRect().right > innerWidth + 0.5
                || (e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX)))
            .map(e => e.tagName + "." + (e.getAttribute("class") || e.id))""")
        )

    def _send(self, method: str, **values: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": values}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        if event.get("method") == "Log.entryAdded":
            self.complaints.append(told["entry"]["text"])
        elif event.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
            self.complaints.append(json.dumps(told))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            part = os.read(self._from, 1 << 16)
            if not part:
                raise AssertionError("the browser has gone")
            self._read += part
        text, _, self._read = self._read.partition(b"\0")
        return dict(json.loads(text))
