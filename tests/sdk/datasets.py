"""Makes a dataset and runs over it with one version of the SDK, and reads those of the others.

Runs once for each version; the last run reads what all have made."""

import datetime
import importlib.metadata
import urllib.parse
import uuid

import readback

from langfuse import Langfuse

major = int(importlib.metadata.version("langfuse").split(".")[0])
arguments = {"public_key": readback.PUBLIC_KEY, "secret_key": readback.SECRET_KEY}
langfuse = Langfuse(**arguments, **{"host" if major < 4 else "base_url": readback.URL})
NAMES = "sdk datasets/"
CAPITALS = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid"}
SCHEMA = {"type": "object", "required": ["country"]}


def quoted(name):
    return urllib.parse.quote(name, safe="")


def since():
    moment = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=1)
    return "fromStartTime=" + quoted(moment.isoformat())


def check_items(name):
    dataset = langfuse.get_dataset(name)
    found = {item.input["country"]: item.expected_output for item in dataset.items}
    readback.equal("items", found, CAPITALS)
    for item in dataset.items:
        readback.equal("metadata", item.metadata, {"continent": "Europe"})
        readback.equal("dataset", (item.dataset_id, item.dataset_name), (dataset.id, name))
    return dataset


def check_run(dataset, run_name):
    """What every version's run must read like, whoever made it and whoever reads."""
    path = f"/api/public/datasets/{quoted(dataset.name)}/runs"
    run = readback.get(f"{path}/{quoted(run_name)}")
    readback.equal("run name", (run["name"], run["description"]), (run_name, "capitals"))
    tried = sorted(item["datasetItemId"] for item in run["datasetRunItems"])
    readback.equal("tries", tried, sorted(item.id for item in dataset.items))
    experiments = readback.get(f"/api/public/experiments?{since()}&id={run['id']}&fields=scores")
    experiment = experiments["data"][0]
    readback.equal("experiment", (experiment["name"], experiment["itemCount"]), (run_name, 3))
    readback.equal("its dataset", experiment["datasetId"], dataset.id)
    query = f"experimentId={run['id']}&fields=io,dataset,scores&{since()}"
    items = readback.get(f"/api/public/experiment-items?{query}")["data"]
    for item in items:
        readback.equal("expected output", item["expectedOutput"], CAPITALS[item["input"]["country"]])
        readback.equal("output", item["output"], item["expectedOutput"])
        names = [score["name"] for score in item["scores"]]
        readback.equal("score of an item", names, ["exact"])
    readback.equal("items", len(items), 3)
    scores = [(score["name"], score["value"]) for score in experiment["scores"]]
    readback.equal("score of the run", scores, [("accuracy", 1)])
    return run


def task_of(item):
    value = item["input"] if isinstance(item, dict) else item.input
    return CAPITALS[value["country"]]


# What other versions made.
made = readback.get("/api/public/v2/datasets?limit=100")["data"]
for row in made:
    if row["name"].startswith(NAMES):
        dataset = check_items(row["name"])
        for run in readback.get(f"/api/public/datasets/{quoted(row['name'])}/runs")["data"]:
            check_run(dataset, run["name"])
            if major in (3, 4):
                seen = langfuse.get_dataset_run(dataset_name=row["name"], run_name=run["name"])
                readback.equal("items by the SDK", len(seen.dataset_run_items), 3)
print(f"langfuse {major}: read {len(made)} datasets")

# A dataset of our own.
name = f"{NAMES}{major}/{uuid.uuid4()}"
schemas = {"input_schema": SCHEMA} if major > 2 else {}
langfuse.create_dataset(name=name, description="capitals", metadata={"by": major}, **schemas)
for country, capital in CAPITALS.items():
    langfuse.create_dataset_item(
        dataset_name=name,
        id=f"{name}/{country}",
        input={"country": country},
        expected_output="?" if country == "Spain" else capital,
        metadata={"continent": "Europe"},
    )
