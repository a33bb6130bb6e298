//! Questions and permission prompts, and the forms that answer them.

use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::chat::permission_prompt::{Decision, PermissionScope};
use ratchet_core::chat::transcript_view::PermissionPromptView;
use ratchet_core::payload::Json;
use ratchet_core::record::limit::elide;
use serde_json::{Map, Value};

use super::turns::ChatContext;
use crate::message_preview::one_line;
use crate::request_context::Params;

/// Maximum bytes of a tool's input that are shown; a longer one can only be denied.
const EXACT: usize = 100_000;
/// Maximum number of questions, of choices of each, and of fields of a form.
const MOST: usize = 40;

/// Text with invisible and direction-changing characters escaped, so that nothing is hidden.
pub(super) fn escape_invisible(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    for c in text.chars() {
        let hides = c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}')
            || matches!(c, '\u{2060}'..='\u{2069}' | '\u{FEFF}' | '\u{00AD}' | '\u{061C}');
        if hides {
            bare.push_str(&format!("⟨U+{:04X}⟩", u32::from(c)));
        } else {
            bare.push(c);
        }
    }
    bare
}

/// Renders a prompt, with a form while it is open.
pub(super) fn draw(ask: &PermissionPromptView, chat_ctx: &ChatContext<'_>) -> Markup {
    let is_open = ask.answer.is_none();
    html! {
        section.ask.open[is_open] data-ask=(ask.id) {
            @if ask.is_permission { (permission(ask)) }
            @else if ask.body["questions"].is_array() { @if !is_open { (asked(ask)) } }
            @else { (form_head(ask)) }
            @match ask.outcome() {
                Some(outcome) => { (answered(ask, &outcome)) },
                None if chat_ctx.may_act() => { (form(ask, chat_ctx)) },
                None => { p.muted { "Waiting for a member or owner to answer." } },
            }
        }
    }
}

fn answered(ask: &PermissionPromptView, outcome: &str) -> Markup {
    let answer = ask.answer.as_ref();
    let text = |key: &str| answer.and_then(|answer| answer[key].as_str());
    html! {
        p.outcome { strong { bdi { (one_line(outcome, 120)) } }
            @if let Some(why) = text("message").or(text("response")) {
                ": " bdi { (one_line(why, 400)) }
            }
        }
        @if let Some(answers) = answer.and_then(|answer| answer["answers"].as_object()) {
            dl.facts {
                @for (question, said) in answers.iter().take(MOST) {
                    dt { bdi { (one_line(question, 200)) } }
                    dd { bdi { (one_line(said.as_str().unwrap_or_default(), 400)) } }
                }
            }
        }
    }
}

/// The tool and its exact input.
fn permission(ask: &PermissionPromptView) -> Markup {
    let text = |key: &str| ask.body[key].as_str().unwrap_or_default();
    html! {
        h3 { "The agent wants to use " code { bdi { (one_line(text("tool"), 80)) } } }
        @if !text("description").is_empty() { p { bdi { (one_line(text("description"), 400)) } } }
        pre.exact dir="ltr" tabindex="0" { (exactly(&ask.body["input"])) }
        @if !text("blocked_path").is_empty() {
            p { "It reaches " code { bdi { (escape_invisible(text("blocked_path"))) } } "." }
        }
        @if !text("reason").is_empty() { p.muted { "Because: " bdi { (one_line(text("reason"), 400)) } } }
    }
}

