use serde_json::{Value, json};

use crate::text::Writer;

/// Size of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) traces: u64,
    /// Bytes of tool output per trace.
    pub(super) output_bytes: usize,
}

const TRACES_PER_REQUEST: usize = 50;

/// The requests that record a session of a coding agent, tagged with its kind.
pub(super) fn bodies(kind: &str, nth: u64, shape: Shape) -> Vec<Value> {
    let mut writer = Writer::new(nth + 1);
    let session = format!("{kind}-{nth}");
    let traces: Vec<u64> = (0..shape.traces).collect();
    let batch = |traces: &[u64]| {
        let events = traces.iter().flat_map(|n| turn(&mut writer, (kind, &session), *n, shape));
        json!({ "batch": events.collect::<Vec<_>>() })
    };
    traces.chunks(TRACES_PER_REQUEST).map(batch).collect()
}

/// A turn: user message, model answer, tool call.
fn turn(writer: &mut Writer, (kind, session): (&str, &str), n: u64, shape: Shape) -> [Value; 3] {
    let trace = format!("{session}-{n}");
    let at = format!("2026-03-02T{:02}:{:02}:00Z", n / 60 % 24, n % 60);
    let event = |kind: &str, id: String, mut body: Value| {
        body["id"] = json!(id);
        json!({"id": format!("e-{id}"), "timestamp": at, "type": kind, "body": body})
    };
    let (question, answer) = (writer.prose(150), writer.prose(250));
    let output = writer.prose(shape.output_bytes);
    let said = json!({"role": "assistant", "content": answer});
    [
        event(
            "trace-create",
            trace.clone(),
            json!({"name": "turn", "sessionId": session, "timestamp": at, "tags": [kind],
                "input": {"role": "user", "content": question}, "output": said}),
        ),
        event(
            "generation-create",
            format!("{trace}-g"),
            json!({"traceId": trace, "name": "ask", "model": "claude-sonnet-5", "startTime": at,
                "endTime": at, "input": [{"role": "user", "content": question}], "output": said,
                "usageDetails": {"input": 3_000, "output": 200}}),
        ),
        event(
            "tool-create",
            format!("{trace}-t"),
            json!({"traceId": trace, "name": "Bash", "startTime": at, "endTime": at,
                "input": {"command": format!("make step-{n}")}, "output": output}),
        ),
    ]
}
