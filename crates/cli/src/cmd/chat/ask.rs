use ratchet_core::chat::event::EventKind;
use serde_json::{Map, Value, json};

use super::events::ReceivedEvent;
use super::sanitize::{plain, plain_line};
use super::style::Marks;
use super::tool_preview::exactly;

/// A prompt for a person.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ask {
    pub(crate) id: String,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    Permission {
        tool: String,
        input: Value,
        reason: String,
        rules: Vec<String>,
    },
    /// Questions, and the number of answered ones.
    Questions {
        questions: Vec<Question>,
        answers: Map<String, Value>,
    },
    /// A form of an MCP server.
    Form {
        server: String,
        message: String,
        schema: Value,
    },
}

#[derive(Clone, Debug, PartialEq)]
struct Question {
    text: String,
    options: Vec<(String, String)>,
    takes_several: bool,
}

/// Choices of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choices {
    /// Labels and descriptions.
    pub(crate) options: Vec<(String, String)>,
    /// Whether several can be chosen.
    pub(crate) takes_several: bool,
    /// Label of free text.
    pub(crate) words: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    Options(Vec<usize>),
    Words(String),
}

/// Result of a choice.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Typed {
    /// Sent to the server.
    Answer(Value),
    /// The next question follows.
    More,
    /// Invalid; the reason.
    Again(String),
}

impl Ask {
    /// Parses a question or a permission prompt.
    pub(crate) fn read(event: &ReceivedEvent) -> Option<Self> {
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
                None => What::Form {
                    server: text("server"),
                    message: text("message"),
                    schema: event.body["schema"].clone(),
                },
            },
            _ => return None,
        };
        Some(Self { id: text("id"), what })
    }

    /// Text above the choices. Of a permission prompt it is the exact input.
    pub(crate) fn about(&self) -> Vec<(String, Marks)> {
        let head = Marks::BOLD.and(Marks::YELLOW);
        match &self.what {
            What::Permission { tool, input, reason, .. } => {
                let mut about =
                    vec![(format!("The agent wants to use {}:", plain_line(tool)), head)];
                about.extend(exactly(input));
                if !reason.is_empty() {
                    about.push((format!("because: {}", plain_line(reason)), Marks::DIM));
                }
                about
            }
            What::Questions { questions, answers } => {
                let question = questions.get(answers.len());
                let lines = question.map(|question| plain(&question.text)).unwrap_or_default();
                lines.lines().map(|line| (line.to_owned(), head)).collect()
            }
            What::Form { server, message, schema } => {
                let asks = format!("{} asks: {}", plain_line(server), plain_line(message));
                let mut about = vec![(asks, head)];
                let fields = schema["properties"].as_object().into_iter().flatten();
                about.extend(fields.map(|(name, field)| {
                    let description = [&field["title"], &field["type"], &field["description"]];
                    let description: Vec<&str> =
                        description.into_iter().filter_map(Value::as_str).collect();
                    let description = plain_line(&format!("  {name}: {}", description.join(", ")));
                    (description, Marks::NONE)
                }));
                about
            }
        }
    }

    pub(crate) fn choices(&self) -> Choices {
        let option = |text: &str| (text.to_owned(), String::new());
        match &self.what {
            What::Permission { rules, .. } => {
                let mut options = vec![option("yes")];
                if !rules.is_empty() {
                    let rules = plain_line(&rules.join(", "));
                    options.push(option(&format!("yes, and for this chat always {rules}")));
                }
                Choices { options, takes_several: false, words: "no, because" }
            }
            What::Questions { questions, answers } => {
                let question = questions.get(answers.len());
                let safe =
                    |(label, about): &(String, String)| (plain_line(label), plain_line(about));
                let options =
                    question.iter().flat_map(|question| question.options.iter().map(safe));
                let takes_several = question.is_some_and(|question| question.takes_several);
                Choices { options: options.collect(), takes_several, words: "something else" }
            }
            What::Form { .. } => Choices {
                options: vec![option("no")],
                takes_several: false,
                words: "a JSON object with the answers",
            },
        }
    }

    /// The choices as text, for line mode.
    pub(crate) fn hint(&self) -> String {
        let choices = self.choices();
        let mut hint = String::new();
        let is_form = matches!(self.what, What::Form { .. });
        for (number, (label, about)) in (1..).zip(choices.options.iter().filter(|_| !is_form)) {
            let about = if about.is_empty() { String::new() } else { format!(": {about}") };
            hint.push_str(&format!("  {number}. {label}{about}\n"));
        }
        hint.push_str(match (&self.what, choices.takes_several) {
            (What::Permission { .. }, _) => "  n. no; words after it tell the agent why\n",
            (What::Questions { .. }, true) => "  numbers with commas, or words of your own\n",
            (What::Questions { .. }, false) => "  a number, or words of your own\n",
            (What::Form { .. }, _) => "  a JSON object with the answers, or n for no\n",
        });
        hint
    }

    /// The tool and a short input; for permission prompts.
    pub(crate) fn tool(&self) -> Option<(&str, String)> {
        match &self.what {
            What::Permission { tool, input, .. } => Some((tool, super::tools::argument(input))),
            What::Questions { .. } | What::Form { .. } => None,
        }
    }

    /// Handles a choice.
    pub(crate) fn choose(&mut self, chosen: &Chosen) -> Typed {
        let id = self.id.clone();
        match &mut self.what {
            What::Permission { .. } => Typed::Answer(match chosen {
                Chosen::Options(indexes) if indexes.as_slice() == [1] => {
                    json!({"id": id, "decision": "allow", "always": true})
                }
                Chosen::Options(_) => json!({"id": id, "decision": "allow"}),
                Chosen::Words(why) if why.trim().is_empty() => {
                    json!({"id": id, "decision": "deny"})
                }
                Chosen::Words(why) => json!({"id": id, "decision": "deny", "message": why.trim()}),
            }),
            What::Questions { questions, answers } => {
                let Some(question) = questions.get(answers.len()) else { return Typed::More };
                match question.answer(chosen) {
                    Err(why) => return Typed::Again(why),
                    Ok(answer) => answers.insert(question.text.clone(), answer.into()),
                };
                match answers.len() >= questions.len() {
                    true => Typed::Answer(json!({"id": id, "answers": answers})),
                    false => Typed::More,
                }
            }
            What::Form { .. } => match chosen {
                Chosen::Options(_) => Typed::Answer(json!({"id": id, "decision": "deny"})),
                Chosen::Words(words) => match serde_json::from_str::<Value>(words) {
                    Ok(content) if content.is_object() => {
                        Typed::Answer(json!({"id": id, "content": content}))
                    }
                    _ => {
                        Typed::Again("a JSON object such as {\"name\": \"Ada\"}, or no".to_owned())
                    }
                },
            },
        }
    }

    /// Handles a typed line.
    pub(crate) fn take(&mut self, typed: &str) -> Typed {
        let typed = typed.trim();
        let choices = self.choices();
        let (first, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        let first = first.to_lowercase();
        let chosen = match &self.what {
            What::Permission { .. } => match (first.as_str(), choices.options.len()) {
                ("1" | "y" | "yes", _) if rest.is_empty() => Chosen::Options(vec![0]),
                ("2" | "a" | "always", 2) if rest.is_empty() => Chosen::Options(vec![1]),
                ("n" | "no", _) => Chosen::Words(rest.to_owned()),
                (_, 2) => return Typed::Again("1, 2 or n".to_owned()),
                _ => return Typed::Again("1 or n".to_owned()),
            },
            What::Form { .. } if matches!(first.as_str(), "n" | "no") => Chosen::Options(vec![0]),
            What::Form { .. } => Chosen::Words(typed.to_owned()),
            What::Questions { .. } => match numbers(typed, &choices) {
                Ok(chosen) => chosen,
                Err(why) => return Typed::Again(why),
            },
        };
        self.choose(&chosen)
    }

    /// The answer when no person is available.
    pub(crate) fn unanswered(&self) -> Value {
        let message = "No person is there to answer: the command is not interactive.";
        json!({"id": self.id, "decision": "deny", "message": message})
    }
}

