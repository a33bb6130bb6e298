use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::event::{EventBody, EventKind, UnorderedEvent};
use super::state::PermissionPromptId;
use crate::json_size::JsonSize;
use crate::payload::Json;
use crate::record::claude_code::object::Object;

/// The tool by which the agent asks questions.
const QUESTION_TOOL: &str = "AskUserQuestion";
/// Reason for the agent when a denial has none.
const DENIED: &str = "The user does not allow this.";
/// Reason for the agent when a prompt timed out.
const UNANSWERED: &str = "No answer in time.";

/// Type of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionPromptKind {
    /// Choices, or free text.
    Question,
    /// Whether a tool may be used.
    Permission,
    /// A form that an MCP server requests.
    Form,
}

/// A prompt of the agent for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionPrompt {
    pub id: PermissionPromptId,
    pub kind: PermissionPromptKind,
    /// The tool call that it is about.
    pub tool_use: Option<String>,
    /// The request as the agent wrote it.
    request: Json,
}

/// Scope of a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionScope {
    Once,
    /// For everything in this chat that the rules cover which the agent suggests.
    Chat,
}

/// Answer of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The tool may be used, with the input of the request only.
    Allow {
        allowance: PermissionScope,
        /// The input that the person saw, to be compared with the request.
        input: Option<Json>,
    },
    /// Denied, or declined to answer.
    Deny {
        /// Reason for the agent.
        message: Option<String>,
        /// Whether the turn is interrupted as well.
        stops: bool,
    },
    /// Answers by question: chosen labels, or free text.
    Answers(BTreeMap<String, String>),
    /// One free text for all questions.
    Says(String),
    Fills(Json),
    TimedOut,
}

/// Why a decision does not fit a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerMismatch {
    #[error("a question is answered with answers or a response, or denied")]
    Question,
    #[error("a permission is allowed or denied")]
    Permission,
    #[error("a form is answered with content, or denied")]
    Form,
    #[error("the input of a tool is an object")]
    Input,
    /// The input differs from the one that was shown.
    #[error(
        "input: not what was asked; an approval cannot change it: deny it, and say in message \
         what to do instead"
    )]
    Changed,
}

impl PermissionPrompt {
    /// Parses a request; `None` if it is not a prompt for a person.
    pub fn read(id: &str, request: &str) -> Option<Self> {
        let said = Object::parse(request).ok()?;
        let kind = match said.text("subtype")?.as_str() {
            "can_use_tool" if said.text("tool_name").as_deref() == Some(QUESTION_TOOL) => {
                PermissionPromptKind::Question
            }
            "can_use_tool" => PermissionPromptKind::Permission,
            "elicitation" => PermissionPromptKind::Form,
            _ => return None,
        };
        let (id, tool_use) = (PermissionPromptId::new(id), said.text("tool_use_id"));
        Some(Self { id, kind, tool_use, request: Json::parse(request)? })
    }

    /// Parses a line with a request; `None` if it is not a prompt for a person.
    pub fn of_line(line: &str) -> Option<Self> {
        let said = Object::parse(line).ok()?;
        Self::read(&said.text("request_id")?, said.written("request")?)
    }

    /// Returns the event for clients.
    pub fn to_event(&self) -> UnorderedEvent {
        let said = Object::parse(self.request.as_str()).unwrap_or_default();
        let raw = |key: &str| said.written(key);
        let body = EventBody::default()
            .text("id", self.id.as_str())
            .text_if("tool_use_id", self.tool_use.as_deref())
            .text_if("agent_id", said.text("agent_id").as_deref());
        match self.kind {
            PermissionPromptKind::Question => {
                let input = said.object("input").unwrap_or_default();
                let questions = input.written("questions").unwrap_or("[]");
                body.raw("questions", questions).into_event(EventKind::Question)
            }
            PermissionPromptKind::Form => body
                .raw_if("server", raw("mcp_server_name"))
                .raw_if("message", raw("message"))
                .raw_if("schema", raw("requested_schema"))
                .into_event(EventKind::Question),
            PermissionPromptKind::Permission => {
                let rules = rules_of(&said).iter().map(rule_text).collect::<Vec<_>>();
                body.raw_if("tool", raw("tool_name"))
                    .raw_if("input", raw("input"))
                    .raw_if("description", raw("description"))
                    .raw_if("blocked_path", raw("blocked_path"))
                    .raw_if("reason", raw("decision_reason"))
                    .value("rules", rules)
                    .into_event(EventKind::Permission)
            }
        }
    }

