use ratchet_remote::langfuse::wire::word::Spelled;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FilterKind {
    Datetime,
    String,
    Number,
    StringOptions,
    CategoryOptions,
    ArrayOptions,
    StringObject,
    NumberObject,
    BooleanObject,
    Boolean,
    Null,
}

const ORDER: [&str; 4] = [">", "<", ">=", "<="];
const NUMBERS: [&str; 5] = ["=", ">", "<", ">=", "<="];
const TEXTS: [&str; 6] =
    ["=", "contains", "does not contain", "starts with", "ends with", "matches"];
const OPTIONS: [&str; 2] = ["any of", "none of"];
const ARRAYS: [&str; 3] = ["any of", "none of", "all of"];
const TRUTHS: [&str; 2] = ["=", "<>"];
const NULLS: [&str; 2] = ["is null", "is not null"];

impl FilterKind {
    pub(super) fn operators(self) -> &'static [&'static str] {
        match self {
            Self::Datetime => &ORDER,
            Self::String | Self::StringObject => &TEXTS,
            Self::Number | Self::NumberObject => &NUMBERS,
            Self::StringOptions | Self::CategoryOptions => &OPTIONS,
            Self::ArrayOptions => &ARRAYS,
            Self::Boolean | Self::BooleanObject => &TRUTHS,
            Self::Null => &NULLS,
        }
    }

    /// Whether it is about one key of an object.
    pub(super) fn has_key(self) -> bool {
        match self {
            Self::StringObject
            | Self::NumberObject
            | Self::BooleanObject
            | Self::CategoryOptions => true,
            Self::Datetime
            | Self::String
            | Self::Number
            | Self::StringOptions
            | Self::ArrayOptions
            | Self::Boolean
            | Self::Null => false,
        }
    }

    /// The word for it, for messages.
    pub(super) fn name(self) -> &'static str {
        self.word()
    }
}

impl Spelled for FilterKind {
    const WHAT: &'static str = "filter type";

    fn all() -> Vec<Self> {
        vec![
            Self::Datetime,
            Self::String,
            Self::Number,
            Self::StringOptions,
            Self::CategoryOptions,
            Self::ArrayOptions,
            Self::StringObject,
            Self::NumberObject,
            Self::BooleanObject,
            Self::Boolean,
            Self::Null,
        ]
    }

    fn word(self) -> &'static str {
        match self {
            Self::Datetime => "datetime",
            Self::String => "string",
            Self::Number => "number",
            Self::StringOptions => "stringOptions",
            Self::CategoryOptions => "categoryOptions",
            Self::ArrayOptions => "arrayOptions",
            Self::StringObject => "stringObject",
            Self::NumberObject => "numberObject",
            Self::BooleanObject => "booleanObject",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }
}
