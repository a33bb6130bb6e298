"""Processes that end without a word lose nothing; killed ones keep what was acknowledged.

Started without arguments it starts itself again, as the program that ends."""

import importlib.metadata
import subprocess
import sys

import readback

MAJOR = int(importlib.metadata.version("langfuse").split(".")[0])
# Enough to be killed in the middle of.
MANY = 1000
ACKNOWLEDGED = 5


def make_client(**more):
    from langfuse import Langfuse

    keys = {"public_key": readback.PUBLIC_KEY, "secret_key": readback.SECRET_KEY}
    return Langfuse(**keys, **{"host" if MAJOR < 4 else "base_url": readback.URL}, **more)


def record(langfuse, name):
    """One trace of two steps, and a score; says its id only after all of it was handed over."""
    if MAJOR == 2:
        trace = langfuse.trace(name=name)
        outer = trace.span(name="outer")
        outer.span(name="inner", input="last words").end()
        outer.end()
        trace.score(name="quality", value=0.5)
        return trace.id
    with langfuse.start_as_current_observation(as_type="span", name="outer") as outer:
        with langfuse.start_as_current_observation(as_type="span", name="inner", input="last words"):
            pass
        outer.score_trace(name="quality", value=0.5)
        return outer.trace_id


def check_trace(trace_id):
    trace = readback.get_trace(trace_id)
    steps = {row["name"]: row["input"] for row in trace["observations"]}
    readback.equal("steps", steps, {"outer": None, "inner": "last words"})
    readback.equal("scores", [score["value"] for score in trace["scores"]], [0.5])


def start(how):
    command = [sys.executable, __file__, how]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check_end(how, code):
    child = start(how)
    told, complaints = child.communicate(timeout=60)
    ended = told.split()
    readback.equal(f"the code of one that {how}: {complaints}", child.returncode, code)
    readback.equal(f"traces told of by one that {how}", len(ended), 1)
    check_trace(ended[0])


def check_kill():
    """What flush() came back from was acknowledged, and outlives the process."""
    child = start("goes-on")
    told = [child.stdout.readline().strip() for _ in range(ACKNOWLEDGED)]
    child.kill()
    rest, _ = child.communicate(timeout=60)
    told += rest.split("\n")[:-1]
    readback.equal("it was killed in the middle", len(told) < MANY, True)
    for trace_id in told:
        check_trace(trace_id)


def main():
    match sys.argv[1:]:
        case []:
            check_end("ends", 0)
            check_end("fails", 1)
            check_kill()
            print(f"langfuse {MAJOR}: exit ok")
        case ["ends"]:
            print(record(make_client(), "ends"), flush=True)
        case ["fails"]:
            print(record(make_client(), "fails"), flush=True)
            raise RuntimeError("told to fail")
        case ["goes-on"]:
            # Versions before 5 wait for this long before they send scores.
            langfuse = make_client(flush_interval=0.1)
            for _ in range(MANY):
                trace_id = record(langfuse, "goes on")
                langfuse.flush()
                print(trace_id, flush=True)


if __name__ == "__main__":
    main()
