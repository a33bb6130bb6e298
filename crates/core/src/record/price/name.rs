//! Normalisation of model names: clients write them differently, depending on the provider.

/// Prefixes of model names, as in `openrouter/anthropic/…` or `openai:…`. Hosts with their own
/// prices are not included.
const PROVIDERS: [&str; 22] = [
    "anthropic",
    "aws",
    "aws-bedrock",
    "azure",
    "azure-openai",
    "azure_ai",
    "bedrock",
    "bedrock_converse",
    "converse",
    "foundation-model",
    "gemini",
    "global",
    "google",
    "google-gla",
    "google-vertex",
    "googleai",
    "inference-profile",
    "models",
    "openai",
    "openrouter",
    "vertex_ai",
    "vertexai",
];

/// Region prefixes of Bedrock's inference profiles.
const REGIONS: [&str; 9] = ["us", "eu", "apac", "au", "jp", "ca", "sa", "us-gov", "global"];

/// A normalised model name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelName {
    pub(super) full: String,
    /// The name without its date, `latest` or other version suffix; `None` without one.
    pub(super) undated: Option<String>,
}

impl ModelName {
    pub(super) fn new(sent: &str) -> Self {
        let lower = sent.trim().to_lowercase();
        // Claude Code's suffix for a wider context window; the price is the same.
        let lower = lower.strip_suffix("[1m]").unwrap_or(&lower);
        if let Some(tuned) = lower.strip_prefix("ft:") {
            let base = tuned.split(':').next().unwrap_or(tuned);
            return Self { full: format!("ft:{}", without_marks(base)), undated: None };
        }
        let (bare, from_bedrock) = without_bedrock_prefix(without_providers(lower));
        let (bare, has_revision) = without_revision(bare);
        if let Some((base, date)) = bare.split_once('@') {
            let base = without_marks(without_version(base));
            return Self { full: format!("{base}-{date}"), undated: Some(base) };
        }
        let is_versioned = from_bedrock || has_revision;
        let full = without_marks(if is_versioned { without_version(bare) } else { bare });
        Self { undated: undated(&full).map(str::to_owned), full }
    }
}

fn undated(name: &str) -> Option<&str> {
    let by_date = |form| without_digits(name, form);
    let dated = ["####-##-##", "########", "###"].into_iter().find_map(by_date);
    dated.or_else(|| name.strip_suffix("-latest"))
}

/// Strips a dash and digits of this form from the end.
fn without_digits<'a>(name: &'a str, form: &str) -> Option<&'a str> {
    let (bare, tail) = name.split_at_checked(name.len().checked_sub(form.len())?)?;
    let fits =
        |(digit, mark): (u8, u8)| if mark == b'#' { digit.is_ascii_digit() } else { digit == mark };
    let is_form = tail.bytes().zip(form.bytes()).all(fits);
    bare.strip_suffix('-').filter(|_| is_form)
}

fn without_providers(name: &str) -> &str {
    let mut bare = name;
    // An ARN names the account and region first; the model is after the slash.
    if let Some((_, resource)) = bare.strip_prefix("arn:").and_then(|arn| arn.split_once('/')) {
        bare = resource;
    }
    if let Some(published) = bare.strip_prefix("publishers/") {
        bare = published;
    }
    while let Some((provider, rest)) = bare.split_once(['/', ':']) {
        if !PROVIDERS.contains(&provider) {
            break;
        }
        bare = rest;
    }
    bare
}

fn without_bedrock_prefix(name: &str) -> (&str, bool) {
    let local = match name.split_once('.') {
        Some((region, rest)) if REGIONS.contains(&region) => rest,
        _ => name,
    };
    local.strip_prefix("anthropic.").map_or((local, false), |model| (model, true))
}

/// Strips Bedrock's `:0`, also `:0:200k`.
fn without_revision(name: &str) -> (&str, bool) {
    match name.split_once(':') {
        Some((base, revision)) if revision.starts_with(|c: char| c.is_ascii_digit()) => {
            let is_revision = revision.bytes().all(|c| c.is_ascii_digit() || b":k".contains(&c));
            if is_revision { (base, true) } else { (name, false) }
        }
        _ => (name, false),
    }
}

/// Strips a trailing `-v1`.
fn without_version(name: &str) -> &str {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match base.strip_suffix("-v") {
        Some(bare) if base.len() < name.len() => bare,
        _ => name,
    }
}

fn without_marks(name: &str) -> String {
    name.replace("gpt-35", "gpt-3.5").replace('.', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sent: &str, expected: &str) {
        assert_eq!(ModelName::new(sent).full, expected, "{sent}");
    }

    #[test]
    fn providers_in_front_do_not_matter() {
        check("openai/gpt-4o", "gpt-4o");
        check("openai:gpt-4o", "gpt-4o");
        check("openrouter/anthropic/claude-3.5-sonnet", "claude-3-5-sonnet");
        check("publishers/google/models/gemini-2.5-pro", "gemini-2-5-pro");
    }

    #[test]
    fn hosts_with_prices_of_their_own_stay() {
        check("groq/llama-3.3-70b", "groq/llama-3-3-70b");
        check("gpt-oss:20b", "gpt-oss:20b");
    }

    #[test]
    fn bedrock_and_vertex_forms_are_the_same_model() {
        check("anthropic.claude-3-opus-20240229-v1:0", "claude-3-opus-20240229");
        check("us.anthropic.claude-sonnet-4-6", "claude-sonnet-4-6");
        check("eu.anthropic.claude-opus-4-6-v1", "claude-opus-4-6");
        check("bedrock/global.anthropic.claude-opus-5-v1:0", "claude-opus-5");
        check("anthropic.claude-3-haiku-20240307-v1:0:200k", "claude-3-haiku-20240307");
        check("claude-3-5-sonnet-V2@20241022", "claude-3-5-sonnet-20241022");
        check(
            "arn:aws:bedrock:us-east-1:123:inference-profile/us.anthropic.claude-opus-4-5-20251101-v1:0",
            "claude-opus-4-5-20251101",
        );
    }

    #[test]
    fn a_wider_context_window_is_the_same_model() {
        check("claude-opus-5-5[1m]", "claude-opus-5-5");
        check("us.anthropic.claude-sonnet-4-6[1m]", "claude-sonnet-4-6");
    }

    #[test]
    fn a_version_that_is_part_of_the_name_stays() {
        check("deepseek-v3", "deepseek-v3");
    }

    #[test]
    fn fine_tuned_models_are_named_by_their_base() {
        check("ft:gpt-3.5-turbo-1106:acme::8abc", "ft:gpt-3-5-turbo-1106");
    }

    #[test]
    fn dates_come_off_and_nothing_else() {
        let cases = [
            ("gpt-4-1-2025-04-14", Some("gpt-4-1")),
            ("claude-opus-4-20250514", Some("claude-opus-4")),
            ("claude-opus-4-5", None),
            ("claude-3-7-sonnet-latest", Some("claude-3-7-sonnet")),
            ("chat-bison-001", Some("chat-bison")),
            ("gpt-4-0613", None),
            ("2025-04-14", None),
            ("", None),
            ("-", None),
            ("日本-20250514", Some("日本")),
        ];
        for (name, expected) in cases {
            assert_eq!(undated(name), expected, "{name}");
        }
    }
}
