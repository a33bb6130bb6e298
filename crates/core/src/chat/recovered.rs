//! Transcript lines without events.
//!
//! An agent writes its transcript on its own, so it may contain more than was published when the
//! server was killed. A transcript line has the id and the message of the output line that is
//! missing, and is converted to it, so that it becomes the same events.

use super::event::EventBody;
use crate::record::claude_code::object::Object;

/// A transcript line in the format of an output line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredLine {
    /// Id, the same in both formats.
    pub id: String,
    /// The output line.
    pub line: String,
}

impl RecoveredLine {
    /// Converts a transcript line of the agent, or of a sub-agent that this tool call started.
    /// `None` for lines without a message.
    ///
    /// ```
    /// use ratchet_core::chat::recovered::RecoveredLine;
    ///
    /// let kept = r#"{"type":"assistant","uuid":"u1","message":{"id":"m1","content":[]}}"#;
    /// assert_eq!(RecoveredLine::of_kept(kept, None).unwrap().id, "u1");
    /// assert!(RecoveredLine::of_kept(r#"{"type":"mode"}"#, None).is_none());
    /// ```
    pub fn of_kept(line: &str, call: Option<&str>) -> Option<Self> {
        let kept = Object::parse(line).ok()?;
        let kind = kept.text("type").filter(|kind| kind == "assistant" || kind == "user")?;
        let is_elsewhere = kept.is("isSidechain") && call.is_none();
        if is_elsewhere || kept.is("isMeta") {
            return None;
        }
        let body = EventBody::default()
            .text("type", &kind)
            .raw("message", kept.written("message")?)
            .text_if("parent_tool_use_id", call);
        Some(Self { id: kept.text("uuid")?, line: body.finish() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::EventKind;
    use super::super::reader::LineReader;
    use super::*;

    fn events(line: &str, call: Option<&str>) -> Vec<(EventKind, String)> {
        let mut reader = LineReader::default();
        let Some(events) = RecoveredLine::of_kept(line, call) else { return Vec::new() };
        let events = reader.take(&events.line, None).events.into_iter();
        events.map(|event| (event.kind, event.body.to_string())).collect()
    }

    #[test]
    fn words_calls_and_results_become_the_events_they_would_have_been() {
        let words = r#"{"type":"assistant","uuid":"u","isSidechain":false,"message":{"id":"m","content":[{"type":"text","text":"Hi"}]}}"#;
        let [(kind, body)] = &events(words, None)[..] else { panic!("one event") };
        assert_eq!(
            (*kind, body.as_str()),
            (EventKind::TextDelta, r#"{"text":"Hi","message":"m"}"#)
        );
        let call = r#"{"type":"assistant","uuid":"u","isSidechain":true,"message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#;
        assert_eq!(events(call, None), [], "another file's");
        let [(kind, body)] = &events(call, Some("parent"))[..] else { panic!("one event") };
        assert_eq!(*kind, EventKind::ToolUse);
        assert!(body.contains(r#""parent":"parent""#), "{body}");
        let result = r#"{"type":"user","uuid":"u","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}"#;
        assert_eq!(events(result, None)[0].0, EventKind::ToolResult);
    }

    #[test]
    fn what_nobody_said_is_not_told() {
        for line in [
            r#"{"type":"user","uuid":"u","isMeta":true,"message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}"#,
            r#"{"type":"user","uuid":"u","message":{"content":"a prompt, which was response when it came"}}"#,
            r#"{"type":"system","uuid":"u","content":"a note"}"#,
            r#"{"type":"assistant","uuid":"u","mess"#,
        ] {
            assert_eq!(events(line, None), [], "{line}");
        }
    }
}
