//! A line taken apart: words between spaces.

use crate::gcf::syntax::line::is_blank;

pub(super) fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// A line without blanks at its end.
pub(super) fn trimmed(line: &str) -> &str {
    let blanks = line.bytes().rev().take_while(|&byte| is_blank(byte)).count();
    &line[..line.len() - blanks]
}

/// How many bytes stand before the first space; eight at a time, because names are long.
fn word_length(bytes: &[u8]) -> usize {
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

const LOW: u64 = u64::from_le_bytes([1; 8]);

/// The first `N` fields of a line, and how many it has: they are apart by runs of spaces.
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
        let length = word_length(&bytes[at..]);
        if let Some(field) = found.get_mut(count) {
            *field = &text[at..at + length];
        }
        count += 1;
        at += length;
    }
    (count, found)
}
