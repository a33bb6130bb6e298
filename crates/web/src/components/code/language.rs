/// Lexical rules of a language.
#[derive(Debug)]
pub(super) struct Language {
    names: &'static str,
    /// What begins a comment that ends with its line.
    pub(super) line_comments: &'static [&'static str],
    /// What begins and ends any other comment.
    pub(super) block_comment: Option<(&'static str, &'static str)>,
    pub(super) quotes: &'static [char],
    keywords: &'static str,
}

impl Language {
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.names.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Whether a word belongs to the language itself. Only SQL shouts and whispers alike.
    pub(super) fn has_keyword(&self, word: &str) -> bool {
        let is_sql = self.names.starts_with("sql");
        let mut keywords = self.keywords.split_ascii_whitespace();
        keywords.any(|known| known == word || (is_sql && known.eq_ignore_ascii_case(word)))
    }
}

const C_LIKE: Language = Language {
    names: "c cpp c++ h hpp cs csharp java kotlin kt swift php scala dart",
    line_comments: &["//"],
    block_comment: Some(("/*", "*/")),
    quotes: &['"', '\''],
    keywords: "abstract auto bool boolean break case catch char class const continue default do \
               double else enum extends false final float for fun func if implements import int \
               interface let long namespace new null nullptr override package private protected \
               public return static struct super switch template this throw throws true try \
               typedef using val var virtual void while",
};

const SCRIPT: Language = Language {
    names: "sh bash shell zsh console",
    line_comments: &["#"],
    block_comment: None,
    quotes: &['"', '\''],
    keywords: "case do done echo elif else esac exit export fi for function if in local return \
               set then while",
};

/// Known languages: the commonest in conversations.
pub(super) const LANGUAGES: [Language; 11] = [
    C_LIKE,
    SCRIPT,
    Language {
        names: "rust rs",
        quotes: &['"'],
        keywords: "as async await break const continue crate dyn else enum false fn for if impl \
                   in let loop match mod move mut pub ref return self Self static struct super \
                   trait true type unsafe use where while",
        ..C_LIKE
    },
    Language {
        names: "js javascript ts typescript jsx tsx mjs",
        quotes: &['"', '\'', '`'],
        keywords: "async await break case catch class const continue default delete do else enum \
                   export extends false finally for from function if import in instanceof \
                   interface let new null of return static super switch this throw true try type \
                   typeof undefined var void while yield",
        ..C_LIKE
    },
    Language {
        names: "go golang",
        quotes: &['"', '\'', '`'],
        keywords: "break case chan const continue default defer else false for func go if import \
                   interface map nil package range return select struct switch true type var",
        ..C_LIKE
    },
    Language {
        names: "python py python3",
        keywords: "and as assert async await break class continue def del elif else except False \
                   finally for from global if import in is lambda None nonlocal not or pass raise \
                   return True try while with yield",
        ..SCRIPT
    },
    Language {
        names: "sql sqlite postgresql mysql",
        line_comments: &["--"],
        keywords: "alter and as asc between by case create delete desc distinct drop else end \
                   exists from group having in insert into is join left like limit not null on or \
                   order outer over partition primary select set table then union update values \
                   when where with",
        ..C_LIKE
    },
    Language {
        names: "json jsonc jsonl",
        block_comment: None,
        quotes: &['"'],
        keywords: "true false null",
        ..C_LIKE
    },
    Language {
        names: "yaml yml toml ini dockerfile makefile",
        keywords: "true false null yes no FROM RUN COPY ENV CMD",
        ..SCRIPT
    },
    Language {
        names: "html xml svg markup",
        line_comments: &[],
        block_comment: Some(("<!--", "-->")),
        quotes: &['"'],
        keywords: "",
    },
    Language {
        names: "css scss",
        line_comments: &[],
        keywords: "important media import supports",
        ..C_LIKE
    },
];
