use super::Value;

/// Tables that clients fill with content. Settings, keys, logins, jobs and the audit log are not
/// among them: they must work when the disk is full, so that somebody can make room.
const CONTENT_TABLES: [&str; 24] = [
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
    "review_draw",
    "review_item",
    "saved_view",
    "score_config",
    "skill",
    "skill_content",
    "target_chat",
];

/// Approximate bytes of a row without its texts.
const ROW_BYTES: u64 = 100;

/// Returns the approximate bytes of content that a statement adds; 0 for statements that add none.
pub(super) fn added_by(sql: &str, values: &[Value]) -> u64 {
    let table =
        sql.trim_start().strip_prefix("INSERT INTO ").and_then(|rest| rest.split(' ').next());
    if !table.is_some_and(|table| CONTENT_TABLES.contains(&table)) {
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
        for sql in [
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
