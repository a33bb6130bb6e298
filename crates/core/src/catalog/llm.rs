/// Validation of connection requests.
mod reach;

pub use reach::ConnectionRequest;

/// The API protocol of an LLM provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LlmAdapter {
    Anthropic,
    /// OpenAI's API and compatible servers.
    OpenAi,
    Azure,
    Bedrock,
    VertexAi,
    AiStudio,
}

impl LlmAdapter {
    pub const ALL: [Self; 6] =
        [Self::Anthropic, Self::OpenAi, Self::Azure, Self::Bedrock, Self::VertexAi, Self::AiStudio];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Azure => "azure",
            Self::Bedrock => "bedrock",
            Self::VertexAi => "google-vertex-ai",
            Self::AiStudio => "google-ai-studio",
        }
    }

    /// Parses the API name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|adapter| adapter.as_str() == name)
    }
}

/// Masks a secret for display: its last four characters, if it is long enough.
pub fn masked(secret: &str) -> String {
    let chars = secret.chars().count();
    let shown = if chars >= 12 { 4 } else { 0 };
    let end: String = secret.chars().skip(chars - shown).collect();
    format!("...{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_secret_shows_nothing() {
        assert_eq!(masked("sk-0123456789"), "...6789");
        assert_eq!(masked("hunter2"), "...");
        assert_eq!(masked("пароль-длинный"), "...нный");
    }
}