    /// Returns the reply to the agent: a JSON object.
    ///
    /// Of the rules that the agent suggests, only those that allow are returned, and only for this
    /// chat: the suggestions also write settings into the project and change the mode.
    ///
    /// # Errors
    /// Returns which type of decision the prompt needs.
    pub fn reply(&self, decision: &Decision) -> Result<String, AnswerMismatch> {
        let said = Object::parse(self.request.as_str()).unwrap_or_default();
        let input = said.written("input").unwrap_or("{}");
        match (self.kind, decision) {
            (PermissionPromptKind::Form, Decision::Fills(content)) => {
                let body = EventBody::default().text("action", "accept");
                Ok(body.raw("content", content.as_str()).finish())
            }
            (PermissionPromptKind::Form, Decision::Deny { .. }) => {
                Ok(json!({"action": "decline"}).to_string())
            }
            (PermissionPromptKind::Form, Decision::TimedOut) => {
                Ok(json!({"action": "cancel"}).to_string())
            }
            (PermissionPromptKind::Form, _) => Err(AnswerMismatch::Form),
            (_, Decision::Deny { message, stops }) => {
                Ok(deny(message.as_deref().unwrap_or(DENIED), *stops))
            }
            (_, Decision::TimedOut) => Ok(deny(UNANSWERED, false)),
            (PermissionPromptKind::Question, Decision::Answers(answers)) => {
                let answers = Value::from_iter(answers.clone());
                answered(input, "answers", &answers)
            }
            (PermissionPromptKind::Question, Decision::Says(words)) => {
                answered(input, "response", &Value::from(words.as_str()))
            }
            (PermissionPromptKind::Question, _) => Err(AnswerMismatch::Question),
            (PermissionPromptKind::Permission, Decision::Allow { allowance, input: seen }) => {
                Object::parse(input).map_err(|_| AnswerMismatch::Input)?;
                if seen.as_ref().is_some_and(|seen| !is_same(seen.as_str(), input)) {
                    return Err(AnswerMismatch::Changed);
                }
                let body = EventBody::default().text("behavior", "allow");
                let body = body.raw("updatedInput", input);
                let rules = rules_of(&said);
                let is_lasting = *allowance == PermissionScope::Chat && !rules.is_empty();
                Ok(if is_lasting {
                    body.value("updatedPermissions", lasting(&rules))
                } else {
                    body
                }
                .finish())
            }
            (PermissionPromptKind::Permission, _) => Err(AnswerMismatch::Permission),
        }
    }
}

fn deny(message: &str, stops: bool) -> String {
    let body = EventBody::default().text("behavior", "deny").text("message", message);
    if stops { body.value("interrupt", true) } else { body }.finish()
}

/// The input of a question with its answers inside, as the agent's tool expects it.
fn answered(input: &str, key: &str, answer: &Value) -> Result<String, AnswerMismatch> {
    let mut input: serde_json::Map<String, Value> =
        serde_json::from_str(input).map_err(|_| AnswerMismatch::Input)?;
    input.insert(key.to_owned(), answer.clone());
    Ok(json!({"behavior": "allow", "updatedInput": input}).to_string())
}

/// Whether two texts are the same JSON, independent of formatting. The parsed tree is no larger
/// than that of the request, whatever the person sent; duplicate keys never match.
fn is_same(seen: &str, asked: &str) -> bool {
    let read = |text| serde_json::from_str::<Value>(text).ok();
    let values = |text| JsonSize::of(text).values();
    let has_same_size = || values(seen) == values(asked);
    seen == asked || has_same_size() && read(seen).is_some_and(|value| read(asked) == Some(value))
}

