"""Holds the server to its own description, `/api/openapi.json`.

First every call of crates/server/tests/server/contract/operations is made and its answer checked
against the description. Then schemathesis makes up calls, good and bad, about what those left
behind and about nothing at all; the same ones each time.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import requests
import schemathesis

URL = os.environ.get("RATCHET_URL", "http://127.0.0.1:3000").rstrip("/")
KEYS = (os.environ["RATCHET_PUBLIC_KEY"], os.environ["RATCHET_SECRET_KEY"])
CALLS = pathlib.Path(__file__).parents[2] / "crates/server/tests/server/contract/operations"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# The project that the calls speak of.
PROJECT = "shop"
EXAMPLES = "10"
SEED = "20261115"


def project_of_our_own():
    """Keys of a project where nothing else is: the calls leave a lot behind."""
    project = {"name": "described", "id": PROJECT}
    requests.post(f"{URL}/api/v1/projects", auth=KEYS, json=project, timeout=30).raise_for_status()
    keys = f"{URL}/api/v1/projects/{PROJECT}/keys"
    made = requests.post(keys, auth=KEYS, json={"role": "owner"}, timeout=30).json()
    return made["publicKey"], made["secretKey"]


class Walk:
    """Makes the described calls and keeps the ids that answers give."""

    def __init__(self, description, keys):
        self.description = description
        self.keys = keys
        self.kept = {}
        self.wrong = []

    def fill(self, text):
        for name in sorted(self.kept, key=len, reverse=True):
            text = text.replace(f"${name}", self.kept[name])
        return text.replace("MARK", "described")

    def make(self, call):
        method, path = call["operation"].split(" ")
        headers = {"content-type": call.get("type", "application/json")} if "body" in call else {}
        at = self.fill(call.get("at", path))
        answer = requests.request(
            method,
            at if at.startswith(URL) else URL + at,
            auth=self.keys,
            headers=headers,
            data=self.fill(call["body"]).encode() if "body" in call else None,
            timeout=60,
        )
        try:
            self.description[path][method].validate_response(answer)
        except Exception as why:
            self.wrong.append(f"{call['operation']}: {answer.status_code} {why}")
        # Some calls need what only the server's own tests can make: people, uploaded bytes.
        if not answer.ok:
            return
        for name, place in call.get("keep", {}).items():
            value = answer.json()
            for step in place.split("."):
                value = value[int(step) if step.isdigit() else step]
            self.kept[name] = str(value)

    def ids(self, call):
        """The ids that a call has in its path, by their names in the description."""
        path = call["operation"].split(" ")[1].split("/")
        at = self.fill(call.get("at", call["operation"].split(" ")[1])).removeprefix(URL)
        at = at.split("?")[0].split("/")
        return {f"path.{name[1:-1]}": value for name, value in zip(path, at) if name.startswith("{")}


def made_up_calls(keys, operations):
    """Has schemathesis make up calls; `operations` says which ids to use where."""
    lines = []
    for name, ids in operations.items():
        given = ", ".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in ids.items())
        lines.append(f"[[operations]]\ninclude-name = {json.dumps(name)}\nparameters = {{ {given} }}\n")
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "schemathesis.toml"
        config.write_text("\n".join(lines), encoding="utf-8")
        program = pathlib.Path(sys.executable).with_name("schemathesis")
        command = [program, "--no-color", "--config-file", config, "run", f"{URL}/api/openapi.json"]
        command += ["--auth", ":".join(keys), "--checks", CHECKS, "--seed", SEED, "--warnings", "off"]
        command += ["--max-examples", EXAMPLES, "--phases", "coverage,fuzzing", "--workers", "1"]
        # Deleting what the calls are about would leave the others nothing to ask for.
        command += ["--exclude-method", "DELETE"] if operations else []
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        print(ended.stdout[-20_000:], ended.stderr[-2_000:], file=sys.stderr)
    return ended.returncode == 0


def main():
    keys = project_of_our_own()
    walk = Walk(schemathesis.openapi.from_url(f"{URL}/api/openapi.json"), keys)
    files = [tomllib.loads(path.read_text("utf-8")) for path in sorted(CALLS.glob("*.toml"))]
    calls = [call for file in files for call in file["call"]]
    for call in calls:
        if not call["operation"].startswith("DELETE "):
            walk.make(call)
    told = {call["operation"]: walk.ids(call) for call in calls if not call.get("whole_server")}
    # What goes on for ever would be waited for as long.
    told["GET /api/v1/chats/{chat}/events"]["query.follow"] = False
    holds = made_up_calls(keys, {name: ids for name, ids in told.items() if ids})
    for call in calls:
        if call["operation"].startswith("DELETE "):
            walk.make(call)
    holds = made_up_calls(keys, {}) and holds
    for wrong in walk.wrong:
        print("not as described:", wrong, file=sys.stderr)
    sys.exit(0 if holds and not walk.wrong else 1)


if __name__ == "__main__":
    main()
