//! Redaction of a JSON text, token by token. Everything else stays unchanged to the byte.

mod event;

use std::borrow::Cow;

use super::path::{Root, Trail};
use super::{DEFAULT_REPLACEMENT, LimitedRedactor, Redactor, RuleError};
use crate::payload::{Json, Payload};

/// The maximum depth; deeper values are replaced as a whole.
const MAX_DEPTH: usize = 200;

impl Redactor {
    /// Redacts a text as if it were in a field such as `input`: for testing rules.
    ///
    /// # Errors
    /// Fails if there is no such field.
    pub fn trial(&self, text: &str, field: &str) -> Result<String, RuleError> {
        let root = Root::parse(field).map_err(RuleError::Path)?;
        Ok(self.uncut().payload(Payload::Text(text.into()), root).as_str().to_owned())
    }
}

impl LimitedRedactor<'_> {
    /// Redacts an input or an output. A text that is a JSON document is treated as one.
    #[must_use]
    pub fn payload(&self, payload: Payload, root: Root) -> Payload {
        match payload {
            Payload::Json(json) => Payload::Json(self.json(json, root)),
            Payload::Text(text) => match Json::parse(&text).filter(|_| is_document(&text)) {
                Some(json) => {
                    let clean = self.json(json, root);
                    // After truncation it is no longer a JSON document.
                    let is_too_long = clean.as_str().len() > self.text_bytes;
                    let short = is_too_long.then(|| self.text(clean.as_str()));
                    Payload::Text(short.as_deref().unwrap_or(clean.as_str()).into())
                }
                None => Payload::Text(self.plain(&text, root).as_ref().into()),
            },
        }
    }

    /// Redacts the value of a key.
    pub(super) fn value(&self, json: Json, trail: &Trail<'_>) -> Json {
        let text = json.as_str();
        if text.len() <= self.text_bytes && self.rules.finds_nothing_in(text) {
            return json;
        }
        let mut rewriter = Rewriter {
            redactor: *self,
            rest: text,
            clean: String::with_capacity(text.len()),
            has_changed: false,
        };
        rewriter.value(trail, 0);
        if !rewriter.has_changed {
            return json;
        }
        // A valid document stays valid; if it ever did not, nothing of it would be stored.
        let rewritten = rewriter.clean;
        Json::parse(&rewritten).unwrap_or_else(|| quoted_json(DEFAULT_REPLACEMENT))
    }
}

fn is_document(text: &str) -> bool {
    matches!(text.trim_ascii_start().as_bytes().first(), Some(b'{' | b'[' | b'"'))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn quoted_json(text: &str) -> Json {
    Json::from_value(&serde_json::Value::from(text))
}

struct Rewriter<'a> {
    redactor: LimitedRedactor<'a>,
    rest: &'a str,
    clean: String,
    has_changed: bool,
}

impl<'a> Rewriter<'a> {
    /// Copies one value, redacted.
    fn value(&mut self, trail: &Trail<'_>, depth: usize) {
        self.space();
        if let Some(replacement) = trail.end() {
            return self.replace_value(replacement);
        }
        match self.rest.as_bytes().first() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => self.replace_value(DEFAULT_REPLACEMENT),
            Some(b'{') => self.object(trail, depth),
            Some(b'[') => self.list(trail, depth),
            Some(b'"') => {
                self.string();
            }
            Some(_) => self.scalar(),
            None => {}
        }
    }

    fn object(&mut self, trail: &Trail<'_>, depth: usize) {
        self.copy(1);
        loop {
            self.space();
            match self.rest.as_bytes().first() {
                Some(b'"') => {
                    let key = self.string();
                    self.space();
                    // The colon.
                    self.copy(1);
                    self.value(&trail.at_key(&key), depth + 1);
                }
                Some(b',') => self.copy(1),
                Some(b'}') => return self.copy(1),
                _ => return,
            }
        }
    }

    fn list(&mut self, trail: &Trail<'_>, depth: usize) {
        self.copy(1);
        let mut index = 0;
        loop {
            self.space();
            match self.rest.as_bytes().first() {
                Some(b',') => self.copy(1),
                Some(b']') => return self.copy(1),
                Some(_) => {
                    self.value(&trail.at_item(index), depth + 1);
                    index += 1;
                }
                None => return,
            }
        }
    }

    /// Copies a string, redacted, and returns its original text.
    fn string(&mut self) -> String {
        let literal = self.take(literal_len(self.rest));
        let text: String = serde_json::from_str(literal).unwrap_or_default();
        match self.redactor.text(&text) {
            Cow::Borrowed(_) => self.clean.push_str(literal),
            Cow::Owned(clean) => {
                self.has_changed = true;
                self.clean.push_str(&quoted(&clean));
            }
        }
        text
    }

    /// Copies a number or literal; a match becomes a string.
    fn scalar(&mut self) {
        let is_end = |c: char| c.is_ascii_whitespace() || matches!(c, ',' | ']' | '}');
        let scalar = self.take(self.rest.find(is_end).unwrap_or(self.rest.len()).max(1));
        match self.redactor.text(scalar) {
            Cow::Borrowed(_) => self.clean.push_str(scalar),
            Cow::Owned(clean) => {
                self.has_changed = true;
                self.clean.push_str(&quoted(&clean));
            }
        }
    }

    /// Skips a value and writes a replacement.
    fn replace_value(&mut self, replacement: &str) {
        self.take(value_len(self.rest));
        self.has_changed = true;
        self.clean.push_str(&quoted(replacement));
    }

    fn space(&mut self) {
        let len = self.rest.len() - self.rest.trim_ascii_start().len();
        self.copy(len);
    }

    fn copy(&mut self, len: usize) {
        let taken = self.take(len);
        self.clean.push_str(taken);
    }

    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(len).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }
}

/// Returns the length of the string at the start of a text, quotes included.
fn literal_len(from_quote: &str) -> usize {
    let mut is_escaped = false;
    for (index, byte) in from_quote.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    from_quote.len()
}

/// Returns the length of the value at the start of a text.
fn value_len(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at += literal_len(text.get(at..).unwrap_or_default()).saturating_sub(1),
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return at,
            byte if byte.is_ascii_whitespace() && depth == 0 => return at,
            _ => {}
        }
        at += 1;
        if depth == 0 && matches!(byte, b'"' | b'}' | b']') {
            return at;
        }
    }
    text.len()
}
