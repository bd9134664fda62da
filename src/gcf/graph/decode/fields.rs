//! Splits a line into fields, which are separated by spaces.

use crate::gcf::syntax::line::is_blank;

/// Whether a string is one or more ASCII digits.
pub(super) fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The line without trailing blanks.
pub(super) fn trimmed(line: &str) -> &str {
    let blanks = line.bytes().rev().take_while(|&byte| is_blank(byte)).count();
    &line[..line.len() - blanks]
}

/// The number of bytes before the first space; tests eight bytes at a time, because names are long.
fn field_length(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let other = u64::from_le_bytes(*word) ^ u64::from_le_bytes([b' '; 8]);
        let spaces = other.wrapping_sub(LOW) & !other & (LOW << 7);
        if spaces != 0 {
            return 8 * i + (spaces.trailing_zeros() / 8) as usize;
        }
    }
    let length = rest.iter().take_while(|&&byte| byte != b' ').count();
    bytes.len() - rest.len() + length
}

/// The lowest bit of each byte of a word.
const LOW: u64 = u64::from_le_bytes([1; 8]);

/// The number of fields of a line, and the first `N` of them. Fields are separated by one or more spaces.
pub(super) fn fields<const N: usize>(text: &str) -> (usize, [&str; N]) {
    let mut found = [""; N];
    let mut count = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b' ' {
            at += 1;
            continue;
        }
        let length = field_length(&bytes[at..]);
        if let Some(field) = found.get_mut(count) {
            *field = &text[at..at + length];
        }
        count += 1;
        at += length;
    }
    (count, found)
}
