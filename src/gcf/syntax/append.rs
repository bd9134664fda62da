//! Appending short strings, which cells and keys mostly are, without a call to `memcpy`.

use crate::memory;

/// Appends a string; up to 32 bytes are copied without a loop or a call.
#[inline]
pub(crate) fn push_short(text: &str, out: &mut String) {
    let length = text.len();
    memory::require(out.try_reserve(length));
    if length > 32 {
        return out.push_str(text);
    }
    // SAFETY: `try_reserve` allocated `length` bytes after the current end. Each arm copies the first
    // and the last `$size` bytes; `$size <= length <= 2 * $size`, so the two copies stay within `text`
    // and together cover it. `out` stays valid UTF-8 because both of its parts are.
    unsafe {
        let out = out.as_mut_vec();
        let end = out.len();
        let (from, to) = (text.as_ptr(), out.as_mut_ptr().add(end));
        macro_rules! copy_both_ends {
            ($size:literal) => {{
                from.copy_to_nonoverlapping(to, $size);
                from.add(length - $size).copy_to_nonoverlapping(to.add(length - $size), $size);
            }};
        }
        match length {
            0 => {}
            1 => copy_both_ends!(1),
            2..4 => copy_both_ends!(2),
            4..8 => copy_both_ends!(4),
            8..16 => copy_both_ends!(8),
            _ => copy_both_ends!(16),
        }
        out.set_len(end + length);
    }
}

#[cfg(test)]
mod tests {
    use super::push_short;

    #[test]
    fn strings_of_every_length_are_appended() {
        let text: String = ('!'..).take(40).collect();
        for capacity in 0..80 {
            for length in 0..text.len() {
                let mut out = String::with_capacity(capacity);
                out.push('ä');
                push_short(&text[..length], &mut out);
                push_short("b", &mut out);
                assert_eq!(out, format!("ä{}b", &text[..length]));
            }
        }
    }
}
