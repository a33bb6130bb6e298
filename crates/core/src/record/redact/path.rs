use super::Field;

/// The fields of a record that a path can begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    Input,
    Output,
    /// Keys and values of the client's own.
    Metadata,
    /// Why a score was given.
    Comment,
    User,
    /// What a trace or an observation is called.
    Name,
    /// Why an observation wants attention.
    StatusMessage,
    ModelParameters,
}

impl Root {
    pub const ALL: [Self; 8] = [
        Self::Input,
        Self::Output,
        Self::Metadata,
        Self::Comment,
        Self::User,
        Self::Name,
        Self::StatusMessage,
        Self::ModelParameters,
    ];

    /// The word for it, as clients write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::Metadata => "metadata",
            Self::Comment => "comment",
            Self::User => "userId",
            Self::Name => "name",
            Self::StatusMessage => "statusMessage",
            Self::ModelParameters => "modelParameters",
        }
    }

    /// Reads the word, or says which there are.
    pub(super) fn parse(word: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|root| root.as_str() == word).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.into_iter().map(Self::as_str).collect();
            format!("{word} is none of {}", known.join(", "))
        })
    }
}

/// A place in a record: `input.user.email`. A star stands for any key and any place in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    root: Root,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Any,
    Key(String),
}

impl Step {
    fn takes(&self, key: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Key(wanted) => wanted == key,
        }
    }
}

impl FieldPath {
    /// Reads a path, or says why it leads nowhere.
    ///
    /// # Errors
    /// If it begins with no field that can be redacted, or has an empty step.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split('.');
        let root = Root::parse(parts.next().unwrap_or_default())?;
        let step = |part: &str| match part {
            "" => Err(format!("{text} has an empty step")),
            "*" => Ok(Step::Any),
            key => Ok(Step::Key(key.to_owned())),
        };
        Ok(Self { root, steps: parts.map(step).collect::<Result<_, _>>()? })
    }
}

/// Paths on their way into a document: how much of each is still to go, and what replaces the
/// value at its end.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail<'a>(Vec<(&'a [Step], &'a str)>);

impl<'a> Trail<'a> {
    /// The paths that begin with a field.
    pub(super) fn new(fields: &'a [Field], root: Root) -> Self {
        let here = fields.iter().filter(|field| field.path.root == root);
        Self(here.map(|field| (field.path.steps.as_slice(), field.replacement.as_str())).collect())
    }

    /// What replaces the value here, if a path ends here.
    pub(super) fn end(&self) -> Option<&'a str> {
        self.0.iter().find(|(steps, _)| steps.is_empty()).map(|(_, replacement)| *replacement)
    }

    /// The paths that go on into a key.
    ///
    /// A key with dots counts as one step and as several: attributes are often flat, and
    /// `metadata.user.email` means `{"user.email": …}` as well as `{"user": {"email": …}}`.
    pub(super) fn at_key(&self, key: &str) -> Self {
        if self.0.is_empty() {
            return Self::default();
        }
        let mut next = Vec::new();
        for (steps, replacement) in &self.0 {
            if let [first, rest @ ..] = steps
                && first.takes(key)
            {
                next.push((rest, *replacement));
            }
            if key.contains('.')
                && let Some(rest) = along(steps, key)
            {
                next.push((rest, *replacement));
            }
        }
        Self(next)
    }

    /// The paths that go on into a place of a list.
    pub(super) fn at_item(&self, place: usize) -> Self {
        if self.0.is_empty() { Self::default() } else { self.at_key(&place.to_string()) }
    }
}

/// What is left of a path behind a key that spells several of its steps. A path that ends inside
/// the key means all that is under it.
fn along<'a>(mut steps: &'a [Step], key: &str) -> Option<&'a [Step]> {
    for part in key.split('.') {
        let [first, rest @ ..] = steps else { return Some(steps) };
        if !first.takes(part) {
            return None;
        }
        steps = rest;
    }
    Some(steps)
}
