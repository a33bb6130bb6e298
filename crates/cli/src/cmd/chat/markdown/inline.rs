use crate::cmd::chat::style::Marks;

/// Maximum nesting of emphasis; deeper markers are shown verbatim.
const MAX_DEPTH: usize = 8;

/// A piece of text that is set off in one way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) text: String,
    /// How it is set off.
    pub(super) marks: Marks,
}

/// A part of a line, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inline {
    pub(super) spans: Vec<Span>,
    /// Whether something began in it that has not ended, so that what follows may change how it
    /// reads. Unclosed markers are shown verbatim.
    pub(super) is_open: bool,
}

/// Reads a part of a line, in time that grows with its length alone.
pub(super) fn read(source: &str, base: Marks) -> Inline {
    let mut reader = Reader { chars: source.chars().collect(), ..Reader::default() };
    while let Some(c) = reader.chars.get(reader.at).copied() {
        reader.take(c);
    }
    let is_open = reader.is_open || !reader.openers.is_empty();
    let spans = reader.spans.into_iter().filter(|span| !span.text.is_empty());
    let spans = spans.map(|span| Span { marks: span.marks.and(base), ..span }).collect();
    Inline { spans, is_open }
}

#[derive(Clone, Copy, Debug)]
struct Opener {
    marker: char,
    length: usize,
    span: usize,
}

#[derive(Debug, Default)]
struct Reader {
    chars: Vec<char>,
    at: usize,
    spans: Vec<Span>,
    openers: Vec<Opener>,
    is_open: bool,
    /// Lengths of runs of backticks that nothing closes.
    lonely_ticks: Vec<usize>,
    has_lonely_bracket: bool,
}

impl Reader {
    fn take(&mut self, c: char) {
        match c {
            '\\' if self.char_at(1).is_some_and(|next| next.is_ascii_punctuation()) => {
                self.literal(&self.slice(self.at + 1, self.at + 2));
                self.at += 2;
            }
            '`' => self.code(),
            '*' | '_' | '~' => self.emphasis(c),
            '[' => self.client(0),
            '!' if self.char_at(1) == Some('[') => self.client(1),
            '<' => self.address(),
            c => {
                self.literal(c.encode_utf8(&mut [0; 4]));
                self.at += 1;
            }
        }
    }

    fn char_at(&self, offset: usize) -> Option<char> {
        self.chars.get(self.at + offset).copied()
    }

    fn before(&self) -> Option<char> {
        self.at.checked_sub(1).and_then(|at| self.chars.get(at)).copied()
    }

    fn slice(&self, from: usize, to: usize) -> String {
        self.chars.get(from..to).unwrap_or_default().iter().collect()
    }

    fn run(&self, from: usize, c: char) -> usize {
        self.chars.iter().skip(from).take_while(|other| **other == c).count()
    }

    /// Adds words that mean nothing but themselves.
    fn literal(&mut self, text: &str) {
        let is_after_opener =
            self.openers.last().is_some_and(|opener| opener.span + 1 == self.spans.len());
        match self.spans.last_mut() {
            Some(last) if last.marks == Marks::NONE && !is_after_opener => last.text.push_str(text),
            _ => self.spans.push(Span { text: text.to_owned(), marks: Marks::NONE }),
        }
    }

    fn literal_run(&mut self, c: char, length: usize) {
        self.literal(&c.to_string().repeat(length));
        self.at += length;
    }

    fn code(&mut self) {
        let length = self.run(self.at, '`');
        let begin = self.at + length;
        let mut end = begin;
        let is_hopeless = self.lonely_ticks.contains(&length);
        while !is_hopeless && end < self.chars.len() {
            let run = self.run(end, '`');
            if run == length {
                let text = self.slice(begin, end);
                let inner = text.strip_prefix(' ').and_then(|text| text.strip_suffix(' '));
                let inner = inner.filter(|inner| !inner.trim().is_empty());
                let text = inner.unwrap_or(&text).to_owned();
                self.spans.push(Span { text, marks: Marks::CODE });
                self.at = end + length;
                return;
            }
            end += run.max(1);
        }
        if !is_hopeless {
            self.lonely_ticks.push(length);
        }
        self.is_open = true;
        self.literal_run('`', length);
    }

    fn emphasis(&mut self, c: char) {
        let length = self.run(self.at, c);
        let (before, after) = (self.before(), self.char_at(length));
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_space = |c: Option<char>| c.is_none_or(char::is_whitespace);
        let may_open = !is_space(after) && (c == '*' || !is_word(before));
        let may_close = !is_space(before) && (c == '*' || !is_word(after));
        let is_marker = if c == '~' { length == 2 } else { length <= 3 };
        if is_marker && may_close && self.close(c, length) {
            self.at += length;
            return;
        }
        if is_marker && may_open && self.openers.len() < MAX_DEPTH {
            self.openers.push(Opener { marker: c, length, span: self.spans.len() });
            self.spans.push(Span { text: c.to_string().repeat(length), marks: Marks::NONE });
            self.at += length;
            return;
        }
        self.literal_run(c, length);
    }

    /// Ends what such a marker began; `false` if none did.
    fn close(&mut self, c: char, length: usize) -> bool {
        let begins = |opener: &Opener| opener.marker == c && opener.length == length;
        if let Some(position) = self.openers.iter().rposition(begins) {
            self.end(position);
            return true;
        }
        // Three may end one and two.
        let [.., outer, inner] = self.openers.as_slice() else { return false };
        let is_pair = outer.marker == c && inner.marker == c && outer.length + inner.length == 3;
        if length != 3 || !is_pair {
            return false;
        }
        self.end(self.openers.len() - 1);
        self.end(self.openers.len() - 1);
        true
    }

