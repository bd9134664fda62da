//! Pairs of the header, as they are written. GCF 3.6 section 3.

use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error};

/// Appends a pair; nothing where the value is empty.
///
/// # Errors
/// `invalid_header_value` for a value that is not printable ASCII without space.
pub(super) fn write_field(name: &str, value: &str, out: &mut String) -> Result<(), Error> {
    if value.is_empty() {
        return Ok(());
    }
    if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
        let found = excerpt(value);
        let message =
            format!("a header holds printable ASCII without spaces, so {name} cannot be {found}");
        return Err(Error::without_place(Code::InvalidHeaderValue, message));
    }
    out.push(' ');
    out.push_str(name);
    out.push('=');
    out.push_str(value);
    Ok(())
}

/// Appends a pair of the header, where the count is not 0.
pub(super) fn write_count(name: &str, count: i64, out: &mut String) {
    if count != 0 {
        out.push(' ');
        out.push_str(name);
        out.push('=');
        out.push_str(itoa::Buffer::new().format(count));
    }
}
