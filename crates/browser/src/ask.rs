//! What a page is asked to tell of itself, in its own language.

use std::time::Instant;

use serde_json::{Value, json};

use crate::TIMEOUT;
use crate::page::Page;
use crate::wire::Reply;

/// The functions, as an object without a name: the page keeps nothing of them.
const FUNCTIONS: &str = include_str!("ask.js");

/// What the browser says when a page is left while it is asked.
const LEFT: [&str; 4] = [
    "context was destroyed",
    "navigated or closed",
    "Cannot find context",
    "Promise was collected",
];

/// Whether a question failed because the page was left meanwhile.
pub(crate) fn is_left(error: &str) -> bool {
    LEFT.iter().any(|left| error.contains(left))
}

impl Page {
    /// Calls one of the functions, again if the page is left meanwhile.
    #[track_caller]
    pub(crate) fn tell(&self, function: &str, arguments: &[Value]) -> Value {
        let began = Instant::now();
        loop {
            match self.evaluate(function, arguments) {
                Ok(value) => return value,
                Err(error) if is_left(&error) && began.elapsed() < TIMEOUT => self.settle(),
                Err(error) => panic!("{function}({arguments:?}): {error}"),
            }
        }
    }

    /// Waits until an expression is true, again if the page is left meanwhile.
    #[track_caller]
    pub(crate) fn wait_until_true(&self, expression: &str) {
        let what = Value::from(expression);
        let ask = format!("({FUNCTIONS}).until({what}, () => Boolean({expression}))");
        let began = Instant::now();
        loop {
            match self.run(&ask) {
                Ok(_) => return,
                Err(error) if is_left(&error) && began.elapsed() < TIMEOUT => self.settle(),
                Err(error) => panic!("{expression}: {error}"),
            }
        }
    }

    /// Calls one of the functions.
    pub(crate) fn evaluate(&self, function: &str, arguments: &[Value]) -> Reply {
        let arguments: Vec<String> = arguments.iter().map(Value::to_string).collect();
        self.run(&format!("({FUNCTIONS}).{function}({})", arguments.join(", ")))
    }

    /// What an expression gives, awaited.
    pub(crate) fn run(&self, expression: &str) -> Reply {
        let how = json!({
            "expression": expression,
            "awaitPromise": true,
            "returnByValue": true,
            "userGesture": true,
        });
        let mut answer = self.ask("Runtime.evaluate", &how)?;
        match answer.get("exceptionDetails") {
            Some(thrown) => {
                let words = thrown["exception"]["description"].as_str();
                Err(words.or(thrown["text"].as_str()).unwrap_or("it throws").to_owned())
            }
            None => Ok(answer["result"]["value"].take()),
        }
    }
}