before = readback.get("/api/public/dataset-items/" + quoted(f"{name}/Spain"))["updatedAt"]
before = datetime.datetime.fromisoformat(before.replace("Z", "+00:00"))
langfuse.create_dataset_item(dataset_name=name, id=f"{name}/Spain", expected_output="Madrid")
extra = langfuse.create_dataset_item(dataset_name=name, input={"country": "Atlantis"})
langfuse.create_dataset_item(dataset_name=name, id=extra.id, status="ARCHIVED")
dataset = check_items(name)
if major > 2:
    then = {item.id: item.expected_output for item in langfuse.get_dataset(name, version=before).items}
    readback.equal("as it was", then[f"{name}/Spain"], "?")
    try:
        langfuse.create_dataset_item(dataset_name=name, input="no object")
        raise SystemExit("an item that does not fit was taken")
    except Exception as error:
        if "does not fit" not in str(error):
            raise

# A run over it.
run_name = f"run/{major} ü"
if major == 2:
    for item in dataset.items:
        trace = langfuse.trace(name="capital", input=item.input, output=task_of(item))
        item.link(trace, run_name, run_description="capitals", run_metadata={"by": "2"})
        trace.score(name="exact", value=1)
    langfuse.flush()
    run = readback.get(f"/api/public/datasets/{quoted(name)}/runs/{quoted(run_name)}")
    body = {"datasetRunId": run["id"], "name": "accuracy", "value": 1}
    readback.send("POST", "/api/public/scores", body)
else:
    from langfuse import Evaluation

    def exact(*, output, expected_output, **rest):
        return Evaluation(name="exact", value=float(output == expected_output))

    def accuracy(*, item_results, **rest):
        return Evaluation(name="accuracy", value=1.0)

    result = dataset.run_experiment(
        name="capitals",
        run_name=run_name,
        description="capitals",
        task=lambda *, item, **rest: task_of(item),
        evaluators=[exact],
        run_evaluators=[accuracy],
        metadata={"by": str(major)},
    )
    langfuse.flush()
    outputs = sorted(row.output for row in result.item_results)
    readback.equal("results", outputs, sorted(CAPITALS.values()))
run = check_run(dataset, run_name)
readback.equal("metadata of the run", run["metadata"]["by"], str(major))
if major > 2:
    readback.equal("id of the run", getattr(result, "experiment_id", run["id"]), run["id"])

# Trying again is another run, and can be forgotten.
if major > 2:
    again = dataset.run_experiment(
        name="again", run_name=f"again {uuid.uuid4()}", task=lambda *, item, **rest: task_of(item)
    )
    langfuse.flush()
    path = f"/api/public/datasets/{quoted(name)}/runs/{quoted(again.run_name)}"
    readback.equal("again", len(readback.get(path)["datasetRunItems"]), 3)
    readback.send("DELETE", path)

# The same item twice in one run is tried twice; older versions make two experiments of it.
if major >= 5:
    local = langfuse.run_experiment(
        name="local",
        run_name=f"local {uuid.uuid4()}",
        data=[{"input": {"country": "Italy"}, "expected_output": "Rome"}] * 2,
        task=lambda *, item, **rest: task_of(item),
    )
    langfuse.flush()
    found = readback.get(f"/api/public/experiments?{since()}&name={quoted(local.run_name)}")["data"]
    readback.equal("repeats", [row["itemCount"] for row in found], [2])
if major in (3, 4):
    runs = langfuse.get_dataset_runs(dataset_name=name)
    readback.equal("runs by the SDK", [run.name for run in runs.data], [run_name])
if major >= 4:
    start = before - datetime.timedelta(hours=1)
    listed = langfuse.api.experiments.list(from_start_time=start, dataset_id=dataset.id, fields="core,scores")
    readback.equal("experiments by the SDK", [row.name for row in listed.data], [run_name])
    listed = langfuse.api.experiments.list_items(
        from_start_time=start, experiment_id=run["id"], fields="core,io,scores"
    )
    readback.equal("their items by the SDK", len(listed.data), 3)
print(f"langfuse {major}: datasets ok")
