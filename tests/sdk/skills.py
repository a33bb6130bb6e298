"""Makes skills with the SDK and reads them over plain HTTP, and the other way round."""

import datetime
import urllib.parse
import uuid

import readback

from langfuse import Langfuse
from langfuse.api.commons.errors import NotFoundError
from langfuse.api.unstable.skills import SkillVersionFileInput, SkillVersionFileReference

langfuse = Langfuse(
    public_key=readback.PUBLIC_KEY, secret_key=readback.SECRET_KEY, base_url=readback.URL
)
skills = langfuse.api.unstable.skills
ROUTE = "/api/public/unstable/skills"
name = f"sdk-{uuid.uuid4()}"


def main_file(description):
    return f"---\nname: {name}\ndescription: {description}\nmetadata:\n  level: 3\n---\n\n# Wörter\n"


# Written with the SDK, read over HTTP.
script = "print('hello')\n"
made = skills.create_version(
    files=[
        SkillVersionFileInput(path="SKILL.md", content=main_file("first")),
        SkillVersionFileInput(path="scripts/run.py", content=script),
    ],
    commit_message="begin",
)
skills.set_labels(name, 1, labels=["production"])
skills.update(name, tags=["sdk-skill"])
shown = readback.get(f"{ROUTE}/{name}")
readback.equal("id", shown["id"], made.id)
readback.equal("description", shown["description"], "first")
readback.equal("frontmatter", shown["frontmatter"]["metadata"], {"level": 3})
readback.equal("labels", shown["labels"], ["production", "latest"])
readback.equal("tags", shown["tags"], ["sdk-skill"])
readback.equal("commit message", shown["commitMessage"], "begin")
readback.equal("paths", [file["path"] for file in shown["files"]], ["SKILL.md", "scripts/run.py"])
readback.equal("hashes", [file["sha256Hash"] for file in shown["files"]], [f.sha256hash for f in made.files])
hashes = urllib.parse.quote(",".join(file["sha256Hash"] for file in shown["files"]), safe="")
held = readback.get(f"{ROUTE}/files/content?sha256Hashes={hashes}")["data"]
readback.equal("contents", [row["content"] for row in held], [main_file("first"), script])

# Written over HTTP, read with the SDK. One file is what the first version holds already.
files = [
    {"path": "SKILL.md", "content": main_file("second")},
    {"path": "run.py", "sha256Hash": made.files[1].sha256hash},
]
readback.send("POST", ROUTE, {"files": files})
readback.send("PATCH", f"{ROUTE}/{name}/versions/2", {"labels": ["staging"]})
staged = skills.get(name, label="staging")
readback.equal("version", staged.version, 2)
readback.equal("labels", staged.labels, ["staging", "latest"])
readback.equal("production", skills.get(name).version, 1)
contents = skills.get_file_contents(sha256hashes=",".join(file.sha256hash for file in staged.files))
readback.equal("contents", [row.content for row in contents.data], [main_file("second"), script])
listed = skills.list(name=name, tag="sdk-skill", search="SECOND", limit=10)
readback.equal("has next page", listed.meta.has_next_page, False)
row = listed.data[0]
readback.equal("list", (row.name, row.description, row.latest_version), (name, "second", 2))
readback.equal("production version", row.production_version, 1)
later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
readback.equal("nothing later", skills.list(name=name, from_updated_at=later).data, [])

# The SDK may refer to known content too, and deletes.
reference = SkillVersionFileReference(path="SKILL.md", sha256hash=staged.files[0].sha256hash)
readback.equal("by reference", skills.create_version(files=[reference]).version, 3)
readback.equal("deleted", skills.delete_version(name, 3).deleted, True)
readback.equal("latest", readback.get(f"{ROUTE}/{name}?label=latest")["version"], 2)
try:
    skills.get(name, version=3)
    raise SystemExit("a deleted version is still there")
except NotFoundError:
    print("langfuse 5: skills: ok")
