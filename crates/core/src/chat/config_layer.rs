use std::fmt;

/// Whose word something is. Later ones overrule earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    Platform,
    /// The user of the agent.
    User,
    /// The folder that the agent works in.
    Workspace,
}

impl Layer {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::User => "user",
            Self::Workspace => "workspace",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether what stands in a workspace may run.
///
/// Settings of a workspace name hooks and tool servers, which are programs: to read them is to
/// run them. So a folder is untrusted until a user trusts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    #[default]
    Untrusted,
    /// Its settings count, and what they name may run.
    Trusted,
}
