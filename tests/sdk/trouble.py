"""A server that says no, is slow, goes away and comes back: the SDK raises errors of its own or
tries again, and nothing is lost or doubled."""

import importlib.metadata
import time
import uuid

import httpx
import readback
from between import Between

from langfuse import Langfuse
from langfuse.api import NotFoundError, UnauthorizedError

MAJOR = int(importlib.metadata.version("langfuse").split(".")[0])
MARK = uuid.uuid4().hex
PROMPTS = "/api/public/v2/prompts"
SPANS = "/api/public/ingestion" if MAJOR == 2 else "/api/public/otel"
SCORES = "/api/public/scores" if MAJOR >= 5 else "/api/public/ingestion"

between = Between()


def client(public_key=readback.PUBLIC_KEY, **more):
    where = {"host" if MAJOR < 4 else "base_url": between.url}
    return Langfuse(public_key=public_key, secret_key=readback.SECRET_KEY, **where, **more)


# Versions before 5 wait for this long before they send scores, even when they are flushed.
langfuse = client(timeout=2, flush_interval=0.2)
api = langfuse.client if MAJOR == 2 else langfuse.api


def raised(what, kind, call):
    try:
        call()
    except kind as error:
        return error
    raise SystemExit(f"{what}: no {kind.__name__}")


def check_refusals():
    """Every refusal is an error that says which."""
    error = raised("missing prompt", NotFoundError, lambda: api.prompts.get(f"none-{MARK}"))
    readback.equal("status", error.status_code, 404)
    error = raised("unknown key", UnauthorizedError, client(public_key=f"pk-lf-{MARK}").auth_check)
    readback.equal("status", error.status_code, 401)
    readback.send("POST", PROMPTS, {"name": f"held-{MARK}", "prompt": "one", "labels": ["production"]})
    for status in [429, 503]:
        between.next(PROMPTS, "refuse", status)
        once = {"max_retries": 0}
        error = raised(
            "refusal", Exception, lambda: api.prompts.get(f"held-{MARK}", request_options=once)
        )
        readback.equal("status", error.status_code, status)
        between.next(PROMPTS, "refuse", status)
        found = api.prompts.get(f"held-{MARK}", request_options={"max_retries": 2})
        readback.equal("prompt at the second attempt", found.prompt, "one")


def record(name):
    if MAJOR == 2:
        trace = langfuse.trace(id=f"{name}-{MARK}", name=name)
        trace.generation(name="ask", model=readback.MODEL, usage_details={"input": 1}).end()
        trace.score(name="quality", value=0.5)
        return trace.id
    with langfuse.start_as_current_observation(
        as_type="generation", name="ask", model=readback.MODEL, usage_details={"input": 1}
    ) as generation:
        generation.score_trace(name="quality", value=0.5)
        return generation.trace_id


def check_recorded(what, trace_id):
    trace = readback.get_trace(trace_id)
    tokens = [row["usageDetails"]["input"] for row in trace["observations"]]
    readback.equal(f"{what}: model calls", tokens, [1])
    readback.equal(f"{what}: scores", [score["value"] for score in trace["scores"]], [0.5])


def check_recording():
    """What is refused for now is sent again; what is sent again is recorded once."""
    for what, trouble, status in [
        ("busy", "refuse", 429),
        ("not ready", "refuse", 503),
        ("without an answer", "lose", None),
    ]:
        earlier = [between.count(SPANS), between.count(SCORES)]
        for path in sorted({SPANS, SCORES}):
            between.next(path, trouble, status)
        trace_id = record(what)
        langfuse.flush()
        check_recorded(what, trace_id)
        later = [between.count(SPANS), between.count(SCORES)]
        again = [after - before >= 2 for after, before in zip(later, earlier)]
        readback.equal(f"{what}: sent again", again, [True, True])


def check_patience():
    """A server that is too slow is an error for readers, and no loss for recorders."""
    between.next(PROMPTS, "hold")
    raised("slow answer", httpx.TimeoutException, lambda: api.prompts.get(f"held-{MARK}"))
    readback.equal("prompt after that", api.prompts.get(f"held-{MARK}").prompt, "one")
    between.next(SPANS, "hold")
    trace_id = record("slow")
    langfuse.flush()
    check_recorded("slow", trace_id)
    between.release()


def change_prompt(text):
    readback.send("POST", PROMPTS, {"name": f"held-{MARK}", "prompt": text, "labels": ["production"]})


def check_prompts():
    """Prompts outlive the server: from the cache, even a stale one, or else from the program."""
    name = f"held-{MARK}"
    # A cache that is stale as soon as it is filled.
    stale = {"cache_ttl_seconds": -1}
    readback.equal("filled cache", langfuse.get_prompt(name, **stale).prompt, "one")
    between.down()
    readback.equal("stale cache", langfuse.get_prompt(name, **stale).prompt, "one")
    once = {"max_retries": 1 if MAJOR == 2 else 0}  # Version 2 takes none for no end of them.
    absent = langfuse.get_prompt(f"none-{MARK}", fallback="Hi {{name}}", **once)
    readback.equal("fallback", (absent.compile(name="Ada"), absent.is_fallback), ("Hi Ada", True))
    raised("no fallback", httpx.ConnectError, lambda: langfuse.get_prompt(f"none-{MARK}", **once))
    between.up()
    change_prompt("two")
    for _ in range(100):
        if langfuse.get_prompt(name, **stale).prompt == "two":
            break
        time.sleep(0.05)
    readback.equal("after it came back", langfuse.get_prompt(name, **stale).prompt, "two")


check_refusals()
check_recording()
check_patience()
check_prompts()
langfuse.shutdown()
print(f"langfuse {MAJOR}: trouble ok")