/// All fields of a tool's input.
fn exactly(input: &Value) -> String {
    let text = match input["command"].as_str() {
        Some(command) => {
            let others = input.as_object().into_iter().flatten();
            let others: Map<String, Value> = others
                .filter(|(key, _)| !["command", "description"].contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            match others.is_empty() {
                true => command.to_owned(),
                false => format!("{command}\n{}", Value::Object(others)),
            }
        }
        None => serde_json::to_string_pretty(input).unwrap_or_default(),
    };
    elide(&escape_invisible(&text), EXACT).into_owned()
}

/// Whether the input is shown in full.
fn is_shown_whole(ask: &PermissionPromptView) -> bool {
    ask.body["input"].to_string().len() < EXACT / 2
}

fn form(ask: &PermissionPromptView, chat_ctx: &ChatContext<'_>) -> Markup {
    let ctx = chat_ctx.ctx;
    html! {
        form.answer-form method="post" action=(ctx.to(&["chats", chat_ctx.chat, "answers"])) data-stay {
            (ctx.viewer.form_token.field())
            input type="hidden" name="ask" value=(ask.id);
            @if ask.is_permission { (permission_fields(ask)) }
            @else if let Some(questions) = ask.body["questions"].as_array() {
                @for (number, question) in questions.iter().take(MOST).enumerate() {
                    (question_fields(&ask.id, number, question))
                }
                (send_or_decline(&ask.id))
            } @else {
                (schema_fields(ask))
                (send_or_decline(&ask.id))
            }
        }
    }
}

fn permission_fields(ask: &PermissionPromptView) -> Markup {
    let rules = ask.body["rules"].as_array().into_iter().flatten();
    let rules: Vec<&str> = rules.filter_map(Value::as_str).take(MOST).collect();
    let reason = format!("reason-{}", ask.id);
    html! {
        @if !rules.is_empty() {
            p.muted { "“Always” allows for the rest of this chat: "
                @for rule in &rules { code { bdi { (escape_invisible(rule)) } } " " } }
        }
        @if !is_shown_whole(ask) {
            p.problem { "Too long to show in full, so it can only be denied here." }
        }
        div.answer-line {
            @if is_shown_whole(ask) {
                button.button.primary name="decision" value="allow" { "Allow" }
                @if !rules.is_empty() {
                    button.button name="decision" value="always" { "Always" }
                }
            }
            button.button.danger name="decision" value="deny" { "Deny" }
            label.sr for=(reason) { "Reason" }
            input id=(reason) type="text" name="message" maxlength="2000"
                  placeholder="reason, for the agent" autocomplete="off";
        }
    }
}

fn send_or_decline(ask: &str) -> Markup {
    html! {
        div.answer-line {
            button.button.primary name="decision" value="answer" { "Answer" }
            button.button name="decision" value="deny" formnovalidate
                   aria-label={ "Decline to answer " (ask) } { "Decline" }
        }
    }
}

fn question_fields(ask: &str, number: usize, question: &Value) -> Markup {
    let text = question["question"].as_str().unwrap_or_default();
    let kind = if question["multiSelect"] == true { "checkbox" } else { "radio" };
    let options: Vec<&Value> =
        question["options"].as_array().into_iter().flatten().take(MOST).collect();
    let (name, other) = (format!("q{number}"), format!("other-{ask}-{number}"));
    html! {
        fieldset.question {
            legend { bdi { (elide(text, 2_000)) } }
            input type="hidden" name={ "text" (number) } value=(text);
            @for option in &options {
                @let label = option["label"].as_str().unwrap_or_default();
                label.choice {
                    input type=(kind) name=(name) value=(label);
                    span { strong { bdi { (elide(label, 300)) } }
                        @if let Some(about) = option["description"].as_str() {
                            " " span.muted { bdi { (elide(about, 600)) } }
                        } }
                }
            }
            label.sr for=(other) { "In your own words" }
            input id=(other) type="text" name={ "other" (number) } maxlength="4000" autocomplete="off"
                  placeholder=[Some(if options.is_empty() { "your answer" } else { "or in your own words" })];
        }
    }
}

/// Questions and their answers.
fn asked(ask: &PermissionPromptView) -> Markup {
    let questions = ask.body["questions"].as_array().into_iter().flatten();
    html! {
        @for question in questions.take(MOST) {
            h3 { bdi { (elide(question["question"].as_str().unwrap_or_default(), 2_000)) } }
        }
    }
}

fn form_head(ask: &PermissionPromptView) -> Markup {
    let text = |key: &str| ask.body[key].as_str().unwrap_or_default();
    html! {
        h3 { code { bdi { (one_line(text("server"), 80)) } } " asks" }
        p { bdi { (elide(text("message"), 4_000)) } }
    }
}

/// Fields of a form that an MCP server requests.
fn schema_fields(ask: &PermissionPromptView) -> Markup {
    let schema = &ask.body["schema"];
    let properties = schema["properties"].as_object().into_iter().flatten();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    html! {
        @for (number, (name, property)) in properties.take(MOST).enumerate() {
            @let id = format!("field-{}-{number}", ask.id);
            @let kind = property["type"].as_str().unwrap_or("string");
            @let label = property["title"].as_str().unwrap_or(name);
            div.form-row {
                input type="hidden" name={ "name" (number) } value=(name);
                input type="hidden" name={ "kind" (number) } value=(kind);
                label for=(id) { bdi { (elide(label, 200)) } }
                @if let Some(words) = property["enum"].as_array() {
                    select id=(id) name={ "value" (number) } {
                        @for word in words.iter().filter_map(Value::as_str).take(MOST) { option { (word) } }
                    }
                } @else if kind == "boolean" {
                    select id=(id) name={ "value" (number) } { option { "true" } option { "false" } }
                } @else {
                    input id=(id) name={ "value" (number) } autocomplete="off"
                          type=(if ["number", "integer"].contains(&kind) { "number" } else { "text" })
                          step=[(kind == "number").then_some("any")]
                          required[required.contains(&name.as_str())];
                }
                @if let Some(about) = property["description"].as_str() {
                    p.hint { bdi { (elide(about, 600)) } }
                }
            }
        }
    }
}

/// Parses an answer. Returns what is missing.
pub(super) fn decision(form: &Params) -> Result<Decision, String> {
    let message = form.get("message").map(str::trim).filter(|why| !why.is_empty());
    match form.get("decision") {
        Some("allow") => Ok(Decision::Allow { allowance: PermissionScope::Once, input: None }),
        Some("always") => Ok(Decision::Allow { allowance: PermissionScope::Chat, input: None }),
        Some("deny") => Ok(Decision::Deny { message: message.map(str::to_owned), stops: false }),
        Some("answer") if form.pairs().any(|(name, _)| name == "text0") => answers(form),
        Some("answer") => filled(form),
        _ => Err("choose allow, deny or answer".to_owned()),
    }
}

fn answers(form: &Params) -> Result<Decision, String> {
    let mut answers = BTreeMap::new();
    for number in 0..MOST {
        let value =
            |name: &str| form.pairs().find(|(known, _)| known == &format!("{name}{number}"));
        let Some((_, question)) = value("text") else { break };
        let own = form.get(&format!("other{number}")).map(str::trim).filter(|own| !own.is_empty());
        let name = format!("q{number}");
        let chosen: Vec<&str> = form.all(&name).chain(own).collect();
        if chosen.is_empty() {
            return Err(format!("answer this too: {}", one_line(question, 200)));
        }
        answers.insert(question.to_owned(), chosen.join(", "));
    }
    Ok(Decision::Answers(answers))
}

fn filled(form: &Params) -> Result<Decision, String> {
    let mut content = Map::new();
    for number in 0..MOST {
        let field = |name: &str| form.get(&format!("{name}{number}"));
        let Some(name) = field("name") else { break };
        let Some(value) = field("value") else { continue };
        let is_typed = matches!(field("kind"), Some("boolean" | "number" | "integer"));
        let value = match is_typed {
            true => serde_json::from_str(value).map_err(|_| format!("{name}: a number"))?,
            false => Value::from(value),
        };
        content.insert(name.to_owned(), value);
    }
    let content = Json::parse(&Value::Object(content).to_string());
    content.map(Decision::Fills).ok_or_else(|| "the form is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides_in_a_command() {
        assert_eq!(
            escape_invisible("rm \u{202e}x\u{200b}\u{1b}[2K\n\ty"),
            "rm ⟨U+202E⟩x⟨U+200B⟩⟨U+001B⟩[2K\n\ty"
        );
        let input = serde_json::json!({"command": "ls", "description": "x", "timeout": 5});
        assert_eq!(exactly(&input), "ls\n{\"timeout\":5}");
    }

    #[test]
    fn answers_are_labels_or_words_of_ones_own() {
        let read = |form: &str| decision(&Params::read(form));
        let answers = |pairs: &[(&str, &str)]| {
            let own =
                pairs.iter().map(|(question, said)| ((*question).to_owned(), (*said).to_owned()));
            Ok(Decision::Answers(own.collect()))
        };
        let form = "decision=answer&text0=Which%3F&q0=A&q0=B&text1=Why%3F&other1=so";
        assert_eq!(read(form), answers(&[("Which?", "A, B"), ("Why?", "so")]));
        assert!(read("decision=answer&text0=Which%3F&other0=+").is_err());
        let no = Decision::Deny { message: Some("no".to_owned()), stops: false };
        assert_eq!(read("decision=deny&message=+no+"), Ok(no));
        assert!(read("decision=perhaps").is_err());
    }

    #[test]
    fn forms_are_filled_in_by_kind() {
        let form = "decision=answer&name0=n&kind0=integer&value0=3&name1=ok&kind1=boolean&value1=true&name2=s&kind2=string&value2=3";
        let content = Json::parse(r#"{"n":3,"ok":true,"s":"3"}"#).unwrap();
        assert_eq!(decision(&Params::read(form)), Ok(Decision::Fills(content)));
    }
}
