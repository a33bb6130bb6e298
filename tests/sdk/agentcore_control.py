"""AgentCore's control plane, scripted, for tests of deployments.

Prints its port, then serves. Signatures are computed again, by the rules of Signature Version 4.
The file LOG gets a line of JSON for every change. FAIL names a commit whose runtime fails. While
the file HOLD exists, nothing becomes ready.
"""

import hashlib
import hmac
import http.server
import json
import os
import re
import threading
import time
import urllib.parse

SECRET, REGION, SERVICE = "secret-test", "eu-west-1", "bedrock-agentcore"
LOCK, RUNTIMES, TOKENS = threading.Lock(), {}, {}
HIDDEN = ("looks", "endpoints")
NEEDED = {"agentRuntimeArtifact", "roleArn", "networkConfiguration"}


def sha(data):
    return hashlib.sha256(data).hexdigest()


def is_signed(method, headers, path, body):
    scheme, _, given = headers.get("Authorization", "").partition(" ")
    fields = dict(part.strip().split("=", 1) for part in given.split(",") if "=" in part)
    signed = fields.get("SignedHeaders", "").split(";")
    if scheme != "AWS4-HMAC-SHA256" or not {"host", "x-amz-date"} <= set(signed):
        return False
    parts = urllib.parse.urlsplit(path)
    query = sorted(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
    quote = lambda text: urllib.parse.quote(text, safe="-_.~")
    canonical = "\n".join([
        method,
        "/".join(quote(part) for part in parts.path.split("/")),
        "&".join(f"{quote(name)}={quote(value)}" for name, value in query),
        *[f"{name}:{' '.join(headers[name].split())}" for name in signed],
        "",
        ";".join(signed),
        sha(body),
    ])
    stamp = headers["X-Amz-Date"]
    scope = f"{stamp[:8]}/{REGION}/{SERVICE}/aws4_request"
    if fields.get("Credential") != f"AKIDTEST/{scope}":
        return False
    key = ("AWS4" + SECRET).encode()
    for part in [stamp[:8], REGION, SERVICE, "aws4_request"]:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, sha(canonical.encode())])
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest() == fields.get("Signature")


def log(change, **more):
    with open(os.environ["LOG"], "a") as file:
        file.write(json.dumps({"change": change, **more}) + "\n")


class Refused(Exception):
    def __init__(self, status, why):
        super().__init__(why)
        self.status = status


def look(thing):
    """Every second look finds it ready."""
    if os.path.exists(os.environ.get("HOLD", "")):
        return {name: value for name, value in thing.items() if name not in HIDDEN}
    thing["looks"] += 1
    if thing["status"] in ("CREATING", "UPDATING") and thing["looks"] > 1:
        fails = os.environ.get("FAIL")
        if fails and fails in json.dumps(thing.get("agentRuntimeArtifact", "")):
            thing["status"] = thing["status"].replace("ING", "E_FAILED")
            thing["failureReason"] = "the image cannot be pulled"
        else:
            thing["status"] = "READY"
            if "targetVersion" in thing:
                thing["liveVersion"] = thing["targetVersion"]
            else:
                default = thing["endpoints"]["DEFAULT"]
                default["liveVersion"] = default["targetVersion"] = thing["agentRuntimeVersion"]
    return {name: value for name, value in thing.items() if name not in HIDDEN}


def endpoint(version):
    return {"status": "CREATING", "looks": 0, "targetVersion": version, "liveVersion": None,
            "lastUpdatedAt": time.time()}


def change(thing, given, status):
    thing.update(given, status=status, looks=0, lastUpdatedAt=time.time())
    thing.pop("failureReason", None)


def put_runtime(name, given, runtime):
    missing = NEEDED - set(given)
    token = given.pop("clientToken", "")
    is_token = re.fullmatch(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,256}", token) and 33 <= len(token) <= 256
    if missing or not is_token:
        raise Refused(400, f"missing {missing}, token {token!r}")
    if token in TOKENS:
        return TOKENS[token]
    if runtime is None:
        name = given["agentRuntimeName"]
        if any(known["agentRuntimeName"] == name for known in RUNTIMES.values()):
            raise Refused(409, "there is one already")
        id = f"{name}-0123456789"
        runtime = {"agentRuntimeId": id, "agentRuntimeVersion": "0", "endpoints": {
            "DEFAULT": {**endpoint("1"), "status": "READY"}},
            "agentRuntimeArn": f"arn:aws:bedrock-agentcore:{REGION}:123456789012:runtime/{id}"}
        RUNTIMES[id] = runtime
        status = "CREATING"
    elif runtime["status"] in ("CREATING", "UPDATING"):
        raise Refused(409, "it is being changed")
    else:
        status = "UPDATING"
    change(runtime, given, status)
    runtime["agentRuntimeVersion"] = str(int(runtime["agentRuntimeVersion"]) + 1)
    log(status, name=runtime["agentRuntimeName"], version=runtime["agentRuntimeVersion"],
        artifact=given["agentRuntimeArtifact"], variables=given.get("environmentVariables"))
    TOKENS[token] = look(dict(runtime, looks=0))
    return TOKENS[token]


def put_endpoint(runtime, name, given):
    given.pop("clientToken")
    known = runtime["endpoints"].get(name)
    if known is None:
        known = runtime["endpoints"][name] = endpoint(given["agentRuntimeVersion"])
    else:
        change(known, {"targetVersion": given["agentRuntimeVersion"]}, "UPDATING")
    log("ENDPOINT", name=name, version=given["agentRuntimeVersion"])
    return look(dict(known))


def answer(method, path, body):
    parts = urllib.parse.urlsplit(path).path.strip("/").split("/")
    if parts == ["runtimes"] and method == "POST":
        return 200, {"agentRuntimes": [look(dict(known)) for known in RUNTIMES.values()]}
    if parts == ["runtimes"]:
        return 202, put_runtime(None, json.loads(body), None)
    runtime = RUNTIMES.get(parts[1])
    if runtime is None:
        raise Refused(404, "there is no such runtime")
    if len(parts) == 2:
        if method == "GET":
            return 200, look(runtime)
        return 202, put_runtime(parts[1], json.loads(body), runtime)
    if len(parts) == 3:
        given = json.loads(body)
        return 202, put_endpoint(runtime, given.pop("name"), given)
    if method == "PUT":
        return 202, put_endpoint(runtime, parts[3], json.loads(body))
    if parts[3] not in runtime["endpoints"]:
        raise Refused(404, "there is no such endpoint")
    return 200, look(runtime["endpoints"][parts[3]])


class ControlPlane(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if not is_signed(self.command, self.headers, self.path, body):
                raise Refused(403, "the signature does not match")
            with LOCK:
                status, said = answer(self.command, self.path, body)
        except Refused as refused:
            status, said = refused.status, {"message": str(refused)}
        data = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_POST = serve


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ControlPlane)
print(server.server_address[1], flush=True)
server.serve_forever()
