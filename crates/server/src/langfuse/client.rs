use axum::http::HeaderMap;

/// Whether this is Python's SDK version 3, which refuses tiers that depend on anything but usage.
pub(super) fn is_python_3(headers: &HeaderMap) -> bool {
    is_python(headers, "3.")
}

/// Whether this is Python's SDK version 2, which refuses nulls and newer kinds of scores.
pub(super) fn is_python_2(headers: &HeaderMap) -> bool {
    is_python(headers, "2.")
}

fn is_python(headers: &HeaderMap, version: &str) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
    let is_python = text("x-langfuse-sdk-name") == "python";
    is_python && text("x-langfuse-sdk-version").starts_with(version)
}