    fn end(&mut self, position: usize) {
        let Some(opener) = self.openers.get(position).copied() else { return };
        // Later unclosed markers are shown verbatim.
        self.openers.truncate(position);
        let marks = match (opener.marker, opener.length) {
            ('~', _) => Marks::STRUCK,
            (_, 1) => Marks::ITALIC,
            (_, 2) => Marks::BOLD,
            _ => Marks::BOLD.and(Marks::ITALIC),
        };
        for span in self.spans.iter_mut().skip(opener.span + 1) {
            span.marks = span.marks.and(marks);
        }
        if let Some(marker) = self.spans.get_mut(opener.span) {
            marker.text.clear();
            // So that nothing is added to it any more.
            marker.marks = marks;
        }
    }

    /// A link or an image. Where it leads is always shown: words can lie about it.
    fn client(&mut self, bracket: usize) {
        let begin = self.at + bracket + 1;
        let rest = self.chars.iter().skip(begin);
        let end = rest.clone().position(|c| matches!(c, '[' | ']')).map(|length| begin + length);
        let literal = |reader: &mut Self| {
            reader.literal(&reader.slice(reader.at, begin));
            reader.at = begin;
        };
        let Some(end) = end.filter(|_| !self.has_lonely_bracket) else {
            self.has_lonely_bracket = true;
            self.is_open = true;
            return literal(self);
        };
        let is_link = self.chars.get(end) == Some(&']') && self.chars.get(end + 1) == Some(&'(');
        if !is_link {
            return literal(self);
        }
        let position = end + 2;
        let stop = |c: &char| *c == ')' || c.is_whitespace();
        let Some(length) = self.chars.iter().skip(position).position(stop) else {
            self.is_open = true;
            return literal(self);
        };
        if self.chars.get(position + length) != Some(&')') {
            return literal(self);
        }
        let (words, address) = (self.slice(begin, end), self.slice(position, position + length));
        self.spans.extend(read(&words, Marks::UNDERLINED).spans);
        if words != address && !address.is_empty() {
            self.spans.push(Span { text: format!(" ({address})"), marks: Marks::DIM });
        }
        self.at = position + length + 1;
    }

    /// An address in angle brackets.
    fn address(&mut self) {
        let rest = self.chars.iter().skip(self.at + 1);
        let length = rest.take_while(|c| !c.is_whitespace() && !matches!(c, '<' | '>')).count();
        let text = self.slice(self.at + 1, self.at + 1 + length);
        let is_whole = self.char_at(length + 1) == Some('>');
        let is_address = ["http://", "https://", "mailto:"].iter().any(|way| text.starts_with(way));
        if !is_whole || !is_address {
            return self.literal_run('<', 1);
        }
        self.spans.push(Span { text, marks: Marks::UNDERLINED });
        self.at += length + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spans as text: marked ones in brackets with a letter for each mark.
    fn shown(source: &str) -> String {
        let letters = [
            (Marks::BOLD, 'b'),
            (Marks::ITALIC, 'i'),
            (Marks::CODE, 'c'),
            (Marks::STRUCK, 's'),
            (Marks::UNDERLINED, 'u'),
            (Marks::DIM, 'd'),
        ];
        let read = read(source, Marks::NONE);
        let mut shown = String::new();
        for span in &read.spans {
            let held = letters.iter().filter(|(mark, _)| span.marks.and(*mark) == span.marks);
            let held: String = held.map(|(_, letter)| *letter).collect();
            match held.as_str() {
                "" => shown.push_str(&span.text),
                held => shown.push_str(&format!("{held}<{}>", span.text)),
            }
        }
        if read.is_open { shown + " …" } else { shown }
    }

    #[test]
    fn marks_are_read_as_they_are_meant() {
        let cases = [
            ("plain words", "plain words"),
            ("a **b** c", "a b<b> c"),
            ("*a* _b_ __c__ ***d*** ~~e~~", "i<a> i<b> b<c> bi<d> s<e>"),
            ("**a *b***", "b<a >bi<b>"),
            ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
            ("`a * b` and ``c ` d``", "c<a * b> and c<c ` d>"),
            ("**`rm -rf`**", "bc<rm -rf>"),
            ("\\*not\\* \\d", "*not* \\d"),
            ("[words](https://a.b/c) x", "u<words>d< (https://a.b/c)> x"),
            ("[https://a.b](https://a.b)", "u<https://a.b>"),
            ("![picture](a.png)", "u<picture>d< (a.png)>"),
            ("see <https://a.b>, a < b", "see u<https://a.b>, a < b"),
            ("[x] done, a[0] b", "[x] done, a[0] b"),
            ("[a](b c)", "[a](b c)"),
            ("~~~ ~ ****", "~~~ ~ ****"),
        ];
        for (source, expected) in cases {
            assert_eq!(shown(source), expected, "{source}");
        }
    }

    #[test]
    fn what_has_not_ended_is_known_to_be_open() {
        for (source, expected) in [
            ("a **b c ", "a **b c  …"),
            ("`a b ", "`a b  …"),
            ("[a b ", "[a b  …"),
            ("[a](b", "[a](b …"),
            ("*a **b* c", "i<a >i<**>i<b> c"),
        ] {
            assert_eq!(shown(source), expected, "{source}");
        }
    }
}
