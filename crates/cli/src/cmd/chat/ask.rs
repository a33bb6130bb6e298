use ratchet_core::major::event::EventKind;
use serde_json::{Map, Value, json};

use super::heard::Heard;
use super::screen::{plain, plain_line};

/// Something that waits for a person.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ask {
    /// Which.
    pub(crate) id: String,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    /// May this be done?
    Permission { tool: String, input: Value, reason: String, rules: Vec<String> },
    /// Questions, of which so many are answered.
    Questions { questions: Vec<Question>, answers: Map<String, Value> },
    /// A form of a tool server.
    Form { server: String, message: String },
}

#[derive(Clone, Debug, PartialEq)]
struct Question {
    text: String,
    options: Vec<(String, String)>,
    takes_several: bool,
}

/// What a line that a person typed comes to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Typed {
    /// This goes to the server.
    Answer(Value),
    /// One more question.
    More,
    /// It makes no sense; that is why.
    Again(String),
}

impl Ask {
    /// Reads a question or a request for permission.
    pub(crate) fn read(event: &Heard) -> Option<Self> {
        let text = |key: &str| event.text(key).to_owned();
        let what = match event.kind? {
            EventKind::Permission => {
                let rules = event.body["rules"].as_array().into_iter().flatten();
                What::Permission {
                    tool: text("tool"),
                    input: event.body["input"].clone(),
                    reason: text("reason"),
                    rules: rules.filter_map(|rule| Some(rule.as_str()?.to_owned())).collect(),
                }
            }
            EventKind::Question => match event.body["questions"].as_array() {
                Some(questions) => What::Questions {
                    questions: questions.iter().map(Question::read).collect(),
                    answers: Map::new(),
                },
                None => What::Form { server: text("server"), message: text("message") },
            },
            _ => return None,
        };
        Some(Self { id: text("id"), what })
    }

    /// What the person is shown. Of a permission that is all that would be done, to the letter.
    pub(crate) fn menu(&self) -> String {
        match &self.what {
            What::Permission { tool, input, reason, rules } => {
                let mut menu = format!("The agent wants to use {}:\n", plain_line(tool));
                menu.push_str(&exactly(input));
                if !reason.is_empty() {
                    menu.push_str(&format!("because: {}\n", plain_line(reason)));
                }
                menu.push_str("  1. yes\n");
                if !rules.is_empty() {
                    let rules = plain_line(&rules.join(", "));
                    menu.push_str(&format!("  2. yes, and for this session always {rules}\n"));
                }
                menu.push_str("  n. no; words after it tell the agent why\n");
                menu
            }
            What::Questions { questions, answers } => match questions.get(answers.len()) {
                Some(question) => question.menu(),
                None => String::new(),
            },
            What::Form { server, message } => format!(
                "{} asks: {}\n  a JSON object with the answers, or n for no\n",
                plain_line(server),
                plain_line(message)
            ),
        }
    }

    /// Takes what the person typed.
    pub(crate) fn take(&mut self, typed: &str) -> Typed {
        let typed = typed.trim();
        let id = self.id.clone();
        match &mut self.what {
            What::Permission { rules, .. } => permit(&id, typed, !rules.is_empty()),
            What::Questions { questions, answers } => {
                let Some(question) = questions.get(answers.len()) else { return Typed::More };
                match question.answer(typed) {
                    Err(why) => return Typed::Again(why),
                    Ok(answer) => answers.insert(question.text.clone(), answer.into()),
                };
                match answers.len() >= questions.len() {
                    true => Typed::Answer(json!({"id": id, "answers": answers})),
                    false => Typed::More,
                }
            }
            What::Form { .. } => match serde_json::from_str::<Value>(typed) {
                Ok(content) if content.is_object() => {
                    Typed::Answer(json!({"id": id, "content": content}))
                }
                _ if is_no(typed) => Typed::Answer(json!({"id": id, "decision": "deny"})),
                _ => Typed::Again("a JSON object such as {\"name\": \"Ada\"}, or n".to_owned()),
            },
        }
    }

    /// The answer when nobody is there who could give one.
    pub(crate) fn nobody(&self) -> Value {
        let message = "Nobody is there to answer: this runs without a person.";
        json!({"id": self.id, "decision": "deny", "message": message})
    }
}