/// The rules that allow, among the agent's suggestions.
fn rules_of(said: &Object<'_>) -> Vec<Value> {
    let proposals = said.list("permission_suggestions").into_iter();
    let read = |raw: &serde_json::value::RawValue| serde_json::from_str::<Value>(raw.get()).ok();
    let allowing = proposals
        .filter_map(read)
        .filter(|proposed| proposed["type"] == "addRules" && proposed["behavior"] == "allow");
    allowing.filter_map(|proposed| proposed["rules"].as_array().cloned()).flatten().collect()
}

fn lasting(rules: &[Value]) -> Value {
    json!([{"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}])
}

/// A rule as people write it: the tool and its pattern.
fn rule_text(rule: &Value) -> Value {
    let tool = rule["toolName"].as_str().unwrap_or_default();
    Value::from(match rule["ruleContent"].as_str() {
        Some(content) => format!("{tool}({content})"),
        None => tool.to_owned(),
    })
}

impl Decision {
    /// Summary for the audit log, without free text.
    pub const fn summary(&self) -> &'static str {
        match self {
            Self::Allow { allowance: PermissionScope::Once, .. } => "allow",
            Self::Allow { allowance: PermissionScope::Chat, .. } => "allow for the chat",
            Self::Deny { .. } => "deny",
            Self::Answers(_) | Self::Says(_) | Self::Fills(_) => "answer",
            Self::TimedOut => "timeout",
        }
    }

    /// Returns the event for clients.
    pub fn to_event(&self, ask: &PermissionPromptId, by: Option<&str>) -> UnorderedEvent {
        let body = EventBody::default().text("id", ask.as_str()).text_if("by", by);
        match self {
            Self::Allow { allowance, input } => body
                .text("decision", "allow")
                .value("always", *allowance == PermissionScope::Chat)
                .raw_if("input", input.as_ref().map(Json::as_str)),
            Self::Deny { message, stops } => body
                .text("decision", "deny")
                .text_if("message", message.as_deref())
                .value("interrupt", *stops),
            Self::Answers(answers) => {
                let answers = Value::from_iter(answers.clone());
                body.text("decision", "answer").value("answers", answers)
            }
            Self::Says(words) => body.text("decision", "answer").text("response", words),
            Self::Fills(content) => {
                body.text("decision", "answer").raw("content", content.as_str())
            }
            Self::TimedOut => body.text("decision", "timeout"),
        }
        .into_event(EventKind::Answered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERMISSION: &str = r#"{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t1",
        "input":{"command":"touch a","n":1.0},"permission_suggestions":[
        {"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch *"}],
         "behavior":"allow","destination":"localSettings"},
        {"type":"addDirectories","directories":["/"],"destination":"session"},
        {"type":"setMode","mode":"acceptEdits","destination":"session"}]}"#;
    const QUESTION: &str = r#"{"subtype":"can_use_tool","tool_name":"AskUserQuestion",
        "tool_use_id":"t2","input":{"questions":[{"question":"Which?","options":[]}]}}"#;
    const FORM: &str = r#"{"subtype":"elicitation","mcp_server_name":"calc","message":"Sure?"}"#;

    fn asked(request: &str) -> PermissionPrompt {
        PermissionPrompt::read("a1", request).unwrap()
    }

    fn allow(allowance: PermissionScope) -> Decision {
        Decision::Allow { allowance, input: None }
    }

    #[track_caller]
    fn check(request: &str, decision: &Decision, expected: &Value) {
        let reply = asked(request).reply(decision).unwrap();
        assert_eq!(&serde_json::from_str::<Value>(&reply).unwrap(), expected);
    }

    #[test]
    fn an_input_goes_back_as_it_came() {
        let reply = asked(PERMISSION).reply(&allow(PermissionScope::Once)).unwrap();
        assert_eq!(reply, r#"{"behavior":"allow","updatedInput":{"command":"touch a","n":1.0}}"#);
    }

    #[test]
    fn an_approval_cannot_replace_what_was_shown() {
        let saw = |input: &str| Decision::Allow {
            allowance: PermissionScope::Chat,
            input: Some(Json::parse(input).unwrap()),
        };
        for other in [
            r#"{"command":"rm -rf /","n":1.0}"#,
            r#"{"command":"touch a"}"#,
            r#"{"command":"touch a","n":1.0,"run_in_background":true}"#,
            r#"{"command":"rm -rf /","n":1.0,"command":"touch a"}"#,
            "{}",
            "[1]",
            "null",
        ] {
            assert_eq!(
                asked(PERMISSION).reply(&saw(other)),
                Err(AnswerMismatch::Changed),
                "{other}"
            );
        }
        let reply = asked(PERMISSION).reply(&saw(r#"{ "n": 1.0, "command": "touch a" }"#));
        let same = r#""updatedInput":{"command":"touch a","n":1.0}"#;
        assert!(reply.as_ref().is_ok_and(|reply| reply.contains(same)), "{reply:?}");
    }

    #[test]
    fn only_rules_are_returned_and_only_for_the_chat() {
        let rules = json!([{"toolName": "Bash", "ruleContent": "touch *"}]);
        let update = json!([{"type": "addRules", "behavior": "allow", "destination": "session",
            "rules": rules}]);
        check(
            PERMISSION,
            &allow(PermissionScope::Chat),
            &json!({"behavior": "allow", "updatedInput": {"command": "touch a", "n": 1.0},
                "updatedPermissions": update}),
        );
        let event = asked(PERMISSION).to_event();
        assert_eq!(event.kind, EventKind::Permission);
        let body: Value = serde_json::from_str(&event.body).unwrap();
        assert_eq!(body["rules"], json!(["Bash(touch *)"]));
    }

    #[test]
    fn questions_are_answered_in_their_input() {
        let answers = BTreeMap::from([("Which?".to_owned(), "A, B".to_owned())]);
        let questions = json!([{"question": "Which?", "options": []}]);
        check(
            QUESTION,
            &Decision::Answers(answers),
            &json!({"behavior": "allow",
                "updatedInput": {"questions": questions, "answers": {"Which?": "A, B"}}}),
        );
        check(
            QUESTION,
            &Decision::Says("neither".to_owned()),
            &json!({"behavior": "allow",
                "updatedInput": {"questions": questions, "response": "neither"}}),
        );
        assert_eq!(asked(QUESTION).to_event().kind, EventKind::Question);
    }

    #[test]
    fn forms_are_filled_in_or_declined() {
        let content = Json::parse(r#"{"ok":true}"#).unwrap();
        check(
            FORM,
            &Decision::Fills(content),
            &json!({"action": "accept", "content": {"ok": true}}),
        );
        let no = Decision::Deny { message: None, stops: false };
        check(FORM, &no, &json!({"action": "decline"}));
        check(FORM, &Decision::TimedOut, &json!({"action": "cancel"}));
    }

    #[test]
    fn silence_is_a_no() {
        check(PERMISSION, &Decision::TimedOut, &json!({"behavior": "deny", "message": UNANSWERED}));
        let stop = Decision::Deny { message: Some("no".to_owned()), stops: true };
        let expected = json!({"behavior": "deny", "message": "no", "interrupt": true});
        check(QUESTION, &stop, &expected);
    }

    #[test]
    fn the_wrong_kind_of_answer_is_refused() {
        let says = Decision::Says("yes".to_owned());
        assert_eq!(asked(PERMISSION).reply(&says), Err(AnswerMismatch::Permission));
        assert_eq!(
            asked(QUESTION).reply(&allow(PermissionScope::Once)),
            Err(AnswerMismatch::Question)
        );
        assert_eq!(asked(FORM).reply(&says), Err(AnswerMismatch::Form));
        assert_eq!(PermissionPrompt::read("a", r#"{"subtype":"hook_callback"}"#), None);
    }
}
