"""Scores of all kinds: written by one SDK, read by every other.

`scores.py write` records scores with the SDK that runs it, `scores.py read WRITER…` reads those of
the writers named with the SDK that runs it, through the API of its era.
"""

import sys
from importlib.metadata import version

from langfuse import Langfuse

from readback import PUBLIC_KEY, SECRET_KEY, URL, equal

# Who can write scores that are texts.
WORDY = ["python4", "python5", "javascript"]
ERA = int(version("langfuse").split(".")[0])
langfuse = Langfuse(public_key=PUBLIC_KEY, secret_key=SECRET_KEY, host=URL)
api = langfuse.api if ERA > 2 else langfuse.client


def trace_of(writer):
    return f"scores-{writer}"


def words_of(writer):
    """The trace whose scores are texts, which older versions cannot read."""
    return f"scores-{writer}-words"


def grade_config(name):
    """Makes a score config through the SDK's own client, and reads it back."""
    categories = [{"label": "good", "value": 1}, {"label": "bad", "value": -1}]
    fields = {"name": name, "dataType": "CATEGORICAL", "categories": categories}
    if ERA > 3:
        made = api.score_configs.create(
            name=name, data_type="CATEGORICAL", categories=categories, description="How good?"
        )
    elif ERA == 3:
        from langfuse.api.resources.score_configs import CreateScoreConfigRequest

        made = api.score_configs.create(request=CreateScoreConfigRequest(**fields))
    else:
        from langfuse.api.resources.score_configs.types import CreateScoreConfigRequest

        made = api.score_configs.create(request=CreateScoreConfigRequest(**fields))
    found = api.score_configs.get_by_id(made.id)
    equal("config", (found.name, found.categories[1].value), (name, -1))
    return made.id


def write():
    writer = f"python{ERA}"
    config = grade_config(f"grade {writer}")
    save = langfuse.score if ERA == 2 else langfuse.create_score

    def score(name, value, **more):
        score_id = f"{writer}-{name}"
        more = {"trace_id": trace_of(writer), "comment": f"by {writer}", **more}
        save(**({"id": score_id} if ERA == 2 else {"score_id": score_id}), name=name, value=value, **more)

    score("number", 0.25)
    score("step", 2, observation_id="step")
    score("boolean", 1, data_type="BOOLEAN")
    score("label", "fine", data_type="CATEGORICAL")
    score("graded", "bad", data_type="CATEGORICAL", config_id=config)
    if ERA > 2:
        score("session", 0.5, trace_id=None, session_id=f"session-{writer}")
        score("run", 0.75, trace_id=None, dataset_run_id=f"run-{writer}")
    if ERA > 3:
        score("said", "could be shorter", data_type="TEXT", trace_id=words_of(writer))
        score("output", "the right answer", data_type="CORRECTION", trace_id=words_of(writer))
    # Refused: no such category. The others of the batch are recorded all the same.
    score("refused", "great", data_type="CATEGORICAL", config_id=config)
    langfuse.flush()


def plain(score):
    """A score as name, data type and value, whichever era shows it."""
    data_type = score.data_type
    value = score.value
    if ERA < 4 and data_type == "CATEGORICAL":
        value = score.string_value
    if data_type == "BOOLEAN":
        value = float(value)
    return score.name, (data_type, value)


def pages(ask):
    """All rows of a list in numbered pages, a few at a time."""
    rows, page = [], 1
    while True:
        answer = ask(page=page, limit=3)
        rows += answer.data
        if page >= answer.meta.total_pages:
            return rows
        page += 1


def slices(ask):
    """All rows of a list behind cursors, a few at a time."""
    rows, cursor = [], None
    while True:
        answer = ask(cursor=cursor, limit=3)
        rows += answer.data
        cursor = answer.meta.cursor
        if cursor is None:
            return rows


def listed(writer):
    trace = trace_of(writer)
    if ERA == 2:
        ids = ",".join(f"{writer}-{name}" for name in ["number", "step", "boolean", "label", "graded", "refused"])
        return pages(lambda **page: api.score.get(score_ids=ids, **page))
    if ERA == 3:
        return pages(lambda **page: api.score_v_2.get(trace_id=trace, **page))
    if ERA == 4:
        both = slices(lambda **slice: api.scores_v3.get_many_v3(trace_id=trace, **slice))
        equal("v3 and v2", len(both), len(pages(lambda **page: api.scores.get_many(trace_id=trace, **page))))
        return both
    return slices(lambda **slice: api.scores.get_many(trace_id=trace, **slice))


def read(writer):
    expected = {
        "number": ("NUMERIC", 0.25),
        "step": ("NUMERIC", 2.0),
        "boolean": ("BOOLEAN", 1.0),
        "label": ("CATEGORICAL", "fine"),
        f"grade {writer}": ("CATEGORICAL", "bad"),
    }
    equal(f"scores of {writer}", dict(map(plain, listed(writer))), expected)
    if ERA == 2:
        one = api.score.get_by_id(f"{writer}-graded")
        equal("graded", (one.value, one.comment), (-1, f"by {writer}"))
    if ERA == 3:
        one = api.score_v_2.get_by_id(f"{writer}-graded")
        equal("graded", (one.value, one.string_value), (-1, "bad"))
    if ERA > 3:
        reader = api.scores_v3.get_many_v3 if ERA == 4 else api.scores.get_many
        words = {"said": ("TEXT", "could be shorter"), "output": ("CORRECTION", "the right answer")}
        found = dict(map(plain, reader(trace_id=words_of(writer)).data))
        equal(f"words of {writer}", found, words if writer in WORDY else {})
    if ERA == 5:
        several = api.scores.get_many(
            id=f"{writer}-session,{writer}-run,{writer}-step", fields="subject,details"
        )
        subjects = {row.name: (row.subject.kind, row.subject.id) for row in several.data}
        expected = {"step": ("observation", "step")}
        if writer != "python2":
            expected["session"] = ("session", f"session-{writer}")
            expected["run"] = ("experiment", f"run-{writer}")
        equal(f"subjects of {writer}", subjects, expected)


def delete():
    """Deletes a score with the SDK's client: it is gone for every reader."""
    langfuse.create_score(name="gone", value=1, trace_id="scores-gone", score_id="scores-gone")
    langfuse.flush()
    equal("before", len(api.scores.get_many(id="scores-gone").data), 1)
    api.scores.delete("scores-gone")
    equal("after", api.scores.get_many(id="scores-gone").data, [])


def feedback():
    """Says something about the product."""
    said = api.feedback.submit(target_type="public-api", target="scores", feedback="works")
    equal("feedback has an id", bool(said.id), True)


match sys.argv[1:]:
    case ["write"]:
        write()
    case ["read", *writers]:
        for writer in writers:
            read(writer)
        if ERA == 5:
            delete()
            feedback()
    case _:
        raise SystemExit(__doc__)
