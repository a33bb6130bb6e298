"""The list of traces as Parquet, made by the pages and read by DuckDB, whose reader is not ours."""

import http.cookiejar
import json
import re
import tempfile
import urllib.parse
import urllib.request
import uuid

import duckdb

from readback import URL, equal, get, send

EMAIL, PASSWORD = "owner@example.com", "only-for-checks"


def browser():
    """Someone who is signed in."""
    jar = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    page = opener.open(f"{URL}/sign-in").read().decode()
    token = re.search(r'name="form_token" value="([^"]+)"', page).group(1)
    form = {"form_token": token, "email": EMAIL, "password": PASSWORD, "next": "/"}
    opener.open(f"{URL}/sign-in", urllib.parse.urlencode(form).encode())
    return opener


def record(user):
    """Two traces; the second has hardly anything."""
    stamp = "2026-01-02T03:04:05.678901Z"
    traces = [
        {"id": f"{user}-1", "name": "=1+1", "userId": user, "tags": ["a", "b,c"], "input": "☂"},
        {"id": f"{user}-2", "userId": user},
    ]
    events = [
        {
            "id": str(uuid.uuid4()),
            "type": "trace-create",
            "timestamp": stamp,
            "body": {"timestamp": stamp, **trace},
        }
        for trace in traces
    ]
    answer = send("POST", "/api/public/ingestion", {"batch": events})
    equal("errors", answer["errors"], [])


def main():
    user = f"parquet-{uuid.uuid4()}"
    record(user)
    project = get("/api/public/projects")["data"][0]["id"]
    query = urllib.parse.urlencode({"format": "parquet", "range": "all", "q": f"user:{user}"})
    file = browser().open(f"{URL}/project/{project}/list/traces/export?{query}").read()
    with tempfile.NamedTemporaryFile(suffix=".parquet") as kept:
        kept.write(file)
        kept.flush()
        table = duckdb.connect()
        table.execute("SET TimeZone = 'UTC'")
        kinds = dict(
            table.execute(
                "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet(?))",
                [kept.name],
            ).fetchall()
        )
        expected = {
            "time": "TIMESTAMP WITH TIME ZONE",
            "tags": "VARCHAR[]",
            "cost_usd": "DOUBLE",
            "steps": "BIGINT",
            "input": "VARCHAR",
        }
        equal("types", {name: kinds.get(name) for name in expected}, expected)
        rows = table.execute(
            "SELECT id, name, tags, input, cost_usd, steps, epoch_us(time) "
            "FROM read_parquet(?) ORDER BY id",
            [kept.name],
        ).fetchall()
    moment = 1_767_323_045_678_901
    expected = [
        (f"{user}-1", "=1+1", ["a", "b,c"], json.dumps("☂"), None, 0, moment),
        (f"{user}-2", None, [], None, None, 0, moment),
    ]
    equal("rows", rows, expected)


if __name__ == "__main__":
    main()
