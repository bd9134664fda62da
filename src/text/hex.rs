//! Bytes as hexadecimal digits, two for each byte.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The two lower-case digits of a byte.
#[inline]
pub const fn digits(byte: u8) -> [u8; 2] {
    [DIGITS[(byte >> 4) as usize], DIGITS[(byte & 15) as usize]]
}

/// Appends the lower-case digits of `bytes`.
pub fn write(bytes: &[u8], out: &mut String) {
    out.reserve(2 * bytes.len());
    out.extend(bytes.iter().flat_map(|&byte| digits(byte)).map(char::from));
}

/// The lower-case digits of `bytes`.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::new();
    write(bytes, &mut out);
    out
}

/// The bytes that exactly 2 x N digits of either case stand for; `None` for any other text.
pub fn decode<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(text.as_chunks::<2>().0) {
        *byte = value(*high)? << 4 | value(*low)?;
    }
    Some(bytes)
}

/// [`decode`] of lower-case digits only.
pub fn decode_lower<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    if text.iter().any(u8::is_ascii_uppercase) { None } else { decode(text) }
}

fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_for_bytes() {
        assert_eq!(encode(&[0, 0x1f, 0xa0, 0xff]), "001fa0ff");
        assert_eq!(decode(b"001fA0ff"), Some([0, 0x1f, 0xa0, 0xff]));
        assert_eq!(decode_lower(b"001fa0ff"), Some([0, 0x1f, 0xa0, 0xff]));
        assert_eq!(decode_lower::<4>(b"001fA0ff"), None);
        for text in ["", "0", "000", "0000", "0g", "+1", " 1", "\u{e9}"] {
            assert_eq!(decode::<1>(text.as_bytes()), None, "{text}");
        }
    }
}