/// Parses numbers of choices, or free text.
fn numbers(typed: &str, choices: &Choices) -> Result<Chosen, String> {
    let parts: Vec<&str> = match choices.takes_several {
        true => typed.split(',').map(str::trim).collect(),
        false => vec![typed],
    };
    let numbers: Vec<usize> = parts.iter().filter_map(|part| part.parse().ok()).collect();
    if numbers.len() < parts.len() || choices.options.is_empty() {
        return Ok(Chosen::Words(typed.to_owned()));
    }
    let most = choices.options.len();
    let index = |number: &usize| number.checked_sub(1).filter(|index| *index < most);
    let indexes: Option<Vec<usize>> = numbers.iter().map(index).collect();
    indexes.map(Chosen::Options).ok_or_else(|| format!("a number from 1 to {most}"))
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

    fn answer(&self, chosen: &Chosen) -> Result<String, String> {
        let wanted = || "a number, or words of your own".to_owned();
        match chosen {
            Chosen::Words(words) if words.trim().is_empty() => Err(wanted()),
            Chosen::Words(words) => Ok(words.trim().to_owned()),
            Chosen::Options(indexes) => {
                let label =
                    |index: &usize| self.options.get(*index).map(|(label, _)| label.as_str());
                let labels: Option<Vec<&str>> = indexes.iter().map(label).collect();
                let labels = labels.filter(|labels| !labels.is_empty());
                labels.map(|labels| labels.join(", ")).ok_or_else(wanted)
            }
        }
    }
}

#[cfg(test)]
mod tests;
