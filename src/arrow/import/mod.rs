//! Imports arrays of other producers over the Arrow C interfaces, and checks them.
//!
//! The crate `arrow-array` trusts what a producer says of its array. [`layout`] compares it with the type before,
//! which [`schema`] has checked, and [`content`] validates the values afterwards. What no check can find are pointers
//! and sizes of buffers that are wrong.
//!
//! Source: <https://arrow.apache.org/docs/format/CDataInterface.html> and `CStreamInterface.html`.

mod content;
mod layout;
mod schema;

pub(super) use layout::takes_no_memory;
pub(super) use schema::{field, parsed};

use super::error::Error;
use crate::interrupt::poll;
use crate::memory;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, make_array};
use arrow_data::ArrayData;
use arrow_schema::{DataType, FieldRef};
use std::ffi::{CStr, c_int};

type Result<T, E = Error> = std::result::Result<T, E>;

/// The bytes of memory that an array takes at most without its buffers, for each part of its type.
const ARRAY_SIZE: usize = 1024;

/// The number of types in a type, itself included.
fn parts(data_type: &DataType) -> usize {
    let of = |field: &FieldRef| parts(field.data_type());
    1 + match data_type {
        DataType::Struct(fields) => fields.iter().map(of).sum(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| of(field)).sum(),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => of(field),
        DataType::Dictionary(_, values) => parts(values),
        DataType::RunEndEncoded(ends, values) => of(ends) + of(values),
        _ => 0,
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::Producer(message.into())
}

/// Reads a stream to its end.
pub(super) fn stream(mut stream: FFI_ArrowArrayStream) -> Result<(FieldRef, Vec<ArrayRef>)> {
    let (Some(_), Some(get_schema), Some(get_next)) =
        (stream.release(), stream.get_schema(), stream.get_next())
    else {
        return Err(invalid("the stream was released: another consumer has taken it"));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the callbacks are those of the stream, which is not released.
    let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
    succeeded(&mut stream, code)?;
    let field = self::field(&schema)?;
    let mut chunks = Vec::new();
    let mut before = None;
    loop {
        poll();
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        let code = unsafe { get_next(&raw mut stream, &raw mut array) };
        succeeded(&mut stream, code)?;
        if array.is_released() {
            return Ok((field, chunks));
        }
        let data = imported(array, field.data_type(), before.as_ref())?;
        memory::push(&mut chunks, make_array(data.clone()));
        before = Some(data);
    }
}

/// Checks the result of a callback.
fn succeeded(stream: &mut FFI_ArrowArrayStream, code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let text = stream.get_last_error().and_then(|get_last_error| {
        // SAFETY: the callback is that of the stream, whose last call has failed. The text is valid until the
        // next call.
        unsafe {
            let text = get_last_error(&raw mut *stream);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().trim().to_owned())
        }
    });
    let reason = text.filter(|text| !text.is_empty());
    let reason = reason.unwrap_or_else(|| "it gives no reason".to_owned());
    Err(Error::ProducerFailed { code, reason })
}

/// Imports an array of a type of [`field`].
pub(super) fn array(array: FFI_ArrowArray, data_type: &DataType) -> Result<ArrayRef> {
    imported(array, data_type, None).map(make_array)
}

/// The content of an array, which agrees with its type. `before` is the chunk before it.
fn imported(
    mut array: FFI_ArrowArray,
    data_type: &DataType,
    before: Option<&ArrayData>,
) -> Result<ArrayData> {
    if array.is_released() {
        return Err(invalid("the array was released: another consumer has taken it"));
    }
    memory::ensure(parts(data_type).saturating_mul(ARRAY_SIZE))?;
    layout::check(&mut array, data_type)?;
    // SAFETY: the array agrees with its type, as far as it can be checked.
    let data = unsafe { from_ffi_and_data_type(array, data_type.clone()) }?;
    let data = content::without_free_offsets(&data).unwrap_or(data);
    content::validate(&data, before)?;
    Ok(data)
}