fn permit(id: &str, typed: &str, may_last: bool) -> Typed {
    let (first, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    match first.to_lowercase().as_str() {
        "1" | "y" | "yes" if rest.is_empty() => {
            Typed::Answer(json!({"id": id, "decision": "allow"}))
        }
        "2" | "a" | "always" if may_last && rest.is_empty() => {
            Typed::Answer(json!({"id": id, "decision": "allow", "always": true}))
        }
        "n" | "no" => {
            let mut answer = json!({"id": id, "decision": "deny"});
            if !rest.trim().is_empty() {
                answer["message"] = rest.trim().into();
            }
            Typed::Answer(answer)
        }
        _ if may_last => Typed::Again("1, 2 or n".to_owned()),
        _ => Typed::Again("1 or n".to_owned()),
    }
}

fn is_no(typed: &str) -> bool {
    matches!(typed.to_lowercase().as_str(), "n" | "no")
}

/// A tool's input, every word of it, line by line behind a margin.
fn exactly(input: &Value) -> String {
    let command = input["command"].as_str().filter(|_| input.as_object().is_some());
    let text = match command {
        Some(command) => {
            let mut rest = input.clone();
            let others = rest.as_object_mut().map(|rest| {
                rest.remove("command");
                rest.remove("description");
                rest.clone()
            });
            match others.filter(|others| !others.is_empty()) {
                Some(others) => format!("{command}\n{}", Value::Object(others)),
                None => command.to_owned(),
            }
        }
        None => serde_json::to_string_pretty(input).unwrap_or_default(),
    };
    plain(&text).lines().map(|line| format!("    {line}\n")).collect()
}

impl Question {
    fn read(question: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let options = question["options"].as_array().into_iter().flatten();
        Self {
            text: text(&question["question"]),
            options: options.map(|one| (text(&one["label"]), text(&one["description"]))).collect(),
            takes_several: question["multiSelect"] == true,
        }
    }

    fn menu(&self) -> String {
        let mut menu = format!("{}\n", plain_line(&self.text));
        for (number, (label, about)) in (1..).zip(&self.options) {
            let about = if about.is_empty() { String::new() } else { format!(": {about}") };
            menu.push_str(&format!("  {number}. {}\n", plain_line(&format!("{label}{about}"))));
        }
        menu.push_str(match self.takes_several {
            true => "  numbers with commas, or words of your own\n",
            false => "  a number, or words of your own\n",
        });
        menu
    }

    /// Labels by their numbers, or whatever else was typed.
    fn answer(&self, typed: &str) -> Result<String, String> {
        if typed.is_empty() {
            return Err("a number, or words of your own".to_owned());
        }
        let parts: Vec<&str> = match self.takes_several {
            true => typed.split(',').map(str::trim).collect(),
            false => vec![typed],
        };
        let numbers: Vec<usize> = parts.iter().filter_map(|part| part.parse().ok()).collect();
        if numbers.len() < parts.len() || self.options.is_empty() {
            return Ok(typed.to_owned());
        }
        let label = |number: &usize| {
            let option = number.checked_sub(1).and_then(|place| self.options.get(place));
            option.map(|(label, _)| label.as_str())
        };
        let labels: Option<Vec<&str>> = numbers.iter().map(label).collect();
        let wanted = || format!("a number from 1 to {}", self.options.len());
        labels.map(|labels| labels.join(", ")).ok_or_else(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(kind: EventKind, body: Value) -> Ask {
        Ask::read(&Heard { seq: 1, kind: Some(kind), body, line: String::new() }).unwrap()
    }

    fn permission(rules: &[&str]) -> Ask {
        let input = json!({"command": "rm -rf build\necho \u{1b}[2K\u{202e}done", "timeout": 5});
        let body = json!({"id": "a1", "tool": "Bash", "input": input, "rules": rules});
        ask(EventKind::Permission, body)
    }

    #[test]
    fn a_permission_shows_every_word_of_the_command() {
        insta::assert_snapshot!(permission(&["Bash(rm *)"]).menu(), @r#"
        The agent wants to use Bash:
            rm -rf build
            echo �[2K�done
            {"timeout":5}
          1. yes
          2. yes, and for this session always Bash(rm *)
          n. no; words after it tell the agent why
        "#);
    }

    #[track_caller]
    fn check(ask: &mut Ask, typed: &str, expected: &Typed) {
        assert_eq!(&ask.take(typed), expected, "{typed}");
    }

    #[test]
    fn permissions_are_given_or_not() {
        let answer = |more: Value| {
            let mut answer = json!({"id": "a1"});
            answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            Typed::Answer(answer)
        };
        let mut lasting = permission(&["Bash"]);
        check(&mut lasting, " 1\n", &answer(json!({"decision": "allow"})));
        check(&mut lasting, "2", &answer(json!({"decision": "allow", "always": true})));
        check(&mut lasting, "no", &answer(json!({"decision": "deny"})));
        let why = json!({"decision": "deny", "message": "use make clean"});
        check(&mut lasting, "n use make clean", &answer(why));
        check(&mut lasting, "yes please", &Typed::Again("1, 2 or n".to_owned()));
        check(&mut permission(&[]), "2", &Typed::Again("1 or n".to_owned()));
        check(&mut permission(&[]), "", &Typed::Again("1 or n".to_owned()));
    }

    #[test]
    fn questions_are_asked_one_after_the_other() {
        let options = json!([{"label": "Red", "description": "warm"}, {"label": "Blue"}]);
        let body = json!({"id": "q", "questions": [
            {"question": "Which colour?", "options": options},
            {"question": "Which sides?", "options": options, "multiSelect": true},
            {"question": "Why?", "options": []}]});
        let mut ask = ask(EventKind::Question, body);
        insta::assert_snapshot!(ask.menu(), @r"
        Which colour?
          1. Red: warm
          2. Blue
          a number, or words of your own
        ");
        check(&mut ask, "3", &Typed::Again("a number from 1 to 2".to_owned()));
        check(&mut ask, "2", &Typed::More);
        assert!(ask.menu().starts_with("Which sides?"));
        check(&mut ask, "1, 2", &Typed::More);
        let answers = json!({"Which colour?": "Blue", "Which sides?": "Red, Blue", "Why?": "3"});
        check(&mut ask, "3", &Typed::Answer(json!({"id": "q", "answers": answers})));
    }

    #[test]
    fn forms_take_json_or_no() {
        let mut ask =
            ask(EventKind::Question, json!({"id": "f", "server": "calc", "message": "?"}));
        check(&mut ask, "{\"a\":1}", &Typed::Answer(json!({"id": "f", "content": {"a": 1}})));
        check(&mut ask, "n", &Typed::Answer(json!({"id": "f", "decision": "deny"})));
        assert!(matches!(ask.take("yes"), Typed::Again(_)));
    }
}
