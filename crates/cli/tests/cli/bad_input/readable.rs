//! Whatever text comes in, what goes out can be read by a strict parser.

use ratchet_testkit::http;
use ratchet_testkit::otlp;
use ratchet_testkit::process::Ratchet;

/// Attributes whose texts become payloads, metadata and parameters.
const NAMES: [&str; 10] = [
    "langfuse.observation.input",
    "langfuse.observation.metadata",
    "langfuse.observation.metadata.key",
    "langfuse.trace.metadata",
    "langfuse.observation.model.parameters",
    "ai.response.toolCalls",
    "gen_ai.prompt.0.content",
    "input.value",
    "metadata",
    "unheard.of",
];

fn odd_texts() -> Vec<String> {
    let nested =
        |open: &str, close: &str| format!("{}1{}", open.repeat(5_000), close.repeat(5_000));
    let plain =
        ["4e10", "27030e8286598724", "1e999", "-", "NaN", "\u{0}", "\u{feff}{}", "{\"a\":", "]"];
    let mut texts: Vec<_> = plain.into_iter().map(str::to_owned).collect();
    texts.extend([nested("[", "]"), nested("{\"a\":", "}"), "[".repeat(5_000), "9".repeat(500)]);
    texts
}

/// Records every text under every name, and reads each trace and the whole list.
pub(super) fn check(running: &Ratchet) {
    let texts = odd_texts();
    let cases = NAMES.iter().flat_map(|name| texts.iter().map(move |text| (*name, text.as_str())));
    for (number, (name, text)) in (1..).zip(cases) {
        let span = otlp::span(number, 1).saying(name, text);
        let output = otlp::request("odd").with(span).to_protobuf();
        let answer = running.send(http::post("/v1/traces").protobuf(output));
        assert_eq!(answer.status, 200, "{name} {}", answer.text());
        let read =
            running.send(http::get(&format!("/api/public/traces/{}", otlp::trace_id(number))));
        let document = serde_json::from_slice::<serde_json::Value>(&read.body);
        let shown: String = text.chars().take(40).collect();
        assert!(document.is_ok(), "{name} = {shown}: {document:?}");
    }
    for list in ["traces", "observations"] {
        let read = running.send(http::get(&format!("/api/public/{list}?limit=100")));
        assert_eq!(read.json()["data"].as_array().map(Vec::len), Some(100));
    }
}
