//! Writes the fields of a header. GCF 3.6 section 3.

use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error};

/// Appends ` name=value`; nothing if the value is empty.
///
/// # Errors
/// `invalid_header_value` for a value with anything but printable ASCII, or with a space.
pub(super) fn write_field(name: &str, value: &str, out: &mut String) -> Result<(), Error> {
    if value.is_empty() {
        return Ok(());
    }
    if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
        let found = excerpt(value);
        let message =
            format!("a header value must be printable ASCII without spaces, but {name} is {found}");
        return Err(Error::without_place(Code::InvalidHeaderValue, message));
    }
    out.push(' ');
    out.push_str(name);
    out.push('=');
    out.push_str(value);
    Ok(())
}

/// Appends ` name=count`; nothing if the count is 0.
pub(super) fn write_count(name: &str, count: i64, out: &mut String) {
    if count != 0 {
        out.push(' ');
        out.push_str(name);
        out.push('=');
        out.push_str(itoa::Buffer::new().format(count));
    }
}
