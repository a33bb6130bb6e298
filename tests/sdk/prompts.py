"""Makes prompts with one version of the SDK, and reads those that other versions made before.

Runs once for each version; the last run reads what all have made."""

import importlib.metadata
import urllib.parse
import uuid

import readback

from langfuse import Langfuse

major = int(importlib.metadata.version("langfuse").split(".")[0])
arguments = {"public_key": readback.PUBLIC_KEY, "secret_key": readback.SECRET_KEY}
langfuse = Langfuse(**arguments, **{"host" if major < 4 else "base_url": readback.URL})
folder = f"sdk prompts/{uuid.uuid4()}"
# Version 2 knows no placeholders.
has_placeholders = major > 2
HISTORY = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


def check_text(name):
    prompt = langfuse.get_prompt(name, cache_ttl_seconds=0)
    readback.equal("text", prompt.compile(name="Ada"), "Dear Ada, be kind.")
    readback.equal("config", prompt.config, {"model": readback.MODEL, "temperature": 0.5})
    readback.equal("labels", prompt.labels, ["production", "latest"])
    readback.equal("tags", prompt.tags, ["sdk-text"])
    readback.equal("commit message", prompt.commit_message, "first")


def check_chat(name):
    if not has_placeholders:
        return
    prompt = langfuse.get_prompt(name, type="chat", cache_ttl_seconds=0)
    said = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Where is Ada?"}]
    found = prompt.compile(name="Ada", history=HISTORY)
    readback.equal("chat", found, [said[0], *HISTORY, said[1]])


# What other versions made.
for tag, check in [("sdk-text", check_text), ("sdk-chat", check_chat)]:
    made = readback.get(f"/api/public/v2/prompts?tag={tag}&limit=100")["data"]
    for row in made:
        check(row["name"])
    print(f"langfuse {major}: read {len(made)} prompts with the tag {tag}")

# A text that takes another in.
langfuse.create_prompt(name=f"{folder}/tone", prompt="kind", labels=["production"])
reference = f"@@@langfusePrompt:name={folder}/tone|label=production@@@"
langfuse.create_prompt(
    name=f"{folder}/greeting",
    prompt="Dear {{name}}, be " + reference + ".",
    labels=["production"],
    tags=["sdk-text"],
    config={"model": readback.MODEL, "temperature": 0.5},
    commit_message="first",
)
check_text(f"{folder}/greeting")

# A chat.
chat = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Where is {{name}}?"}]
if has_placeholders:
    chat.insert(1, {"type": "placeholder", "name": "history"})
    langfuse.create_prompt(
        name=f"{folder}/chat", type="chat", prompt=chat, labels=["production"], tags=["sdk-chat"]
    )
    check_chat(f"{folder}/chat")
else:
    langfuse.create_prompt(name=f"{folder}/chat", type="chat", prompt=chat, labels=["production"])
    found = langfuse.get_prompt(f"{folder}/chat", type="chat").compile(name="Ada")
    readback.equal("chat", found[1]["content"], "Where is Ada?")

# Versions and labels.
name = f"{folder}/versions"
for text in ["one", "two"]:
    langfuse.create_prompt(name=name, prompt=text, labels=["production"])
readback.equal("production", langfuse.get_prompt(name).prompt, "two")
readback.equal("by version", langfuse.get_prompt(name, version=1).prompt, "one")
readback.equal("by label", langfuse.get_prompt(name, label="latest").version, 2)
langfuse.update_prompt(name=name, version=1, new_labels=["production", "eu"])
readback.equal("after the move", langfuse.get_prompt(name, cache_ttl_seconds=0).prompt, "one")
readback.equal("labels", langfuse.get_prompt(name, label="eu").labels, ["eu", "production"])

# What is cached is not asked for again, though somebody else has written a newer version.
kept = {"name": f"{folder}/kept", "labels": ["production"]}
langfuse.create_prompt(**kept, prompt="one")
readback.equal("filled cache", langfuse.get_prompt(kept["name"], cache_ttl_seconds=600).prompt, "one")
readback.send("POST", "/api/public/v2/prompts", {**kept, "prompt": "two"})
readback.equal("from the cache", langfuse.get_prompt(kept["name"], cache_ttl_seconds=600).prompt, "one")
readback.equal("past the cache", langfuse.get_prompt(kept["name"], cache_ttl_seconds=0).prompt, "two")

# What is not there.
missing = f"{folder}/missing"
fallback = langfuse.get_prompt(missing, fallback="Hi {{name}}", max_retries=1)
readback.equal("fallback", (fallback.compile(name="Ada"), fallback.is_fallback), ("Hi Ada", True))
try:
    langfuse.get_prompt(missing, max_retries=1)
    raise SystemExit("a prompt that is not there was found")
except Exception as error:
    if "not found" not in str(error).lower():
        raise

# What makes no sense is refused with a reason.
for arguments, words in [
    ({"name": "a|b", "prompt": "x"}, "|"),
    ({"name": f"{folder}/x", "prompt": "x", "labels": ["Not Plain"]}, "labels"),
    ({"name": f"{folder}/chat", "prompt": "text now"}, "chat"),
    ({"name": f"{folder}/x", "prompt": reference.replace("tone", "none")}, "not found"),
]:
    try:
        langfuse.create_prompt(**arguments)
        raise SystemExit(f"{arguments} was taken")
    except Exception as error:
        if words not in str(error):
            raise

# The generation that used a prompt says which.
prompt = langfuse.get_prompt(name, version=1)
if major == 2:
    trace = langfuse.trace(name="prompted")
    generation = trace.generation(name="ask", prompt=prompt, model=readback.MODEL)
    generation.end()
    trace_id = trace.id
else:
    with langfuse.start_as_current_observation(
        as_type="generation", name="ask", prompt=prompt, model=readback.MODEL
    ) as generation:
        trace_id = generation.trace_id
langfuse.flush()
found = readback.get_trace(trace_id)["observations"][0]
readback.equal("prompt", (found["promptName"], found["promptVersion"]), (name, 1))
stored = readback.get("/api/public/v2/prompts/" + urllib.parse.quote(name, safe="") + "?version=1")
readback.equal("prompt id", found["promptId"], stored["id"])
print(f"langfuse {major}: prompts ok")
