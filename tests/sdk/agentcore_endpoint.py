"""An endpoint of AgentCore that checks signatures as AWS does, for tests of experiments.

Prints its port, then serves. The signature is computed again by botocore.
"""

import http.server
import json
import urllib.parse

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

KEYS = Credentials("AKIDTEST", "secret-test")
AUTH = SigV4Auth(KEYS, "bedrock-agentcore", "eu-west-1")
SESSION = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"


def is_signed(headers, path, body):
    scheme, _, given = headers.get("Authorization", "").partition(" ")
    fields = dict(part.strip().split("=", 1) for part in given.split(",") if "=" in part)
    signed = fields.get("SignedHeaders", "").split(";")
    needed = {"host", "x-amz-date", "content-type", SESSION.lower()}
    if scheme != "AWS4-HMAC-SHA256" or not needed <= set(signed):
        return False
    url = f"http://{headers['Host']}{path}"
    sent = {name: headers[name] for name in signed if name != "host"}
    request = AWSRequest(method="POST", url=url, data=body, headers=sent)
    request.context["timestamp"] = headers["X-Amz-Date"]
    to_sign = AUTH.string_to_sign(request, AUTH.canonical_request(request))
    return AUTH.signature(to_sign, request) == fields["Signature"]


class Endpoint(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def answer(self, status, body, kind="application/json"):
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not is_signed(self.headers, self.path, body):
            return self.answer(403, json.dumps({"message": "the signature does not match"}))
        parts = urllib.parse.urlsplit(self.path)
        arn = urllib.parse.unquote(parts.path.split("/")[2])
        assert parts.query == "qualifier=DEFAULT", parts
        assert len(self.headers[SESSION]) >= 33 and self.headers["traceparent"]
        prompt = json.loads(body)["prompt"]
        name = arn.rsplit("/", 1)[1]
        if name.startswith("streaming"):
            events = "".join(f"data: {json.dumps(part)}\n\n" for part in [prompt, "!"])
            return self.answer(200, events, "text/event-stream")
        self.answer(200, json.dumps(f"{prompt}!"))


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
print(server.server_address[1], flush=True)
server.serve_forever()
