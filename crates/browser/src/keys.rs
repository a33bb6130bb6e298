use serde_json::{Value, json};

/// The keys that are named, with the code and the number that pages look at, and what they write.
const NAMED: [(&str, u32, &str); 13] = [
    ("Enter", 13, "\r"),
    ("Tab", 9, ""),
    ("Escape", 27, ""),
    ("Backspace", 8, ""),
    ("Delete", 46, ""),
    ("ArrowLeft", 37, ""),
    ("ArrowUp", 38, ""),
    ("ArrowRight", 39, ""),
    ("ArrowDown", 40, ""),
    ("Home", 36, ""),
    ("End", 35, ""),
    ("PageUp", 33, ""),
    ("PageDown", 34, ""),
];

/// A key and what is held down with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stroke {
    key: String,
    code: String,
    number: u32,
    writes: String,
    held: u8,
}

impl Stroke {
    /// Reads `Control+Shift+k`.
    #[track_caller]
    pub(crate) fn parse(text: &str) -> Self {
        let (held, key) = match text.rsplit_once('+') {
            Some((held, key)) if !key.is_empty() => (held, key),
            _ => ("", text),
        };
        let mut stroke = Self::key(key);
        for name in held.split('+').filter(|name| !name.is_empty()) {
            stroke.held |= match name {
                "Alt" => 1,
                "Control" => 2,
                "Meta" => 4,
                "Shift" => 8,
                _ => panic!("{name} is no key to hold down: Alt, Control, Meta or Shift"),
            };
        }
        if stroke.held & 7 != 0 {
            // A command writes nothing.
            stroke.writes.clear();
        }
        stroke
    }

    /// The stroke that writes a character.
    #[track_caller]
    pub(crate) fn of(character: char) -> Self {
        if character == '\n' {
            return Self::key("Enter");
        }
        let writes = character.to_string();
        let upper = character.to_ascii_uppercase();
        let (code, number) = match character {
            'a'..='z' | 'A'..='Z' => (format!("Key{upper}"), u32::from(upper)),
            '0'..='9' => (format!("Digit{character}"), u32::from(character)),
            ' ' => ("Space".to_owned(), 32),
            _ => (String::new(), 0),
        };
        let held = if character.is_ascii_uppercase() { 8 } else { 0 };
        Self { key: writes.clone(), code, number, writes, held }
    }

    #[track_caller]
    fn key(name: &str) -> Self {
        if let Some((name, number, writes)) = NAMED.into_iter().find(|named| named.0 == name) {
            let (key, code, writes) = (name.to_owned(), name.to_owned(), writes.to_owned());
            return Self { key, code, number, writes, held: 0 };
        }
        let mut characters = name.chars();
        match (characters.next(), characters.next()) {
            (Some(character), None) => Self::of(character),
            _ if name == "Space" => Self::of(' '),
            _ => panic!("{name} is no key: write one character, or a name as pages see it"),
        }
    }

    pub(crate) fn events(&self) -> [Value; 2] {
        let down = if self.writes.is_empty() { "rawKeyDown" } else { "keyDown" };
        [down, "keyUp"].map(|kind| {
            let mut event = json!({
                "type": kind,
                "key": self.key,
                "code": self.code,
                "windowsVirtualKeyCode": self.number,
                "modifiers": self.held,
            });
            if kind == "keyDown" {
                event["text"] = self.writes.as_str().into();
            }
            event
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, key: &str, held: u8, writes: &str) {
        let stroke = Stroke::parse(text);
        assert_eq!((stroke.key.as_str(), stroke.held, stroke.writes.as_str()), (key, held, writes));
    }

    #[test]
    fn keys_have_names() {
        check("j", "j", 0, "j");
        check("G", "G", 8, "G");
        check("?", "?", 0, "?");
        check("+", "+", 0, "+");
        check("Space", " ", 0, " ");
        check("Enter", "Enter", 0, "\r");
        check("Shift+Tab", "Tab", 8, "");
        check("Control+k", "k", 2, "");
        check("Control+Shift+ArrowUp", "ArrowUp", 10, "");
    }

    #[test]
    #[should_panic(expected = "Return is no key")]
    fn others_do_not_exist() {
        Stroke::parse("Return");
    }
}
