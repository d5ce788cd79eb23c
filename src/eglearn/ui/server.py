"""The server of a live page: on this machine only, for whoever knows the token, and nothing changes by a GET.

Any page in the user's browser can send requests to 127.0.0.1. Three things keep them out: a token that other pages do
not know, the name in the Host header (else a foreign name could be made to point here), and for wishes a header that
browsers do not let other pages send.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..store import StoreError
from .live import Live, Refused

_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",
}
_LONGEST_WISH = 1000  # bytes of a wish


class Server(ThreadingHTTPServer):
    """Serves the page of one run on the loopback address.

    Parameters
    ----------
    path
        The file of the run.
    port
        0: any that is free.

    Raises
    ------
    StoreError
        If the file cannot be read.
    OSError
        If the port is taken.

    Examples
    --------
    >>> import os, tempfile, threading, urllib.request
    >>> from eglearn import minimize
    >>> folder = tempfile.TemporaryDirectory()
    >>> run = os.path.join(folder.name, "run.egl")
    >>> result = minimize(lambda x: sum(x**2), [(-1, 1)] * 3, budget=60, store=run)
    >>> with Server(run) as server:
    ...     threading.Thread(target=server.serve_forever).start()
    ...     with urllib.request.urlopen(server.url) as answer:
    ...         b"60 of 60" in answer.read()
    ...     server.shutdown()
    True
    >>> folder.cleanup()
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, path: str | os.PathLike[str], port: int = 0) -> None:
        self.live = Live(path)
        self.token = secrets.token_urlsafe(32)
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def url(self) -> str:
        """Where the page is, with the token: not for other people's eyes."""
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"

    @property
    def names(self) -> tuple[str, str]:
        """What a Host header may say."""
        return f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that has gone away is no error."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = 10  # seconds for a request: nobody holds a thread for long
    server_version, sys_version = "eglearn", ""

    def do_GET(self) -> None:
        """The page, or what stands in it now."""
        parts = urlsplit(self.path)
        given = parse_qs(parts.query).get("token", [""])[0]
        if not self._is_allowed(given if parts.path == "/" else self.headers.get("X-Eglearn-Token", "")):
            return
        try:
            if parts.path == "/":
                self._answer(HTTPStatus.OK, self.server.live.page(), "text/html")
            elif parts.path == "/content":
                content = self.server.live.content()
                mark = self.server.live.mark(content)
                if self.headers.get("X-Seen") == mark:
                    self._answer(HTTPStatus.NO_CONTENT)
                else:
                    self._answer(HTTPStatus.OK, content, "text/html", mark)
            else:
                self._answer(HTTPStatus.NOT_FOUND, "There is no such page.")
        except StoreError as error:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

    def do_POST(self) -> None:
        """A wish."""
        if not self._is_allowed(self.headers.get("X-Eglearn-Token", "")):
            return
        origin, size = self.headers.get("Origin"), self.headers.get("Content-Length", "")
        if origin is not None and origin not in [f"http://{name}" for name in self.server.names]:
            self._answer(HTTPStatus.FORBIDDEN, "This comes from another page.")
        elif urlsplit(self.path).path != "/wish":
            self._answer(HTTPStatus.NOT_FOUND, "There is no such page.")
        elif self.headers.get_content_type() != "application/json":
            self._answer(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The request must be JSON.")
        elif not size.isdigit() or int(size) > _LONGEST_WISH:
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The request is too long.")
        else:
            try:
                self.server.live.wish(json.loads(self.rfile.read(int(size))))
                self._answer(HTTPStatus.NO_CONTENT)
            except (ValueError, RecursionError):
                self._answer(HTTPStatus.BAD_REQUEST, "The request must be JSON.")
            except Refused as error:
                self._answer(HTTPStatus.CONFLICT, str(error))
            except (StoreError, OSError) as error:
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

    def _is_allowed(self, token: str) -> bool:
        named = self.headers.get_all("Host", []) in [[name] for name in self.server.names]
        if named and hmac.compare_digest(token.encode(), self.server.token.encode()):
            return True
        self._answer(HTTPStatus.FORBIDDEN, "Open the address that eglearn ui has printed.")
        return False

    def _answer(self, status: HTTPStatus, text: str = "", kind: str = "text/plain", mark: str = "") -> None:
        body = text.encode("utf-8", "xmlcharrefreplace")
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if mark:
            self.send_header("X-Mark", mark)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """The terminal stays as it is."""
