"""What people and programs keep beside traces, through the generated client: written with one
client and read with another, which is plain HTTP or a second SDK era."""

import base64
import os
import sys
import uuid
from importlib.metadata import version

os.environ.setdefault("LANGFUSE_HOST", os.environ["RATCHET_URL"])
os.environ.setdefault("LANGFUSE_BASE_URL", os.environ["RATCHET_URL"])
os.environ.setdefault("LANGFUSE_PUBLIC_KEY", os.environ["RATCHET_PUBLIC_KEY"])
os.environ.setdefault("LANGFUSE_SECRET_KEY", os.environ["RATCHET_SECRET_KEY"])

import urllib.request

from readback import URL, equal, get, send

import langfuse.api
from langfuse import Langfuse
from langfuse.media import LangfuseMedia

MAJOR = int(version("langfuse").split(".")[0])
MARK = uuid.uuid4().hex[:8]
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def refused(what, status, call):
    try:
        call()
    except Exception as error:  # each era has a class of its own
        equal(what, getattr(error, "status_code", None), status)
        return
    raise SystemExit(f"{what}: was not refused")


def ask(method, *ids, kind, **fields):
    """Calls the generated client: before version 4 it took requests with the API's own names."""
    if MAJOR >= 4:
        return method(*ids, **fields)
    plain = {}
    for name, value in fields.items():
        first, *rest = name.split("_")
        plain[first + "".join(word.capitalize() for word in rest)] = value
    return method(*ids, request=getattr(langfuse.api, kind)(**plain))


def record_media(client):
    """Media inside a span are uploaded by the SDK itself."""
    media = LangfuseMedia(content_bytes=PIXEL + MARK.encode(), content_type="image/png")
    if MAJOR == 2:
        trace = client.trace(name="gallery")
        trace.span(name=f"picture-{MARK}", input={"picture": media}, output="seen").end()
        client.flush()
        return media, trace.id
    with client.start_as_current_span(name=f"picture-{MARK}") if hasattr(
        client, "start_as_current_span"
    ) else client.start_as_current_observation(name=f"picture-{MARK}") as span:
        span.update(input={"picture": media}, output="seen")
        trace_id = span.trace_id
    client.flush()
    return media, trace_id


def check_media(client):
    media, trace_id = record_media(client)
    media_id = getattr(media, "_media_id", None)
    found = get(f"/api/public/media/{media_id}")
    equal("media type", found["contentType"], "image/png")
    equal("media length", found["contentLength"], len(PIXEL) + len(MARK))
    with urllib.request.urlopen(found["url"], timeout=10) as answer:
        equal("media bytes", answer.read(), PIXEL + MARK.encode())
        equal("media is not guessed at", answer.headers["x-content-type-options"], "nosniff")
    trace = get(f"/api/public/traces/{trace_id}")
    row = next(row for row in trace["observations"] if row["name"] == f"picture-{MARK}")
    resolved = LangfuseMedia.resolve_media_references(
        obj=row["input"], langfuse_client=client, resolve_with="base64_data_uri"
    )
    data = base64.b64encode(PIXEL + MARK.encode()).decode()
    equal("media in place", resolved["picture"], f"data:image/png;base64,{data}")
    return trace_id


def check_queues(api, trace_id):
    queues = api.annotation_queues
    fields = {"name": f"queue-{MARK}", "score_config_ids": [], "description": "by hand"}
    if MAJOR == 2:
        # It can only fill queues that are there.
        body = {"name": f"queue-{MARK}", "scoreConfigIds": []}
        queue_id = send("POST", "/api/public/annotation-queues", body)["id"]
    else:
        queue_id = ask(queues.create_queue, kind="CreateAnnotationQueueRequest", **fields).id
    equal("queue by the SDK", queues.get_queue(queue_id).name, f"queue-{MARK}")
    entry = {"kind": "CreateAnnotationQueueItemRequest", "object_id": trace_id, "object_type": "TRACE"}
    item = ask(queues.create_queue_item, queue_id, **entry)
    again = ask(queues.create_queue_item, queue_id, **entry)
    equal("a pending item is not doubled", again.id, item.id)
    change = {"kind": "UpdateAnnotationQueueItemRequest", "status": "COMPLETED"}
    done = ask(queues.update_queue_item, queue_id, item.id, **change)
    equal("completed", done.completed_at is not None, True)
    items = get(f"/api/public/annotation-queues/{queue_id}/items?status=COMPLETED")
    equal("items", [row["id"] for row in items["data"]], [item.id])
    queues.delete_queue_item(queue_id, item.id)
    refused("item is gone", 404, lambda: queues.get_queue_item(queue_id, item.id))


