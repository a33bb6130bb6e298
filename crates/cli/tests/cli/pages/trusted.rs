use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::writer::Writer;

const GRADES: [(&str, f64); 4] =
    [("failed", 0.0), ("partial", 0.4), ("complete", 0.85), ("exceeded", 1.0)];

/// The sessions of some traces.
pub(super) fn sessions(traces: &[Value]) -> Vec<String> {
    let sessions: BTreeSet<&str> =
        traces.iter().filter_map(|trace| trace["sessionId"].as_str()).collect();
    sessions.into_iter().map(str::to_owned).collect()
}

/// A judge's marks of sessions, and what a person thinks of them: not quite the same.
pub(super) fn label(writer: &Writer<'_>, traces: &[Value]) {
    let sessions = sessions(traces);
    writer.post("/api/public/v2/datasets", &json!({ "name": "ground-truth" }));
    let mut events = Vec::new();
    for (nth, session) in sessions.into_iter().enumerate() {
        let share = f64::from(u8::try_from(nth * 29 % 100).unwrap()) / 100.0;
        let (judged, meant) = (GRADES[nth % 4], GRADES[(nth + nth % 3 / 2) % 4]);
        let mut score = |name: &str, more: Value| {
            let mut body = json!({
                "id": format!("{name} of session {session}"), "sessionId": session, "name": name,
                "source": "EVAL", "comment": "Because of what the tools gave back.",
                "metadata": {
                    "rubric": "session-quality", "rubric_version": 1, "judge": "offline",
                    "generation": 1,
                },
            });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            events.push(("score-create", body));
        };
        score("overall_quality", json!({ "value": share, "dataType": "NUMERIC" }));
        score("tool_mastery", json!({ "value": share, "dataType": "NUMERIC" }));
        score("task_completion", json!({ "value": judged.0, "dataType": "CATEGORICAL" }));
        let item = json!({
            "datasetName": "ground-truth", "id": format!("label of {session}"),
            "input": { "session_id": session },
            "expectedOutput": { "tool_mastery": (share * 0.8 + 0.1), "task_completion": meant.0 },
            "metadata": {
                "labeled_by": "ada@example.com", "labeled_at": "2026-03-02T10:00:00Z",
                "why": "It said that it was done, and was not.", "rubric": "session-quality",
            },
        });
        writer.post("/api/public/dataset-items", &item);
    }
    writer.record(&events);
}
