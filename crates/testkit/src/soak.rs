/// Whether long tests run at full length: `make soak` sets `RATCHET_SOAK`.
pub fn is_on() -> bool {
    std::env::var_os("RATCHET_SOAK").is_some()
}

/// Chooses a count or duration: the short one for `make test`, the full one for `make soak`.
pub fn scaled<T>(short: T, full: T) -> T {
    if is_on() { full } else { short }
}
