use ratchet_core::job::JobKind;

use super::Value;

/// Tables that clients fill with content. Settings, keys, logins, the audit log and most jobs are not
/// among them: they must work when the disk is full, so that somebody can make room.
const CONTENT_TABLES: [&str; 26] = [
    "ab_test",
    "agent_version",
    "annotation_item",
    "annotation_queue",
    "annotation_review",
    "comment",
    "dataset",
    "dataset_item",
    "document",
    "experiment_answer",
    "experiment_run",
    "gate",
    "media",
    "model",
    "product_feedback",
    "promotion",
    "prompt",
    "publication",
    "review_draw",
    "review_item",
    "saved_view",
    "score_config",
    "session_bookmark",
    "skill",
    "skill_content",
    "target_chat",
];

/// Jobs that are content: a run of an experiment has up to 100,000 of them.
const CONTENT_JOBS: JobKind = JobKind::ExperimentTrial;

/// Approximate bytes of a row without its texts.
const ROW_BYTES: u64 = 100;

/// Returns the approximate bytes of content that a statement adds; 0 for statements that add none.
pub(super) fn added_by(sql: &str, values: &[Value]) -> u64 {
    let table =
        sql.trim_start().strip_prefix("INSERT INTO ").and_then(|rest| rest.split(' ').next());
    let is_trial =
        |value: &Value| matches!(value, Value::Text(text) if text == CONTENT_JOBS.as_str());
    let is_content = match table {
        Some("job") => values.iter().any(is_trial),
        Some(table) => CONTENT_TABLES.contains(&table),
        None => false,
    };
    if !is_content {
        return 0;
    }
    let bytes = |value: &Value| match value {
        Value::Text(text) => text.len() as u64,
        Value::Null | Value::Whole(_) | Value::Real(_) => 0,
    };
    values.iter().map(bytes).sum::<u64>().saturating_add(ROW_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::administration::TABLES;

    #[test]
    fn content_counts_and_what_is_needed_to_make_room_does_not() {
        let text = [Value::Text("four".to_owned()), Value::Null, Value::Whole(1)];
        assert_eq!(added_by("INSERT INTO comment (id) VALUES ($1)", &text), ROW_BYTES + 4);
        let trial = [Value::Text(JobKind::ExperimentTrial.as_str().to_owned())];
        assert!(added_by("INSERT INTO job (kind) VALUES ($1)", &trial) > ROW_BYTES);
        for sql in [
            "INSERT INTO job (kind) VALUES ($1)",
            "INSERT INTO audit_entry (id) VALUES ($1)",
            "INSERT INTO web_session (id) VALUES ($1)",
            "DELETE FROM comment WHERE id = $1",
            "UPDATE dataset_item SET valid_to = $1",
        ] {
            assert_eq!(added_by(sql, &text), 0, "{sql}");
        }
        assert!(CONTENT_TABLES.iter().all(|table| TABLES.contains(table)));
    }
}
