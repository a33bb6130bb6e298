use std::iter::Peekable;
use std::ops::Range;
use std::str::CharIndices;

/// A piece of the text between spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where it stands, in bytes.
    pub(super) span: Range<usize>,
    /// Whether a `-` stands before it.
    pub(super) negated: bool,
    pub(super) form: TermSyntax,
}

/// What a piece looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TermSyntax {
    /// `"free text"`, or words that stand side by side.
    Text(String),
    /// `name:value,value`
    FieldTerm(FieldTerm),
    /// It cannot be read, and why.
    Broken(String),
}

/// A name, how it compares, and to what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldTerm {
    pub(super) name: String,
    /// The name in quotation marks behind `score.`
    pub(super) quoted_key: Option<String>,
    pub(super) sign: &'static str,
    pub(super) items: Vec<Item>,
}

/// A value, with a star before or behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) star_before: bool,
    pub(super) text: String,
    pub(super) is_quoted: bool,
    pub(super) star_behind: bool,
}

const UNCLOSED: &str = "the closing quote is missing";

/// Cuts a text into its pieces.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut reader =
        Reader { length: text.len(), chars: text.char_indices().peekable(), was_bare: false };
    let mut pieces: Vec<Piece> = Vec::new();
    while let Some((piece, is_bare)) = reader.piece() {
        // Bare words side by side are one text.
        if let Some(Piece { span, negated: false, form: TermSyntax::Text(before) }) =
            pieces.last_mut()
            && reader.was_bare
            && is_bare
            && let TermSyntax::Text(word) = &piece.form
            && !piece.negated
        {
            before.push(' ');
            before.push_str(word);
            span.end = piece.span.end;
            continue;
        }
        reader.was_bare = is_bare && !piece.negated;
        pieces.push(piece);
    }
    pieces
}

struct Reader<'a> {
    length: usize,
    chars: Peekable<CharIndices<'a>>,
    was_bare: bool,
}

fn is_sign(c: char) -> bool {
    matches!(c, ':' | '=' | '<' | '>')
}

impl Reader<'_> {
    fn at(&mut self) -> usize {
        self.chars.peek().map_or(self.length, |(at, _)| *at)
    }

    fn peek(&mut self) -> Option<char> {
        self.chars.peek().map(|(_, c)| *c)
    }

    /// Takes the next character if it is this one.
    fn take(&mut self, wanted: char) -> bool {
        self.chars.next_if(|(_, c)| *c == wanted).is_some()
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some((_, c)) = self.chars.next_if(|(_, c)| fits(*c)) {
            taken.push(c);
        }
        taken
    }

    /// The next piece, and whether it is a bare word.
    fn piece(&mut self) -> Option<(Piece, bool)> {
        self.take_while(char::is_whitespace);
        let start = self.at();
        self.peek()?;
        let mut negated = self.take('-');
        let is_lone = negated && self.peek().is_none_or(char::is_whitespace);
        let (form, is_bare) = match self.peek() {
            _ if is_lone => {
                negated = false;
                (TermSyntax::Text("-".to_owned()), true)
            }
            Some('"') => (self.quoted().map_or_else(TermSyntax::Broken, TermSyntax::Text), false),
            _ => self.word(),
        };
        Some((Piece { span: start..self.at(), negated, form }, is_bare))
    }

    /// A bare word, or a name with a sign and values behind it.
    fn word(&mut self) -> (TermSyntax, bool) {
        let is_of_name = |c: char| !c.is_whitespace() && !is_sign(c) && c != '"';
        let name = self.take_while(is_of_name);
        let mut quoted_key = None;
        if name == "score." && self.peek() == Some('"') {
            match self.quoted() {
                Ok(key) => quoted_key = Some(key),
                Err(why) => return (TermSyntax::Broken(why), false),
            }
        }
        let is_asked = !name.is_empty() && self.peek().is_some_and(is_sign);
        if !is_asked && quoted_key.is_none() {
            let rest = self.take_while(|c| !c.is_whitespace());
            return (TermSyntax::Text(name + &rest), true);
        }
        let asked = self.sign().and_then(|sign| {
            let items = self.items()?;
            Ok(FieldTerm { name, quoted_key, sign, items })
        });
        (asked.map_or_else(TermSyntax::Broken, TermSyntax::FieldTerm), false)
    }

    /// `:` may stand before the others, as in `cost:>1`.
    fn sign(&mut self) -> Result<&'static str, String> {
        let colon = self.take(':');
        let sign = if self.take('>') {
            if self.take('=') { ">=" } else { ">" }
        } else if self.take('<') {
            if self.take('=') { "<=" } else { "<" }
        } else if self.take('=') || colon {
            "="
        } else {
            return Err("an operator is missing: use :, =, <, <=, > or >=".to_owned());
        };
        Ok(sign)
    }

    fn items(&mut self) -> Result<Vec<Item>, String> {
        let mut items = vec![self.item()?];
        while self.take(',') {
            items.push(self.item()?);
        }
        match self.peek() {
            Some(c) if !c.is_whitespace() => {
                self.take_while(|c| !c.is_whitespace());
                Err("a space is missing after the closing quote".to_owned())
            }
            _ => Ok(items),
        }
    }

    fn item(&mut self) -> Result<Item, String> {
        let star_before = self.take('*');
        if self.peek() == Some('"') {
            let text = self.quoted()?;
            return Ok(Item { star_before, text, is_quoted: true, star_behind: self.take('*') });
        }
        let mut text = self.take_while(|c| !c.is_whitespace() && c != ',');
        let star_behind = text.ends_with('*');
        if star_behind {
            text.pop();
        }
        Ok(Item { star_before, text, is_quoted: false, star_behind })
    }

    /// A text in quotation marks; `\` stands before one that belongs to it.
    fn quoted(&mut self) -> Result<String, String> {
        self.chars.next();
        let mut text = String::new();
        while let Some((_, c)) = self.chars.next() {
            match c {
                '"' => return Ok(text),
                '\\' => text.extend(self.chars.next().map(|(_, c)| c)),
                _ => text.push(c),
            }
        }
        Err(UNCLOSED.to_owned())
    }
}
