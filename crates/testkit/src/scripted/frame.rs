//! The frames of AWS event streams: lengths, headers, a payload, and checksums.

/// One event of a stream.
pub(super) fn frame(event: &str, payload: &str) -> Vec<u8> {
    let mut headers = Vec::new();
    let texts =
        [(":event-type", event), (":content-type", "application/json"), (":message-type", "event")];
    for (name, value) in texts {
        headers.push(u8::try_from(name.len()).unwrap());
        headers.extend(name.as_bytes());
        // Seven is the type of a text.
        headers.push(7);
        headers.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
        headers.extend(value.as_bytes());
    }
    let total = 4 + 4 + 4 + headers.len() + payload.len() + 4;
    let mut frame = Vec::with_capacity(total);
    frame.extend(u32::try_from(total).unwrap().to_be_bytes());
    frame.extend(u32::try_from(headers.len()).unwrap().to_be_bytes());
    frame.extend(checksum(&frame).to_be_bytes());
    frame.extend(headers);
    frame.extend(payload.as_bytes());
    frame.extend(checksum(&frame).to_be_bytes());
    frame
}

/// CRC-32.
fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            let polynomial = if sum & 1 == 1 { 0xedb8_8320 } else { 0 };
            sum = (sum >> 1) ^ polynomial;
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_the_one_everyone_uses() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_frame_says_how_long_it_is() {
        let frame = frame("messageStart", "{}");
        let total = u32::from_be_bytes(frame[..4].try_into().unwrap());
        assert_eq!(usize::try_from(total).unwrap(), frame.len());
    }
}
