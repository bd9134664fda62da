//! Row ids: the `@12 ` in front of a row or of an element of an expanded array.

use super::scalar::skip_blanks;

/// Splits `@12 rest` into the digits and the offset of `rest`; `None` if the line has no row id.
pub(crate) fn split_row_id(line: &str) -> Option<(&str, usize)> {
    let digits = line.strip_prefix('@')?;
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    (length > 0 && digits[length..].starts_with(' ')).then(|| {
        let rest = skip_blanks(line.as_bytes(), length + 1);
        (&digits[..length], rest)
    })
}

/// Whether `digits` is the canonical text of `index`.
pub(crate) fn is_index(digits: &str, index: u64) -> bool {
    digits == itoa::Buffer::new().format(index)
}
