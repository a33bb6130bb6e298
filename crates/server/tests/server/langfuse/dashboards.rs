use std::time::Duration;

use serde_json::{Value, json};

use super::isolation::{OTHER, with_another_project};
use super::read;
use crate::harness::{Reply, TestServer};

const DASHBOARDS: &str = "/api/public/unstable/dashboards";
const WIDGETS: &str = "/api/public/unstable/dashboard-widgets";

async fn send(server: &TestServer, method: &str, path: &str, body: Value) -> Reply {
    server.request(method, path).json(body.to_string()).send().await
}

fn widget() -> Value {
    json!({
        "name": "cost", "view": "observations", "dimensions": [{"field": "providedModelName"}],
        "metrics": [{"measure": "totalCost", "agg": "sum"}], "chartType": "HORIZONTAL_BAR",
        "filters": [{"column": "environment", "operator": "any of", "type": "stringOptions",
                     "value": ["prod"]}],
    })
}

async fn made(server: &TestServer, path: &str, body: Value) -> (String, Value) {
    let view = send(server, "POST", path, body).await.check(200, "").json();
    (format!("{path}/{}", view["id"].as_str().unwrap()), view)
}

#[tokio::test]
async fn widgets_are_made_changed_and_placed() {
    let server = TestServer::start().await;
    let (widget_path, cost) = made(&server, WIDGETS, widget()).await;
    assert_eq!(cost["chartConfig"]["type"], "HORIZONTAL_BAR");
    assert_eq!(read(&server, &widget_path).await, cost);
    let change = json!({"chartType": "NUMBER", "description": "all of it"});
    server.clock.advance(Duration::from_secs(1));
    let changed = send(&server, "PATCH", &widget_path, change).await.check(200, "").json();
    assert_eq!(
        (&changed["chartConfig"]["type"], &changed["name"]),
        (&json!("NUMBER"), &cost["name"])
    );
    assert_ne!(changed["updatedAt"], cost["updatedAt"]);

    let (path, dashboard) = made(&server, DASHBOARDS, json!({"name": "home"})).await;
    assert_eq!(dashboard["definition"], json!({"widgets": []}));
    let placements = format!("{path}/placements");
    let body = json!({"type": "widget", "widgetId": cost["id"]});
    let tile = send(&server, "POST", &placements, body.clone()).await.check(200, "").json();
    assert_eq!((&tile["x"], &tile["y"], &tile["width"]), (&json!(0), &json!(0), &json!(6)));
    let next = send(&server, "POST", &placements, body).await.json();
    assert_eq!(next["y"], 6, "below the first");
    let one = format!("{placements}/{}", tile["id"].as_str().unwrap());
    let moved = send(&server, "PATCH", &one, json!({"x": 6})).await.check(200, "").json();
    assert_eq!((&moved["x"], &moved["widgetId"]), (&json!(6), &cost["id"]));
    assert_eq!(read(&server, &path).await["definition"]["widgets"], json!([moved, next]));

    let delete = |path: &str| server.request("DELETE", path);
    delete(&widget_path).send().await.check(409, r#""code":"conflict""#);
    delete(&one).send().await.check(200, "message");
    delete(&one).send().await.check(404, r#""code":"resource_not_found""#);
    delete(&path).send().await.check(200, "message");
    delete(&widget_path).send().await.check(200, "message");
    assert_eq!(read(&server, WIDGETS).await["meta"]["totalItems"], 0);
    server.stop().await;
}

#[tokio::test]
async fn charts_that_make_no_sense_are_refused() {
    let server = TestServer::start().await;
    for (field, value, words) in [
        ("name", json!(""), r#""path":["name"]"#),
        ("view", json!("traces"), "view"),
        ("metrics", json!([]), "1 to 50 entries"),
        ("metrics", json!([{"measure": "x", "agg": "median"}]), "agg"),
        ("chartType", json!("RADAR"), "chartType"),
        ("chartConfig", json!({"type": "PIE"}), "its type must be the chartType"),
        ("chartConfig", json!({"bins": 0}), "bins must be from 1"),
        (
            "filters",
            json!([{"column": "a", "operator": "~", "type": "string", "value": "b"}]),
            "a string filter takes",
        ),
        (
            "filters",
            json!([{"column": "a", "operator": "=", "type": "number", "value": "b"}]),
            "does not fit a number filter",
        ),
        (
            "filters",
            json!([{"column": "a", "operator": "=", "type": "stringObject", "value": "b"}]),
            "needs a key",
        ),
    ] {
        let mut body = widget();
        body[field] = value;
        send(&server, "POST", WIDGETS, body).await.check(400, words).check(400, "invalid_body");
    }
    let (path, _) = made(&server, DASHBOARDS, json!({"name": "home"})).await;
    let placements = format!("{path}/placements");
    for (body, status, words) in [
        (json!({"type": "widget", "widgetId": "none"}), 404, "widget none not found"),
        (json!({"type": "preset", "presetId": "p", "x": 12}), 400, "12 columns"),
        (json!({"type": "preset", "presetId": "p", "height": 0}), 400, "12 columns"),
        (json!({"type": "other"}), 400, "type"),
    ] {
        send(&server, "POST", &placements, body).await.check(status, words);
    }
    let preset = json!({"type": "preset", "presetId": "p", "id": "tile"});
    send(&server, "POST", &placements, preset.clone()).await.check(200, "preset");
    send(&server, "POST", &placements, preset).await.check(409, "exists already");
    let empty = send(&server, "PATCH", &format!("{placements}/tile"), json!({})).await;
    empty.check(400, "needs x, y, width or height");
    server.stop().await;
}

#[tokio::test]
async fn charts_of_what_their_view_does_not_have_are_refused() {
    let server = TestServer::start().await;
    let two = json!([{"measure": "count", "agg": "count"}, {"measure": "price", "agg": "sum"}]);
    for (field, value, words) in [
        ("metrics", two.clone(), "price is not a known measure of observations: count, latency, "),
        ("metrics", two, r#""path":["metrics",1,"measure"]"#),
        ("metrics", json!([{"measure": "", "agg": "sum"}]), "is not a known measure"),
        (
            "dimensions",
            json!([{"field": "stringValue"}]),
            "stringValue is not a known dimension of observations: id, traceId, ",
        ),
        (
            "view",
            json!("scores-categorical"),
            "is not a known measure of scores-categorical: count",
        ),
    ] {
        let mut body = widget();
        body[field] = value;
        send(&server, "POST", WIDGETS, body).await.check(400, words);
    }
    let (path, _) = made(&server, WIDGETS, widget()).await;
    let change = json!({"view": "scores-numeric"});
    send(&server, "PATCH", &path, change).await.check(400, "totalCost is not a known measure");
    server.stop().await;
}

#[tokio::test]
async fn another_project_sees_no_dashboard() {
    let server = with_another_project().await;
    let (widget_path, cost) = made(&server, WIDGETS, widget()).await;
    let (path, _) = made(&server, DASHBOARDS, json!({"name": "home"})).await;
    for (method, path, body) in [
        ("GET", &path, json!({})),
        ("PATCH", &path, json!({"name": "theirs"})),
        ("DELETE", &path, json!({})),
        ("POST", &format!("{path}/placements"), json!({"type": "preset", "presetId": "p"})),
        ("GET", &widget_path, json!({})),
        ("PATCH", &widget_path, json!({"name": "theirs"})),
        ("DELETE", &widget_path, json!({})),
    ] {
        let call = server.request(method, path).header("authorization", OTHER);
        call.json(body.to_string()).send().await.check(404, "LangfuseNotFoundError");
    }
    let (theirs, body) =
        (json!({"name": "theirs"}).to_string(), json!({"type": "widget", "widgetId": cost["id"]}));
    let post = server.post(DASHBOARDS).header("authorization", OTHER).json(theirs);
    let id = post.send().await.check(200, "").json()["id"].clone();
    let placements = format!("{DASHBOARDS}/{}/placements", id.as_str().unwrap());
    let post = server.post(&placements).header("authorization", OTHER).json(body.to_string());
    post.send().await.check(404, "not found");
    server.stop().await;
}
