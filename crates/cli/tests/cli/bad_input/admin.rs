use ratchet_testkit::http;

use super::{Case, PROJECT, case, keyed};

fn project(what: &'static str, body: &str, status: u16, says: &'static str) -> Case {
    case(what, keyed(http::post("/api/v1/projects").json(body)), status, says)
}

pub(super) fn table() -> Vec<Case> {
    let long = format!(r#"{{"name":"{}"}}"#, "n".repeat(101));
    let keys = format!("/api/v1/projects/{PROJECT}/keys");
    let taken = format!(r#"{{"name":"other","id":"{PROJECT}"}}"#);
    let retain = |body: &str| {
        let target = format!("/api/v1/projects/{PROJECT}/retention");
        keyed(http::request("PUT", &target).json(body))
    };
    let nobody =
        keyed(http::request("PUT", "/api/v1/projects/nobody/retention").json(r#"{"days":1}"#));
    let role = keyed(http::post(&keys).json(r#"{"role":"king"}"#));
    let fly = keyed(http::post(&keys).json(r#"{"permissions":["fly"]}"#));
    let no_key = keyed(http::request("DELETE", &format!("{keys}/none")));
    vec![
        project("nothing", "", 400, "JSON"),
        project("a list", "[]", 400, "JSON"),
        project("no name", "{}", 400, "name"),
        project("an empty name", r#"{"name":" "}"#, 400, "name: 1 to 100"),
        project("a name of 101 characters", &long, 400, "name: 1 to 100"),
        project("a name with a bell", r#"{"name":"a\u0007"}"#, 400, "printable"),
        project("an id that is none", r#"{"name":"a","id":"a b"}"#, 400, "1 to 64"),
        project("an id that is taken", &taken, 409, "exists already"),
        project("a field nobody knows", r#"{"name":"a","colour":"red"}"#, 400, "colour"),
        project("keeping for no time", r#"{"name":"a","retentionDays":0}"#, 400, "days"),
        project("keeping for less", r#"{"name":"a","retentionDays":-1}"#, 400, "JSON"),
        case("keeping for too long", retain(r#"{"days":4000000}"#), 400, "days"),
        case("keeping for words", retain(r#"{"days":"long"}"#), 400, "JSON"),
        case("keeping nothing of nobody", nobody, 404, "nobody"),
        case("a role nobody knows", role, 400, "role: owner, member"),
        case("a permission nobody knows", fly, 400, "permissions: fly is none of"),
        case("a key that is not there", no_key, 404, "none"),
        case("getting a compaction", keyed(http::get("/api/v1/compact")), 405, "does not take GET"),
    ]
}
