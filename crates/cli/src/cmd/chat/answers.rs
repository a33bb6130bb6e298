use std::collections::{HashMap, HashSet};

use ratchet_core::chat::event::EventKind;

use super::events::ReceivedEvent;
use super::sanitize::plain_line;
use super::style::Marks;
use super::tools::argument;

/// Prompts and their answers.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    asked: HashMap<String, String>,
    /// Answers that were sent from here.
    ours: HashSet<String>,
}

impl Answers {
    /// Adds a prompt.
    pub(crate) fn asked(&mut self, event: &ReceivedEvent) {
        let about = match event.kind {
            Some(EventKind::Permission) => {
                format!("{} {}", event.text("tool"), argument(&event.body["input"]))
            }
            _ => match event.body["questions"].as_array().map(Vec::as_slice) {
                Some([only]) => only["question"].as_str().unwrap_or_default().to_owned(),
                Some(several) => format!("{} questions", several.len()),
                None => event.text("message").to_owned(),
            },
        };
        self.asked.insert(event.text("id").to_owned(), plain_line(about.trim()));
    }

    /// Notes that a prompt is answered from here.
    pub(crate) fn is_ours(&mut self, id: &str) {
        self.ours.insert(id.to_owned());
    }

    /// Lines for an answer.
    pub(crate) fn take(&mut self, event: &ReceivedEvent) -> Vec<(String, Marks)> {
        let id = event.text("id");
        let about = self.asked.remove(id).unwrap_or_default();
        let by = event.text("by");
        let by = match self.ours.remove(id) || by.is_empty() {
            true => String::new(),
            false => format!(" (by {})", plain_line(by)),
        };
        let line = |sign: &str, words: &str, marks: Marks| {
            vec![(format!("{sign} {words} {about}{by}").replace("  ", " "), marks)]
        };
        match event.text("decision") {
            "allow" if event.body["always"] == true => {
                line("✓", "allowed for this chat:", Marks::DIM)
            }
            "allow" => line("✓", "allowed:", Marks::DIM),
            "deny" => {
                let why = plain_line(event.text("message"));
                let why = if why.is_empty() { why } else { format!(" — {why}") };
                vec![(format!("✗ denied: {about}{by}{why}"), Marks::DIM)]
            }
            "timeout" => line("·", "not answered in time:", Marks::DIM),
            "withdrawn" => line("·", "not asked any more:", Marks::DIM),
            _ => answered(event, &about, &by),
        }
    }
}

fn answered(event: &ReceivedEvent, about: &str, by: &str) -> Vec<(String, Marks)> {
    let answers = event.body["answers"].as_object().into_iter().flatten();
    let lines: Vec<(String, Marks)> = answers
        .map(|(question, answer)| {
            let answer = plain_line(answer.as_str().unwrap_or_default());
            (format!("✓ {} {answer}{by}", plain_line(question)), Marks::DIM)
        })
        .collect();
    if lines.is_empty() {
        let words = plain_line(event.text("response"));
        return vec![(format!("✓ {about} {words}{by}").replace("  ", " "), Marks::DIM)];
    }
    lines
}
