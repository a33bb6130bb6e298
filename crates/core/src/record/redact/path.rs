use super::Field;

/// The record fields that a path can start with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    Input,
    Output,
    Metadata,
    /// Comment of a score.
    Comment,
    User,
    /// Name of a trace or an observation.
    Name,
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

    /// Returns the API name.
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

    /// Parses the API name, or lists the valid ones.
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|root| root.as_str() == name).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.into_iter().map(Self::as_str).collect();
            format!("{name} is none of {}", known.join(", "))
        })
    }
}

/// A path in a record: `input.user.email`. A star matches any key and any list index.
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
    /// Parses a path.
    ///
    /// # Errors
    /// Fails if it starts with a field that cannot be redacted, or has an empty segment.
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

/// The paths that match at a position of a document: their remaining segments and replacements.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail<'a>(Vec<(&'a [Step], &'a str)>);

impl<'a> Trail<'a> {
    /// Returns the paths that start with a field.
    pub(super) fn new(fields: &'a [Field], root: Root) -> Self {
        let here = fields.iter().filter(|field| field.path.root == root);
        Self(here.map(|field| (field.path.steps.as_slice(), field.replacement.as_str())).collect())
    }

    /// Returns the replacement, if a path ends here.
    pub(super) fn end(&self) -> Option<&'a str> {
        self.0.iter().find(|(steps, _)| steps.is_empty()).map(|(_, replacement)| *replacement)
    }

    /// Returns the paths that continue into a key.
    ///
    /// A key with dots matches as one segment and as several: attributes are often flat, and
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

    /// Returns the paths that continue into a list index.
    pub(super) fn at_item(&self, index: usize) -> Self {
        if self.0.is_empty() { Self::default() } else { self.at_key(&index.to_string()) }
    }
}

/// Returns the rest of a path after a key with several segments. A path that ends inside the key
/// selects its whole value.
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
