"""Evaluators, evaluation rules, dashboards and widgets through the models of versions 4 and 5.

Each run makes some of each, reads those of the runs before it, and takes its own leave of what it
can: the last run reads what all have made."""

import importlib.metadata
import uuid

import readback

from langfuse import Langfuse
from langfuse.api import (
    CreateEvaluatorRequest_Code,
    CreateEvaluatorRequest_LlmAsJudge,
    EvaluationNotFoundError,
    EvaluationRuleEvaluatorAssignmentInput,
    EvaluationRuleFilter_StringOptions,
    EvaluatorOutputDefinition_Numeric,
    PromptVariableMappingInput,
    UpdateEvaluatorMetadataRequest,
    UpdateLlmAsJudgeEvaluatorRequest,
)
from langfuse.api.unstable.dashboard_widgets import DashboardWidgetFilter, DashboardWidgetMetric
from langfuse.api.unstable.dashboards import CreateDashboardPlacementRequest_Widget
from langfuse.api.unstable.errors import ConflictError, NotFoundError

MAJOR = int(importlib.metadata.version("langfuse").split(".")[0])
NAME = "sdk rules"
MARK = uuid.uuid4().hex
keys = {"public_key": readback.PUBLIC_KEY, "secret_key": readback.SECRET_KEY}
langfuse = Langfuse(**keys, base_url=readback.URL)
api = langfuse.api
dashboards, widgets = api.unstable.dashboards, api.unstable.dashboard_widgets
SCALE = EvaluatorOutputDefinition_Numeric(
    min_value=0, max_value=10, score_reasoning_instructions="say why"
)


def refused(what, kind, call):
    try:
        call()
    except kind:
        return
    raise SystemExit(f"{what}: no {kind.__name__}")


def judge(prompt, **more):
    mapping = [
        PromptVariableMappingInput(variable="question", source="input", json_path="$.city"),
        PromptVariableMappingInput(variable="answer", source="output"),
    ]
    return {"prompt": prompt, "variable_mapping": mapping, "output_definition": SCALE, **more}


def make_evaluators():
    """A judge in two versions, and a piece of code."""
    first = api.evaluators.create(
        request=CreateEvaluatorRequest_LlmAsJudge(**judge("Is {{answer}} to {{question}} ok?", name=NAME))
    )
    readback.equal("first version", first.version, 1)
    about = UpdateEvaluatorMetadataRequest(description=f"by {MAJOR}")
    readback.equal("words make no version", api.evaluators.update(first.id, request=about).version, 1)
    change = UpdateLlmAsJudgeEvaluatorRequest(**judge("Is {{answer}} right for {{question}}?"))
    readback.equal("another version", api.evaluators.update(first.id, request=change).version, 2)
    code = api.evaluators.create(
        request=CreateEvaluatorRequest_Code(
            name=f"code {MARK}", source_code="def evaluate(): ...", source_code_language="PYTHON"
        )
    )
    readback.equal("code", api.evaluators.get(code.id).source_code, "def evaluate(): ...")
    readback.equal("deleted", api.evaluators.delete(code.id).id, code.id)
    refused("deleted code", EvaluationNotFoundError, lambda: api.evaluators.get(code.id))
    return first.id


def make_rule(evaluator):
    only = EvaluationRuleFilter_StringOptions(column="type", operator="any of", value=["GENERATION"])
    assignment = EvaluationRuleEvaluatorAssignmentInput(evaluator_id=evaluator)
    rule = api.evaluation_rules.create(
        name=NAME, enabled=False, evaluator_assignments=[assignment], filter=[only], sampling=0.5
    )
    changed = api.evaluation_rules.update(rule.id, sampling=0.25, enabled=True)
    readback.equal("rule", (changed.sampling, changed.enabled), (0.25, True))
    draft = api.evaluation_rules.create(name=f"draft {MARK}", enabled=False, evaluator_assignments=[])
    readback.equal("deleted", api.evaluation_rules.delete(draft.id).id, draft.id)
    refused("deleted rule", EvaluationNotFoundError, lambda: api.evaluation_rules.get(draft.id))
    return rule.id


