# Runs the function `evaluate` of an evaluator. Reads a JSON object with the source and its context
# from standard input, and prints the result as JSON.
import dataclasses
import json
import sys
import types


@dataclasses.dataclass
class Score:
    name: str = ""
    value: object = None
    data_type: str = None
    comment: str = None
    metadata: object = None


@dataclasses.dataclass
class EvaluationResult:
    scores: list = dataclasses.field(default_factory=list)


class EvaluationContext(types.SimpleNamespace):
    pass


def main():
    request = json.load(sys.stdin)
    answer = sys.stdout
    # What the evaluator prints is no part of the answer.
    sys.stdout = sys.stderr
    context = request["context"]
    experiment = context["experiment"]
    ctx = EvaluationContext(
        observation=types.SimpleNamespace(**context["observation"]),
        experiment=types.SimpleNamespace(**experiment) if experiment else None,
    )
    names = {
        "__name__": "evaluator",
        "Score": Score,
        "EvaluationResult": EvaluationResult,
        "EvaluationContext": EvaluationContext,
    }
    exec(compile(request["source"], "evaluator.py", "exec"), names)
    if "evaluate" not in names:
        sys.exit("the source defines no function evaluate(ctx)")
    result = names["evaluate"](ctx)
    if dataclasses.is_dataclass(result):
        result = dataclasses.asdict(result)
    json.dump(result, answer)


main()
