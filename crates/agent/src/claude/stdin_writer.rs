use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, watch};

use super::error::ClaudeError;
use super::message::{Reply, UserMessage};
use super::process::{self, ProcessGoal};

/// A line for the program. What is not JSON on one line would end it, so there is no other way to
/// make one than from something that serialises.
#[derive(Debug)]
pub(super) struct StdinLine(String);

impl StdinLine {
    fn new(document: &impl Serialize) -> Result<Self, ClaudeError> {
        let text = serde_json::to_string(document)?;
        // Raw values may be spread over lines. In JSON a line break is never part of a value.
        Ok(Self(text.replace(['\n', '\r'], " ")))
    }

    pub(super) fn user(message: &UserMessage) -> Result<Self, ClaudeError> {
        Self::new(&message.document())
    }

    pub(super) fn request(id: &str, subtype: &str, body: &Value) -> Result<Self, ClaudeError> {
        let mut request = body.as_object().cloned().unwrap_or_default();
        request.insert("subtype".to_owned(), subtype.into());
        Self::new(&Request { r#type: "control_request", request_id: id, request })
    }

    pub(super) fn cancel(id: &str) -> Result<Self, ClaudeError> {
        Self::new(&Cancel { r#type: "control_cancel_request", request_id: id })
    }

    pub(super) fn reply(request_id: &str, reply: &Reply) -> Result<Self, ClaudeError> {
        let response = match reply {
            Reply::Success(response) => {
                Response { subtype: "success", request_id, response: Some(response), error: None }
            }
            Reply::Error(why) => {
                Response { subtype: "error", request_id, response: None, error: Some(why) }
            }
        };
        Self::new(&Envelope { r#type: "control_response", response })
    }
}

#[derive(Serialize)]
struct Request<'a> {
    r#type: &'static str,
    request_id: &'a str,
    request: serde_json::Map<String, Value>,
}

#[derive(Serialize)]
struct Cancel<'a> {
    r#type: &'static str,
    request_id: &'a str,
}

#[derive(Serialize)]
struct Envelope<'a> {
    r#type: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
struct Response<'a> {
    subtype: &'static str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// Writes line after line until the process has ended or is to end.
pub(super) async fn write_lines(
    mut stdin: ChildStdin,
    mut lines: mpsc::Receiver<StdinLine>,
    mut goal: watch::Receiver<ProcessGoal>,
) {
    loop {
        let line = tokio::select! {
            // What was said before we wanted it to end is said first.
            biased;
            line = lines.recv() => line,
            () = process::until(&mut goal, ProcessGoal::End) => None,
        };
        let Some(StdinLine(mut line)) = line else { return };
        line.push('\n');
        let said = async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.flush().await
        };
        if said.await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_is_spread_over_lines_is_said_on_one() {
        let spread = RawValue::from_string("{\r\n \"a\": \"b\\nc\"\n}".to_owned()).unwrap();
        let StdinLine(line) = StdinLine::reply("r1", &Reply::Success(spread)).unwrap();
        assert!(!line.contains(['\n', '\r']), "{line}");
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["response"]["response"], json!({"a": "b\nc"}));
    }

    #[test]
    fn numbers_that_are_too_long_for_us_go_back_as_they_came() {
        let long = "{\"n\":123456789012345678901234567890.10}".to_owned();
        let input = RawValue::from_string(long).unwrap();
        let StdinLine(line) = StdinLine::reply("r1", &Reply::allow(&input, &[]).unwrap()).unwrap();
        assert!(line.contains("123456789012345678901234567890.10"), "{line}");
    }

    proptest! {
        #[test]
        fn whatever_a_user_says_is_one_line_of_json(text in any::<String>()) {
            let message = UserMessage::text(uuid::Uuid::nil(), text.clone());
            let StdinLine(line) = StdinLine::user(&message).unwrap();
            prop_assert!(!line.contains(['\n', '\r']));
            let read: Value = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(&read["message"]["content"], &json!(text));
        }
    }
}
