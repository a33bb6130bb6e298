use ratchet_testkit::http;

use super::{Case, case, keyed};

fn read(what: &'static str, target: &str, status: u16, says: &'static str) -> Case {
    case(what, keyed(http::get(target)), status, says)
}

/// A list of traces with these parameters.
fn traces(what: &'static str, query: &str, says: &'static str) -> Case {
    read(what, &format!("/api/public/traces?{query}"), 400, says)
}

/// A list of traces with this filter, percent-encoded.
fn filter(what: &'static str, filter: &str, says: &'static str) -> Case {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    let encoded: String = filter
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    traces(what, &format!("filter={encoded}"), says)
}

pub(super) fn table() -> Vec<Case> {
    [pages(), filters(), observations(), paths()].into_iter().flatten().collect()
}

const MUST_BE_PAGE: &str = r#""path":["page"],"message":"must be a whole number from 1, not "#;
const MUST_BE_LIMIT: &str = r#""path":["limit"],"message":"must be a whole number from 1 to 100"#;

fn pages() -> Vec<Case> {
    vec![
        traces("page zero", "page=0", MUST_BE_PAGE),
        traces("a page below zero", "page=-1", MUST_BE_PAGE),
        traces("a page of words", "page=first", MUST_BE_PAGE),
        traces("half a page", "page=1.5", MUST_BE_PAGE),
        traces("a page beyond 64 bits", "page=18446744073709551616", MUST_BE_PAGE),
        traces("a limit of zero", "limit=0", MUST_BE_LIMIT),
        traces("a limit of 101", "limit=101", MUST_BE_LIMIT),
        traces("a limit of words", "limit=all", MUST_BE_LIMIT),
        traces("a time of words", "fromTimestamp=monday", "not an ISO 8601 date and time"),
        traces("a day that does not exist", "toTimestamp=2026-02-30T00:00:00Z", "toTimestamp"),
        traces("a year beyond all time", "fromTimestamp=9999-01-01T00:00:00Z", "fromTimestamp"),
        traces("an order nobody knows", "orderBy=mood.asc", "orderBy"),
        traces("a direction nobody knows", "orderBy=timestamp.sideways", "orderBy"),
        traces("fields nobody knows", "fields=core,mood", "fields"),
        traces("five thousand pages", &"page=x&".repeat(5_000), MUST_BE_PAGE),
        traces("several wrong things", "page=x&limit=y", MUST_BE_LIMIT),
    ]
}

fn filters() -> Vec<Case> {
    let one = |kind: &str, column: &str, operator: &str, value: &str| {
        format!(
            r#"[{{"type":"{kind}","column":"{column}","operator":"{operator}","value":{value}}}]"#
        )
    };
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    vec![
        filter("no JSON", "name = a", "filter"),
        filter("an object", "{}", "filter"),
        filter("a number", "[1]", "filter"),
        filter("half a list", "[", "filter"),
        filter("nothing said", "[{}]", "filter"),
        filter("200 lists in each other", &deep, "filter"),
        filter("a type nobody knows", &one("mood", "name", "=", "\"a\""), "type"),
        filter("a column nobody knows", &one("string", "mood", "=", "\"a\""), "column"),
        filter("a type that does not fit", &one("number", "name", "=", "1"), "type"),
        filter("an operator nobody knows", &one("string", "name", "~", "\"a\""), "operator"),
        filter(
            "an operator of another type",
            &one("number", "latency", "contains", "1"),
            "operator",
        ),
        filter("a text that is a number", &one("string", "name", "=", "1"), "value"),
        filter("a number that is a text", &one("number", "latency", ">", "\"1\""), "value"),
        filter("a time of words", &one("datetime", "timestamp", ">", "\"noon\""), "value"),
        filter("options as a text", &one("stringOptions", "name", "any of", "\"a\""), "value"),
        filter("options of numbers", &one("arrayOptions", "tags", "all of", "[1]"), "value"),
        filter("a truth of words", &one("boolean", "bookmarked", "=", "\"yes\""), "value"),
        filter("metadata without a key", &one("stringObject", "metadata", "=", "\"a\""), "key"),
    ]
}

fn observations() -> Vec<Case> {
    let list = |what, query: &str, says| {
        read(what, &format!("/api/public/observations?{query}"), 400, says)
    };
    vec![
        list("a type nobody knows", "type=DREAM", "type"),
        list("a level nobody knows", "level=LOUD", "level"),
        list("a start of words", "fromStartTime=noon", "fromStartTime"),
        list("an end of words", "toStartTime=noon", "toStartTime"),
        list("a trace id of 801 bytes", &format!("traceId={}", "x".repeat(801)), "traceId"),
        list("page zero", "page=0", "page"),
        read("sessions of page zero", "/api/public/sessions?page=0", 400, "page"),
        read("sessions from words", "/api/public/sessions?fromTimestamp=x", 400, "fromTimestamp"),
    ]
}

fn paths() -> Vec<Case> {
    let long = format!("/api/public/traces/{}", "x".repeat(801));
    let deny = |method: &str, target: &str| keyed(http::request(method, target));
    vec![
        read("a trace that is not there", "/api/public/traces/none", 404, "none not found"),
        read("an observation that is not there", "/api/public/observations/none", 404, "not found"),
        read("a session that is not there", "/api/public/sessions/none", 404, "not found"),
        read("an id of 801 bytes", &long, 404, "at most 800 bytes"),
        read("an id that is no text", "/api/public/traces/%ff", 400, "id in path"),
        read("an id with a line break", "/api/public/traces/a%0Db", 404, "carriage return"),
        read("an API that is not there", "/api/public/moods", 404, "there is no /api/public/moods"),
        read("no API at all", "/api", 404, "the APIs are"),
        read("a path that climbs", "/api/public/../../etc/passwd", 404, "there is no"),
        case("putting a trace", deny("PUT", "/api/public/traces"), 405, "does not take PUT"),
        case("posting a session", deny("POST", "/api/public/sessions"), 405, "does not take POST"),
        case("getting a batch", deny("GET", "/api/public/ingestion"), 405, "does not take GET"),
        case("getting spans", deny("GET", "/v1/traces"), 405, "does not take GET"),
        case(
            "a method nobody knows",
            deny("BREW", "/api/public/traces"),
            405,
            "does not take BREW",
        ),
    ]
}
