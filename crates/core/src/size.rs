/// Formats a number of bytes with a unit.
pub fn bytes_text(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000)];
    let unit = UNITS.iter().find(|(_, size)| bytes >= *size);
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |(name, size)| format!("{}.{} {name}", bytes / size, bytes % size * 10 / size),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_well() {
        let texts = [999, 1_000, 12_345_678, 3_999_999_999].map(bytes_text);
        assert_eq!(texts, ["999 bytes", "1.0 KB", "12.3 MB", "3.9 GB"]);
    }
}