def check_comments(api, trace_id):
    fields = {"kind": "CreateCommentRequest", "project_id": "sdk-checks", "object_type": "TRACE"}
    create = api.comments.create
    made = ask(create, **fields, object_id=trace_id, content=f"look, {MARK}")
    found = get(f"/api/public/comments?objectType=TRACE&objectId={trace_id}")
    equal("comments", [row["id"] for row in found["data"]], [made.id])
    equal("comment", api.comments.get_by_id(made.id).content, f"look, {MARK}")
    nothing = lambda: ask(create, **fields, object_id="none", content="x")
    refused("comment on nothing", 404, nothing)


def check_models(client, api):
    name = f"house-{MARK}"
    made = api.models.create(
        model_name=name, match_pattern=f"^{name}$", unit="TOKENS", input_price=0.5, output_price=2.0
    )
    start = getattr(client, "start_as_current_generation", None)
    with start(name="priced", model=name) if start else client.start_as_current_observation(
        name="priced", as_type="generation", model=name
    ) as generation:
        generation.update(output="x", usage_details={"input": 4, "output": 1})
        trace_id = generation.trace_id
    client.flush()
    trace = get(f"/api/public/traces/{trace_id}")
    row = next(row for row in trace["observations"] if row["name"] == "priced")
    equal("cost by the project's own model", row["calculatedTotalCost"], 4.0)
    equal("model id", row["modelId"], made.id)
    listed = get("/api/public/models?limit=100")
    equal("own models come first", listed["data"][0]["isLangfuseManaged"], False)
    equal("built-in models follow", listed["meta"]["totalItems"] > 50, True)
    api.models.delete(made.id)


def check_connections(api):
    secret = f"sk-{MARK}-very-secret"
    made = api.llm_connections.upsert(
        provider=f"openai-{MARK}", adapter="openai", secret_key=secret,
        extra_headers={"x-team": "also secret"},
    )
    text = str(get("/api/public/llm-connections?limit=100"))
    equal("secret stays inside", secret in text or "also secret" in text, False)
    equal("connection is listed", made.id in text, True)


def check_projects(api):
    project = api.projects.create(name=f"lab-{MARK}", retention=30, metadata={"team": "red"})
    key = api.projects.create_api_key(project.id, note="ci")
    keys = get(f"/api/public/projects/{project.id}/apiKeys")
    equal("keys", [row["publicKey"] for row in keys["apiKeys"]], [key.public_key])
    other = Langfuse(public_key=key.public_key, secret_key=key.secret_key, host=URL)
    equal("the new key works", other.auth_check(), True)
    api.projects.delete_api_key(project.id, key.id)
    api.projects.delete(project.id)
    names = [row["name"] for row in get("/api/public/organizations/projects")["projects"]]
    equal("project is gone", f"lab-{MARK}" in names, False)


def main():
    client = Langfuse()
    api = client.client if MAJOR == 2 else client.api
    trace_id = check_media(client)
    check_queues(api, trace_id)
    check_comments(api, trace_id)
    equal("models", api.models.list(limit=1).meta.limit, 1)
    if MAJOR >= 4:
        check_models(client, api)
        check_connections(api)
        check_projects(api)
    client.shutdown()


if __name__ == "__main__":
    sys.exit(main())
