"""The live page in a real browser, and what its server refuses."""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.browser import Browser

from eglearn import minimize
from eglearn.control import Wishes, wishes
from eglearn.store import History, StoreError
from eglearn.ui import Server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a store needs POSIX file locks")

RUN = """
import sys, time, numpy as np
from eglearn import minimize
def f(x):
    time.sleep(0.004)
    if x[0] > 4:
        raise ValueError("</script><script>document.title='owned'</script><img src=x onerror=document.title='owned'>")
    return float(np.sum((x - 0.3) ** 2))
result = minimize(f, [(-5, 5)] * 4, budget=int(sys.argv[2]), store=sys.argv[1])
print(result.status.name, result.nfev)
"""


@pytest.fixture
def chromium() -> str:
    found = shutil.which("chromium")
    if found is None and os.environ.get("CI"):
        pytest.fail("chromium is missing: the page must be opened in a real browser here")
    if found is None:
        pytest.skip("chromium is not installed")
    return found


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "run <i>.egl"
    minimize(lambda x: float(np.sum(x**2)), [(-1, 1)] * 3, budget=60, store=path)
    return path


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    path = tmp_path / "live.egl"
    process = subprocess.Popen([sys.executable, "-c", RUN, str(path), "4000"], stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 30
    while not (path.exists() and path.with_name("live.egl-wal").exists() and has_values(path)):
        assert time.monotonic() < end
        time.sleep(0.05)
    yield path, process
    process.kill()
    process.communicate()


def has_values(path: Path) -> bool:
    try:
        return sum(1 for _ in History(path).evaluations(with_x=False)) > 10
    except StoreError:
        return False


class Serving:
    def __init__(self, path: Path) -> None:
        self.server = Server(path)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def __enter__(self) -> Server:
        return self.server

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def asked(server: Server, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
    """What the server answers; a header that is "" is left out."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    told = {"Host": server.names[0], "X-Eglearn-Token": server.token, "Content-Type": "application/json"}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, path, skip_host=True)
    raw = None if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
    if raw is not None:
        told.setdefault("Content-Length", str(len(raw)))
    for name, value in told.items():
        if value:
            connection.putheader(name, value)
    connection.endheaders(raw)
    answer = connection.getresponse()
    text = answer.read().decode()
    for name in ("Cache-Control", "X-Frame-Options", "Referrer-Policy"):
        assert answer.getheader(name) or answer.status == 501
    connection.close()
    return answer.status, text


def test_a_run_is_watched_paused_extended_and_stopped(
    chromium: str, running: tuple[Path, subprocess.Popen[str]]
) -> None:
    path, process = running
    with Serving(path) as server, Browser(chromium) as browser:
        browser.open(server.url)
        used = "Number(document.querySelector('.tile .big').textContent.split(' ')[0].replace(',', ''))"
        assert browser.run("document.getElementById('state').textContent") == "Running"
        first = browser.run(used)
        browser.run("document.querySelector('#recommended summary').click()")
        browser.wait(f"{used} > {first} + 50")  # by itself, without loading the page again
        assert browser.run("document.querySelector('#recommended details').open")  # what was opened stays open
        assert browser.run("document.querySelector('#convergence path') !== null")

        browser.click("#pause")
        browser.wait("document.getElementById('state').textContent === 'Paused'")
        time.sleep(1)  # the evaluation that was under way is still told
        held = browser.run(used)
        time.sleep(2)
        assert browser.run(used) == held
        browser.click("#pause")
        browser.wait("document.getElementById('state').textContent === 'Running'")
        browser.wait(f"{used} > {held}")

        browser.run("document.getElementById('budget').value = 10")
        browser.click("#raise button")  # the browser itself refuses what is too small
        assert wishes(path).budget == 0
        browser.run("document.getElementById('budget').value = 123456")
        browser.click("#raise button")
        browser.wait("document.getElementById('controls').textContent.includes('123,456 evaluations')")
        assert wishes(path) == Wishes(budget=123456)
        browser.wait("document.getElementById('header').textContent.includes('of 123,456')")  # in the file, too

        browser.click("#stop")
        assert not wishes(path).stop  # once more, to be sure
        browser.click("#stop")
        browser.wait("document.querySelector('#controls h2').textContent === 'Not running'")
        assert process.wait(20) == 0
        browser.wait("document.getElementById('header').textContent.includes('interrupted')")
        assert browser.run("document.title").endswith("live")  # nothing that the objective said has run
        assert browser.complaints == []
        shown = browser.run("document.querySelector('#controls pre').textContent")
        assert shown == shlex.join(["eglearn", "resume", str(path)])  # the file has the budget
    assert process.stdout is not None
    status, nfev = process.stdout.read().split()
    assert status == "INTERRUPTED"
    assert held < int(nfev) < 4000
    history = History(path)
    assert history.budgets == [4000, 123456]
    again = [sys.executable, "-c", RUN.replace("time.sleep(0.004)", "pass"), str(path), "4000"]  # the same call
    done = subprocess.run(again, capture_output=True, text=True, timeout=100, check=True)
    status, nfev = done.stdout.split()
    assert status in ("BUDGET", "CONVERGED")
    assert int(nfev) > 4000


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_nothing_scrolls_sideways(
    chromium: str, running: tuple[Path, subprocess.Popen[str]], dark: bool
) -> None:
    with Serving(running[0]) as server, Browser(chromium) as browser:
        for width in (400, 1200):
            browser.look(width=width, dark=dark)
            browser.open(server.url)
            assert browser.sideways() == []
            assert browser.run("document.querySelector('#pause') !== null")


def test_when_the_server_ends_the_page_says_so(chromium: str, running: tuple[Path, subprocess.Popen[str]]) -> None:
    with Browser(chromium) as browser:
        with Serving(running[0]) as server:
            browser.open(server.url)
        browser.wait("document.getElementById('said').textContent.includes('start eglearn ui again')")


def test_only_this_machine(store: Path) -> None:
    with Serving(store) as server:
        assert server.server_address[0] == "127.0.0.1"
        other = socket.gethostbyname(socket.gethostname())
        if not other.startswith("127."):
            with pytest.raises(OSError):  # noqa: PT011
                socket.create_connection((other, server.server_port), timeout=2).close()


def test_the_token_and_the_host_are_checked(store: Path) -> None:
    with Serving(store) as server:
        page = f"/?token={server.token}"
        assert asked(server, "GET", page, X_Eglearn_Token="")[0] == 200
        assert asked(server, "GET", "/content")[0] == 200
        assert asked(server, "GET", page, Host=server.names[1])[0] == 200
        for path, headers in (
            ("/", {}),
            ("/?token=", {}),
            ("/?token=" + server.token[:-1], {}),
            ("/?token=é", {}),
            (page, {"Host": "evil.example"}),
            (page, {"Host": f"evil.example:{server.server_port}"}),
            (page, {"Host": "127.0.0.1"}),
            (page, {"Host": ""}),
            ("/content", {"X_Eglearn_Token": ""}),
            ("/content", {"X_Eglearn_Token": "wrong"}),
            (f"/content?token={server.token}", {"X_Eglearn_Token": ""}),
            ("/no", {"X_Eglearn_Token": ""}),
        ):
            status, text = asked(server, "GET", path.replace("é", "%C3%A9"), **headers)
            assert status == 403, path
            assert "60 of 60" not in text
        assert asked(server, "GET", "/../../etc/passwd")[0] == 404
        with Server(store) as other:
            assert other.token != server.token


def test_nothing_is_done_by_get_and_strange_wishes_are_refused(running: tuple[Path, subprocess.Popen[str]]) -> None:
    path, _ = running
    with Serving(path) as server:
        for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
            assert asked(server, method, "/wish", {"stop": True})[0] in (404, 501)
        stop = {"stop": True}
        for headers, status in (
            ({"X_Eglearn_Token": ""}, 403),
            ({"Host": "evil.example"}, 403),
            ({"Origin": "http://evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Content_Type": "text/plain"}, 415),
            ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
            ({"Content_Length": ""}, 413),
            ({"Content_Length": "99999999"}, 413),
            ({"Content_Length": "-1"}, 413),
        ):
            assert asked(server, "POST", "/wish", stop, **headers)[0] == status, headers
        for body, status in (
            (b"{", 400),
            (b"\xff", 400),
            (b"[" * 990, 400),
            ([], 409),
            ({}, 409),
            ({"stop": False}, 409),
            ({"stop": 1}, 409),
            ({"stop": True, "pause": True}, 409),
            ({"budget": 10}, 409),
            ({"budget": True}, 409),
            ({"budget": 10**30}, 409),
            ({"budget": 1e4}, 409),
        ):
            assert asked(server, "POST", "/wish", body)[0] == status, body
        assert wishes(path) == Wishes()
        assert asked(server, "POST", "/wish", {"pause": True}, Origin=f"http://{server.names[0]}")[0] == 204
        assert wishes(path) == Wishes(pause=True)


def test_what_has_ended_takes_no_wishes(store: Path) -> None:
    with Serving(store) as server:
        assert asked(server, "POST", "/wish", {"stop": True}) == (409, "the run is not running")
        _, text = asked(server, "GET", "/content")
        assert "--budget 120" in text
    assert not store.with_name(store.name + "-control").exists()


def test_the_command(store: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "eglearn", "ui"]
    process = subprocess.Popen([*words, str(store)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert re.fullmatch(r"open http://127\.0\.0\.1:\d+/\?token=[\w-]{40,}\n", line)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    process.stdout.close()
    for wrong, code, said in (
        ([str(tmp_path / "no.egl")], 4, "no.egl"),
        ([str(store), "--port", "70000"], 2, "--port 70000"),
    ):
        done = subprocess.run([*words, *wrong], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = subprocess.run([*words, str(store), "--port", port], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "choose another --port" in done.stderr
