use axum::http::HeaderMap;

/// Whether the client is the Python SDK 3, which rejects pricing tiers with conditions other than
/// usage.
pub(super) fn is_python_3(headers: &HeaderMap) -> bool {
    is_sdk(headers, &["python"], &["3."])
}

/// Whether the client is the Python SDK 2, which rejects nulls and newer kinds of scores.
pub(super) fn is_python_2(headers: &HeaderMap) -> bool {
    is_sdk(headers, &["python"], &["2."])
}

/// Whether a trace's cost and latency must be numbers for this client: SDKs contemporary with
/// Python 2, and Python's generated client alone. That one only sends its language, in every
/// version, and rejects nulls in version 2.
pub(super) fn needs_numbers(headers: &HeaderMap) -> bool {
    let is_generated = text(headers, "x-fern-language").eq_ignore_ascii_case("python")
        && !headers.contains_key(SDK_NAME);
    is_generated || is_python_2(headers) || is_sdk(headers, &["langfuse-js"], &["1.", "2.", "3."])
}

const SDK_NAME: &str = "x-langfuse-sdk-name";

fn is_sdk(headers: &HeaderMap, names: &[&str], versions: &[&str]) -> bool {
    let version = text(headers, "x-langfuse-sdk-version");
    names.contains(&text(headers, SDK_NAME)) && versions.iter().any(|v| version.starts_with(v))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
}
