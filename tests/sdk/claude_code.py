"""Runs the real Claude Code against a scripted model: what it sends as events and what it writes as
transcripts must become one and the same trace, with each model call in it once."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import readback
import scripted

CLAUDE = pathlib.Path(os.environ["CLAUDE_BIN"]).resolve()
RATCHET = pathlib.Path(os.environ["RATCHET_BIN"]).resolve()
TOKENS = {"input": 10, "cacheRead": 200, "cacheWrite": 50, "output": 20}

scratch = pathlib.Path(tempfile.mkdtemp(prefix="ratchet-claude-"))
work, config = scratch / "till", scratch / "config"
for folder in (work, config, scratch / "tmp"):
    folder.mkdir()
subprocess.run(["git", "init", "-q", "-b", "trunk", work], check=True)


def environment(protocol, endpoint):
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    return {
        **kept,
        "TMPDIR": str(scratch / "tmp"),
        "ANTHROPIC_BASE_URL": scripted.URL,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CONFIG_DIR": str(config),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_METRICS_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_HEADERS": f"Authorization={readback.authorization()}",
        "OTEL_LOG_USER_PROMPTS": "1",
    }


SPANS = {"CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1", "OTEL_TRACES_EXPORTER": "otlp"}
OTLP = f"{readback.URL}/api/public/otel"


def claude(prompt, *arguments, protocol="http/json", endpoint=OTLP, more={}):
    command = [CLAUDE, "-p", prompt, "--output-format", "json", "--model", "claude-opus-5"]
    command += ["--dangerously-skip-permissions", *arguments]
    ran = subprocess.run(
        command, env={**environment(protocol, endpoint), **more}, cwd=work, text=True,
        capture_output=True, stdin=subprocess.DEVNULL, timeout=120,
    )
    if ran.returncode != 0:
        raise SystemExit(f"claude failed: {ran.stdout} {ran.stderr}")
    return json.loads(ran.stdout)


def traces(session):
    found = readback.get(f"/api/public/traces?sessionId={session}&limit=50")["data"]
    whole = [readback.get_trace(trace["id"]) for trace in found]
    return {trace["input"]: trace for trace in whole}


def ids(trace, kind):
    return sorted(step["id"] for step in scripted.steps(trace, kind))


def imported():
    keys = {"RATCHET_PUBLIC_KEY": readback.PUBLIC_KEY, "RATCHET_SECRET_KEY": readback.SECRET_KEY}
    command = [RATCHET, "import", "claude-code", config / "projects", "--server", readback.URL]
    ran = subprocess.run(
        [*command, "--json"], env={**os.environ, **keys}, capture_output=True, text=True, check=True
    )
    return json.loads(ran.stdout)


bash = {"id": "toolu_bash", "name": "Bash", "input": {"command": "false", "description": "fail"}}
errand = {"description": "look", "prompt": "look around please", "run_in_background": False}
scout = {"id": "toolu_scout", "name": "Agent", "input": {**errand, "subagent_type": "general-purpose"}}


def script_first_turn():
    begin = {"thinking": "Hm.", "text": "I look.", "calls": [bash, scout], "tokens": TOKENS}
    scripted.script(
        {"on": "count the files", **begin},
        {"on": "look around please", "text": "Nothing there.", "tokens": TOKENS},
        {"on": "toolu_scout", "text": "No files.", "tokens": TOKENS},
    )


script_first_turn()
first = claude("count the files")
session = first["session_id"]

# What events alone tell.
told = traces(session)["count the files"]
readback.equal("model calls in events", len(ids(told, "GENERATION")), 3)
readback.equal("tools in events", ids(told, "TOOL"), ["toolu_bash", "toolu_scout"])
readback.equal("cost in events", round(told["totalCost"], 9), round(first["total_cost_usd"], 9))
readback.equal("user in events", bool(told["userId"]), True)

scripted.script({"on": "again", "text": "Still none.", "tokens": TOKENS})
claude("again", "--resume", session, protocol="http/protobuf", endpoint=readback.URL)
scripted.script({"on": "elsewhere", "text": "A fork.", "tokens": TOKENS})
grpc = {"protocol": "grpc", "endpoint": os.environ["RATCHET_GRPC_URL"]}
fork = claude("elsewhere", "--resume", session, "--fork-session", **grpc)["session_id"]

# And with the transcripts.
report = imported()
readback.equal("broken lines", (report["malformedLines"], report["notes"]), (0, []))
readback.equal("turns and model calls", (report["turns"], report["modelCalls"]), (3, 5))
readback.equal("imported again", imported(), report)
turns = traces(session)
readback.equal("turns of the session", sorted(turns), ["again", "count the files"])
both = turns["count the files"]
readback.equal("one trace", both["id"], told["id"])
for kind in ("GENERATION", "TOOL", "AGENT"):
    readback.equal(f"{kind} of both", ids(both, kind), ids(told, kind))
readback.equal("cost of both", both["totalCost"], told["totalCost"])
readback.equal("user of both", both["userId"], told["userId"])
readback.equal("answer", both["output"], "No files.")
readback.equal("tags", both["tags"], ["branch:trunk", "claude-code", "folder:till"])
by_id = {step["id"]: step for step in both["observations"]}
calls = scripted.steps(both, "GENERATION")
usage = {"input": 10, "input_cached_tokens": 200, "input_cache_creation": 50, "output": 20, "total": 280}
for call in calls:
    readback.equal("usage", call["usageDetails"], usage)
    readback.equal("model", call["model"], "claude-opus-5")
scripted.contains("thinking", calls[0]["output"], "Hm.")
readback.equal("failed tool", by_id["toolu_bash"]["level"], "ERROR")
[nested] = [call for call in calls if "Nothing there." in scripted.texts(call["output"])]
agent = by_id[nested["parentObservationId"]]
readback.equal("sub-agent", (agent["type"], agent["name"]), ("AGENT", "general-purpose"))
readback.equal("its tool call", agent["parentObservationId"], "toolu_scout")

for by, trace in (("protobuf", turns["again"]), ("gRPC", traces(fork)["elsewhere"])):
    readback.equal(f"user, known from events over {by}", trace["userId"], told["userId"])

# A fork is a session of its own, and repeats nothing.
readback.equal("turns of the fork", sorted(traces(fork)), ["elsewhere"])
readback.equal("calls of the fork", len(ids(traces(fork)["elsewhere"], "GENERATION")), 1)

# With spans beside the events, each model call is still there once.
script_first_turn()
spanned = claude("count the files", more=SPANS)
[trace] = traces(spanned["session_id"]).values()
calls = scripted.steps(trace, "GENERATION")
readback.equal("model calls in spans", len(calls), 3)
readback.equal("cost in spans", round(trace["totalCost"], 9), round(spanned["total_cost_usd"], 9))
for call in calls:
    readback.equal("usage in spans", call["usageDetails"], usage)
readback.equal("tools in spans", len(scripted.steps(trace, "TOOL")), 2)
scripted.check_rooted(trace)
shutil.rmtree(scratch)
print(f"claude code {subprocess.check_output([CLAUDE, '--version'], text=True).split()[0]}: ok")
