"""A proxy between an SDK and the server, which is slow, says no or goes away when it is told to.

Python checks use `Between` as it is. For others it runs as a program: the first line it prints is
its address; after that it takes one command in JSON a line, and answers each with one line.
"""

import http.client
import http.server
import json
import sys
import threading
import urllib.parse

from readback import URL

# Longer than any SDK waits in these checks, and the end of a check that went wrong.
PATIENCE_SECONDS = 60


class Between:
    """Troubles are met once each, by the next request that they are meant for."""

    def __init__(self):
        self.troubles = []
        self.seen = []
        self.lock = threading.Lock()
        self.released = threading.Event()
        self.port = 0
        self.server = None
        self.up()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def up(self):
        """Listens, at the same address as before."""
        between = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def handle_any(self):
                between.answer(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

            def log_message(self, *arguments):
                pass

        http.server.ThreadingHTTPServer.daemon_threads = True
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()

    def down(self):
        """Listens no more: connections are refused."""
        self.server.shutdown()
        self.server.server_close()

    def next(self, path, trouble, status=503, times=1):
        """What becomes of the next requests to this path: `refuse` answers with a status, `lose`
        passes on and hangs up without an answer, `hold` passes on and answers after `release`."""
        with self.lock:
            self.troubles += [(path, trouble, status)] * times

    def release(self):
        """Lets all go that are held, and holds no more."""
        self.released.set()

    def count(self, path):
        """How many requests there were so far to this path."""
        return sum(1 for seen in self.seen if seen.startswith(path))

    def take(self, path):
        with self.lock:
            self.seen.append(path)
            for trouble in self.troubles:
                if path.startswith(trouble[0]):
                    self.troubles.remove(trouble)
                    return trouble[1:]
        return "pass", None

    def answer(self, request):
        body = read_body(request)
        trouble, status = self.take(request.path)
        if trouble == "refuse":
            refusal = json.dumps({"message": "told to refuse", "error": "Refused"}).encode()
            self.reply(request, status, {"content-type": "application/json", "retry-after": "0"}, refusal)
            return
        status, headers, answer = self.pass_on(request, body)
        if trouble == "hold":
            self.released.wait(PATIENCE_SECONDS)
        if trouble == "lose":
            request.close_connection = True
            return
        self.reply(request, status, headers, answer)

    def pass_on(self, request, body):
        to = http.client.HTTPConnection(urllib.parse.urlsplit(URL).netloc, timeout=PATIENCE_SECONDS)
        to.request(request.command, request.path, body, kept(request.headers.items()))
        answer = to.getresponse()
        content = answer.read()
        to.close()
        return answer.status, kept(answer.getheaders()), content

    def reply(self, request, status, headers, content):
        try:
            request.send_response_only(status)
            for name, value in headers.items():
                request.send_header(name, value)
            request.send_header("content-length", str(len(content)))
            request.end_headers()
            request.wfile.write(content)
        except OSError:
            pass  # Whoever asked did not wait.


def read_body(request):
    """The whole body of a request, also of one that does not say how long it is."""
    if request.headers.get("transfer-encoding", "").lower() != "chunked":
        return request.rfile.read(int(request.headers.get("content-length") or 0))
    body = b""
    while size := int(request.rfile.readline(), 16):
        body += request.rfile.read(size)
        request.rfile.readline()
    request.rfile.readline()
    return body


def kept(headers):
    """The headers that are about the message and not about one connection."""
    dropped = ("host", "connection", "content-length", "transfer-encoding")
    return {name: value for name, value in headers if name.lower() not in dropped}


def main():
    between = Between()
    print(json.dumps(between.url), flush=True)
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        print(json.dumps(getattr(between, command)(*arguments)), flush=True)


if __name__ == "__main__":
    main()