def make_dashboard():
    widget = widgets.create(
        name=NAME, view="observations", chart_type="LINE_TIME_SERIES", dimensions=[],
        metrics=[DashboardWidgetMetric(measure="totalCost", agg="sum")],
        filters=[DashboardWidgetFilter(column="environment", operator="any of", type="stringOptions", value=["a"])],
    )
    widgets.update(widget.id, description=f"by {MAJOR}")
    board = dashboards.create(name=NAME, description=f"by {MAJOR}")
    request = CreateDashboardPlacementRequest_Widget(widget_id=widget.id)
    kept = dashboards.add_placement(board.id, request=request)
    dashboards.update_placement(board.id, kept.id, x=6, width=3)
    second = dashboards.add_placement(board.id, request=request)
    readback.equal("placed below", second.y >= kept.y + kept.height, True)
    dashboards.delete_placement(board.id, second.id)
    refused("a widget in use", ConflictError, lambda: widgets.delete(widget.id))
    empty = dashboards.create(name=f"empty {MARK}")
    dashboards.delete(empty.id)
    refused("deleted dashboard", NotFoundError, lambda: dashboards.get(empty.id))


def named(pages):
    return [row for row in pages if row.name == NAME]


def slices(ask):
    rows, cursor = [], None
    while True:
        page = ask(limit=2, cursor=cursor)
        rows += page.data
        cursor = page.meta.cursor
        if cursor is None:
            return rows


def check_evaluators():
    rules = {rule.id: rule for rule in named(slices(api.evaluation_rules.list))}
    evaluators = named(slices(api.evaluators.list))
    for one in evaluators:
        readback.equal("variables", sorted(one.variables), ["answer", "question"])
        readback.equal("message", one.prompt[0].content, "Is {{answer}} right for {{question}}?")
        readback.equal("scale", (one.output_definition.data_type, one.output_definition.max_value), ("NUMERIC", 10))
        readback.equal("mapping", one.variable_mapping[0].json_path, "$.city")
        versions = api.evaluators.list_versions(one.id).data
        readback.equal("versions", [version.version for version in versions], [2, 1])
        for assignment in one.evaluation_rule_assignments:
            rule = rules.pop(assignment.evaluation_rule_id)
            readback.equal("rule", (rule.enabled, rule.sampling), (True, 0.25))
            readback.equal("its evaluator", [row.evaluator_id for row in rule.evaluator_assignments], [one.id])
            condition = rule.filter[0]
            readback.equal("its filter", (condition.column, condition.value), ("type", ["GENERATION"]))
    readback.equal("rules without an evaluator", list(rules), [])
    return len(evaluators)


def check_dashboards():
    boards = named(dashboards.list(limit=100).data)
    for board in boards:
        placed = board.definition.widgets
        readback.equal("placements", [(row.type, row.x, row.width) for row in placed], [("widget", 6, 3)])
        widget = widgets.get(placed[0].widget_id)
        readback.equal("description", widget.description, board.description)
        readback.equal("chart", (widget.view, widget.chart_type), ("observations", "LINE_TIME_SERIES"))
        readback.equal("config follows the chart", widget.chart_config.type, "LINE_TIME_SERIES")
        readback.equal("metric", [(row.measure, row.agg) for row in widget.metrics], [("totalCost", "sum")])
        readback.equal("filter", widget.filters[0].value, ["a"])
    return len(boards)


def check_plain(evaluator, rule):
    """The same over plain HTTP."""
    found = readback.get(f"/api/public/v2/evaluators/{evaluator}")
    readback.equal("evaluator", (found["name"], found["description"], found["version"]), (NAME, f"by {MAJOR}", 2))
    assigned = [row["evaluationRuleId"] for row in found["evaluationRuleAssignments"]]
    readback.equal("assigned rule", assigned, [rule])


counted = check_evaluators(), check_dashboards()
evaluator = make_evaluators()
check_plain(evaluator, make_rule(evaluator))
make_dashboard()
readback.equal("one more of each", (check_evaluators(), check_dashboards()), (counted[0] + 1, counted[1] + 1))
print(f"langfuse {MAJOR}: rules ok, read those of {counted[0]} runs before")
