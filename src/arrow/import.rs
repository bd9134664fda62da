//! Imports arrays of other producers over the Arrow C interfaces, and checks them.
//!
//! The crate `arrow-array` trusts what a producer says of its array. [`check`] compares it with the type before,
//! and the content is validated afterwards. What no check can find are pointers and sizes of buffers that are
//! wrong.
//!
//! Source: <https://arrow.apache.org/docs/format/CDataInterface.html> and `CStreamInterface.html`.

use super::error::Error;
use crate::excerpt::{excerpt, path_step};
use crate::interrupt::{poll, run_apart};
use crate::memory;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, make_array};
use arrow_buffer::bit_chunk_iterator::UnalignedBitChunk;
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::{ArrayData, BufferSpec, layout};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, UnionMode};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::slice;
use std::sync::Arc;

/// The maximum nesting of a type. The crate `arrow-schema` parses it by recursion.
const MAX_DEPTH: usize = 256;

/// The maximum number of rows of an array that [takes no memory](takes_no_memory).
const MAX_EMPTY_ROWS: i64 = 1 << 28;

/// The maximum number of buffers of an array of views.
const MAX_BUFFERS: i64 = 1 << 24;

/// The rows and the bytes of texts that are validated between two polls.
const PART_ROWS: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };
const PART_SIZE: usize = if cfg!(test) { 1 << 16 } else { 64 << 20 };

/// More rows than any memory has, so that sizes in bytes do not overflow.
const MAX_ROWS: i64 = 1 << 48;

type Result<T, E = Error> = std::result::Result<T, E>;

/// `struct ArrowArray`, to read its fields.
#[repr(C)]
struct RawArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *const *mut Self,
    dictionary: *mut Self,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

/// `struct ArrowSchema`, to read its fields.
#[repr(C)]
struct RawSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *const *const Self,
    dictionary: *const Self,
    release: *const c_void,
    private_data: *const c_void,
}

const _: () = assert!(size_of::<RawArray>() == size_of::<FFI_ArrowArray>());
const _: () = assert!(size_of::<RawSchema>() == size_of::<FFI_ArrowSchema>());

fn invalid(message: impl Into<String>) -> Error {
    Error::Producer(message.into())
}

/// A producer's array that was changed, such as by copies of its offsets in aligned memory, which live as long as
/// the array.
struct Copies {
    release: unsafe extern "C" fn(*mut RawArray),
    private_data: *mut c_void,
    /// Where the array was when it was checked. It has moved since then, and the arrays in it have not.
    top: *const RawArray,
    checked: Checked,
}

/// Releases an array with [`Copies`].
unsafe extern "C" fn release_copies(array: *mut RawArray) {
    // SAFETY: the array was changed by `keep`, and is released once; the arrays in it live as long.
    unsafe {
        let copies = Box::from_raw((*array).private_data.cast::<Copies>());
        (*array).private_data = copies.private_data;
        (*array).release = Some(copies.release);
        for replaced in &copies.checked.replaced {
            let is_top = std::ptr::eq(replaced.array, copies.top);
            let restored = if is_top { array } else { replaced.array };
            (*restored).buffers = replaced.buffers;
            (*restored).n_buffers = replaced.n_buffers;
        }
        (copies.release)(array);
    }
}

/// Makes an array the owner of copies.
fn keep(array: &mut RawArray, checked: Checked) {
    if let Some(release) = array.release {
        let private_data = array.private_data;
        let copies = Copies { release, private_data, top: array, checked };
        array.private_data = Box::into_raw(Box::new(copies)).cast();
        array.release = Some(release_copies);
    }
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
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    });
    let reason = text.unwrap_or_else(|| "it gives no reason".to_owned());
    Err(Error::ProducerFailed { code, reason })
}

/// The field that a schema describes, of a column whose parts may be null whatever the schema says.
pub(super) fn field(schema: &FFI_ArrowSchema) -> Result<FieldRef> {
    let field = parsed(schema)?;
    let data_type = nullable(field.data_type());
    Ok(Arc::new(field.with_data_type(data_type).with_nullable(true)))
}

/// The field that a schema describes.
pub(super) fn parsed(schema: &FFI_ArrowSchema) -> Result<Field> {
    // SAFETY: the layout is that of the interface.
    check_schema(unsafe { &*std::ptr::from_ref(schema).cast() }, 0)?;
    Field::try_from(schema).map_err(|_| unreadable(schema))
}

/// The error for a schema with a type that the crate `arrow-schema` does not know, such as one of Polars alone.
#[cold]
fn unreadable(schema: &FFI_ArrowSchema) -> Error {
    let mut steps = "[*]".to_owned();
    let schema = unreadable_part(schema, &mut steps).unwrap_or(schema);
    let reason = if schema.metadata().is_err() {
        "the metadata of the type, such as that of an extension type, is not UTF-8; remove it, or pass the storage \
         of the column"
            .to_owned()
    } else {
        let format = excerpt(schema.format());
        format!(
            "the type with the format string {format} is not one of Arrow's, or not known; cast the column, \
             for example to texts, or leave it out"
        )
    };
    Error::Unreadable { steps, reason }
}

/// The first part of a schema that is unreadable by itself, and the steps to it in the path of a value. To read each
/// part with all that is in it would take time in proportion to the depth.
fn unreadable_part<'a>(
    schema: &'a FFI_ArrowSchema,
    steps: &mut String,
) -> Option<&'a FFI_ArrowSchema> {
    poll();
    let before = steps.len();
    for part in schema.children().chain(schema.dictionary()) {
        match schema.format() {
            "+s" => steps.push_str(&path_step(part.name().unwrap_or_default())),
            "+l" | "+L" | "+vl" | "+vL" => steps.push_str("[*]"),
            format if format.starts_with("+w:") => steps.push_str("[*]"),
            // Parts without a place in a value.
            _ => {}
        }
        let found = unreadable_part(part, steps);
        if found.is_some() {
            return found;
        }
        steps.truncate(before);
    }
    (!is_readable_alone(schema)).then_some(schema)
}

/// Whether a schema could be read if all its parts were nulls.
fn is_readable_alone(schema: &FFI_ArrowSchema) -> bool {
    let null = || FFI_ArrowSchema::try_new("n", Vec::new(), None);
    let alone = || {
        let parts = schema.children().map(|_| null()).collect::<Result<_, _>>()?;
        let dictionary = schema.dictionary().map(|_| null()).transpose()?;
        FFI_ArrowSchema::try_new(schema.format(), parts, dictionary)
    };
    let data_type = alone().and_then(|alone| DataType::try_from(&alone));
    data_type.is_ok() && schema.metadata().is_ok()
}

fn check_schema(schema: &RawSchema, depth: usize) -> Result<()> {
    if schema.release.is_null() && depth == 0 {
        return Err(invalid("the schema was released: another consumer has taken it"));
    }
    if depth > MAX_DEPTH {
        return Err(invalid(format!("the type is nested more than {MAX_DEPTH} levels deep")));
    }
    let is_utf8 = |text: *const c_char| {
        // SAFETY: texts of a schema end with a zero byte.
        text.is_null() || unsafe { CStr::from_ptr(text) }.to_str().is_ok()
    };
    if schema.format.is_null() || !is_utf8(schema.format) || !is_utf8(schema.name) {
        return Err(invalid("the schema has no format, or a text that is not UTF-8"));
    }
    // SAFETY: as above.
    let format = unsafe { CStr::from_ptr(schema.format) }.to_bytes();
    if format.starts_with(b"w:-") || format.starts_with(b"+w:-") {
        return Err(invalid("the schema has values of a negative size"));
    }
    let count = usize::try_from(schema.n_children)
        .ok()
        .filter(|&count| count == 0 || !schema.children.is_null())
        .ok_or_else(|| invalid("the schema has no children where it says so"))?;
    let expected = match format {
        b"+l" | b"+L" | b"+vl" | b"+vL" | b"+m" => Some(1),
        b"+r" => Some(2),
        _ if format.starts_with(b"+w:") => Some(1),
        _ => None,
    };
    if expected.is_some_and(|expected| count != expected) {
        return Err(invalid("the schema has another number of children than its format"));
    }
    for at in 0..count {
        poll();
        // SAFETY: the schema has so many children.
        let child = unsafe { (*schema.children.add(at)).as_ref() };
        check_schema(child.ok_or_else(|| invalid("a child of the schema is null"))?, depth + 1)?;
    }
    // SAFETY: the dictionary is null or a schema.
    match unsafe { schema.dictionary.as_ref() } {
        Some(dictionary) => check_schema(dictionary, depth + 1),
        None => Ok(()),
    }
}

/// The type with fields that may be null, which some producers forget to say; and with entries and keys of maps,
/// and ends of runs, that may not, as Arrow demands.
fn nullable(data_type: &DataType) -> DataType {
    let of = |field: &FieldRef| {
        let data_type = nullable(field.data_type());
        Arc::new(field.as_ref().clone().with_data_type(data_type).with_nullable(true))
    };
    match data_type {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(of).collect::<Fields>()),
        DataType::List(field) => DataType::List(of(field)),
        DataType::LargeList(field) => DataType::LargeList(of(field)),
        DataType::ListView(field) => DataType::ListView(of(field)),
        DataType::LargeListView(field) => DataType::LargeListView(of(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(of(field), *size),
        DataType::Map(entries, sorted) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                let key = of(&fields[0]).as_ref().clone().with_nullable(false);
                let fields = DataType::Struct(Fields::from(vec![Arc::new(key), of(&fields[1])]));
                let entries = entries.as_ref().clone().with_data_type(fields).with_nullable(false);
                DataType::Map(Arc::new(entries), *sorted)
            }
            _ => data_type.clone(),
        },
        DataType::Dictionary(indices, values) => {
            DataType::Dictionary(indices.clone(), Box::new(nullable(values)))
        }
        DataType::RunEndEncoded(ends, values) => {
            let ends = ends.as_ref().clone().with_nullable(false);
            DataType::RunEndEncoded(Arc::new(ends), of(values))
        }
        DataType::Union(fields, mode) => {
            DataType::Union(fields.iter().map(|(id, field)| (id, of(field))).collect(), *mode)
        }
        other => other.clone(),
    }
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
    // SAFETY: the layout is that of the interface, and the array is ours.
    let raw = unsafe { &mut *(&raw mut array).cast::<RawArray>() };
    let mut checked = Checked::default();
    let agrees = checked.check(raw, data_type);
    let unaligned = checked.unaligned;
    // Also an array that is refused, and released at once, gets its own buffers back.
    if !checked.replaced.is_empty() {
        keep(raw, checked);
    }
    agrees?;
    memory::ensure(unaligned)?;
    // SAFETY: the array agrees with its type, as far as it can be checked.
    let data = unsafe { from_ffi_and_data_type(array, data_type.clone()) }?;
    let data = without_free_offsets(&data).unwrap_or(data);
    validate(&data, before)?;
    Ok(data)
}

/// The array with zeros for the offsets of texts and lists without rows; `None` if it has none. Their only offset may
/// be any, as in a slice of `arrow-array` itself, which reads no texts for it, so that the offset would be beyond them.
fn without_free_offsets(data: &ArrayData) -> Option<ArrayData> {
    if is_text_without_rows(data) {
        return Some(ArrayData::new_empty(data.data_type()));
    }
    let replaced: Vec<_> = data.child_data().iter().map(without_free_offsets).collect();
    let is_list = is_list_without_rows(data);
    if !is_list && replaced.iter().all(Option::is_none) {
        return None;
    }
    let children = replaced.into_iter().zip(data.child_data());
    let children = children.map(|(new, old)| new.unwrap_or_else(|| old.clone())).collect();
    let mut data = data.clone().into_builder().child_data(children);
    if is_list {
        // Long enough for one offset of either size.
        data = data.buffers(vec![vec![0_i64].into()]);
    }
    // SAFETY: a child is as before, or has as many rows as before: none. All of it is validated afterwards.
    Some(unsafe { data.build_unchecked() })
}

fn is_text_without_rows(data: &ArrayData) -> bool {
    use DataType::{Binary, LargeBinary, LargeUtf8, Utf8};
    data.is_empty()
        && data.offset() == 0
        && matches!(data.data_type(), Utf8 | LargeUtf8 | Binary | LargeBinary)
}

fn is_list_without_rows(data: &ArrayData) -> bool {
    use DataType::{LargeList, List, Map};
    data.is_empty()
        && data.offset() == 0
        && matches!(data.data_type(), List(_) | LargeList(_) | Map(..))
}

/// Validates the content of an array and its children, without those that it shares with the chunk before it.
/// Unlike `validate_full`, it accepts an index of a dictionary without values: the row is null by its struct or
/// list.
fn validate(data: &ArrayData, before: Option<&ArrayData>) -> Result<(), ArrowError> {
    // This includes the children. With a call for each of them, the time would grow with the square of the depth.
    whole(data, ArrayData::validate)?;
    validate_content(data, before)
}

fn validate_content(data: &ArrayData, before: Option<&ArrayData>) -> Result<(), ArrowError> {
    if !before.is_some_and(|before| are_same(data, before)) {
        data.validate_nulls()?;
        let is_dictionary = matches!(data.data_type(), DataType::Dictionary(..));
        if !(is_dictionary && data.child_data()[0].is_empty()) {
            validate_values(data)?;
        }
    }
    for (at, child) in data.child_data().iter().enumerate() {
        validate_content(child, before.and_then(|before| before.child_data().get(at)))?;
    }
    Ok(())
}

/// Whether two arrays of one type have the same memory, apart from their children: the chunks of a column may be
/// slices of one array, which all have its dictionary, or all rows of its lists and structs. To read these for each
/// chunk would take time in proportion to their square.
fn are_same(one: &ArrayData, other: &ArrayData) -> bool {
    let rows = |data: &ArrayData| (data.offset(), data.len(), data.null_count());
    let validity = |data: &ArrayData| data.nulls().map(|nulls| nulls.validity().as_ptr());
    rows(one) == rows(other)
        && validity(one) == validity(other)
        && one.nulls().map(NullBuffer::offset) == other.nulls().map(NullBuffer::offset)
        && one.buffers().iter().map(extent).eq(other.buffers().iter().map(extent))
        && one.child_data().iter().map(rows).eq(other.child_data().iter().map(rows))
}

/// Where a buffer begins, and its length.
fn extent(buffer: &Buffer) -> (*const u8, usize) {
    (buffer.as_ptr(), buffer.len())
}

/// Runs a check that cannot be done in parts: while it reads many rows, on another thread, so that the call can
/// be stopped.
fn whole(
    data: &ArrayData,
    check: fn(&ArrayData) -> Result<(), ArrowError>,
) -> Result<(), ArrowError> {
    if rows_to_read(data) < PART_ROWS { check(data) } else { run_apart(data.clone(), check) }
}

/// The rows of arrays and children whose types are checked as a whole, row by row.
fn rows_to_read(data: &ArrayData) -> usize {
    let rows = match data.data_type() {
        DataType::ListView(_) | DataType::LargeListView(_) | DataType::Union(..) => data.len(),
        DataType::RunEndEncoded(..) => data.child_data().first().map_or(0, ArrayData::len),
        _ => 0,
    };
    data.child_data().iter().map(rows_to_read).fold(rows, usize::saturating_add)
}

/// Validates the values of an array without its children, in parts, so that the call can be stopped between them.
fn validate_values(data: &ArrayData) -> Result<(), ArrowError> {
    let mut start = 0;
    while start < data.len() {
        poll();
        let end = part_end(data, start);
        if start == 0 && end == data.len() {
            return whole(data, ArrayData::validate_values);
        }
        data.slice(start, end - start).validate_values().map_err(|error| {
            ArrowError::InvalidArgumentError(format!("{error}, in the rows from {start} on"))
        })?;
        start = end;
    }
    Ok(())
}

/// Where the part of an array ends that begins at `start` and takes few milliseconds to validate.
fn part_end(data: &ArrayData, start: usize) -> usize {
    let len = data.len();
    let most = len.min(start.saturating_add(PART_ROWS));
    match data.data_type() {
        DataType::Utf8View | DataType::BinaryView => {
            let views = &data.buffer::<u128>(0)[start..most];
            let mut size = 0;
            // The length of a text is in the first four bytes of its view.
            let fits = |view: &&u128| {
                size += (**view & u128::from(u32::MAX)) as usize;
                size <= PART_SIZE
            };
            start + views.iter().take_while(fits).count().max(1)
        }
        DataType::Utf8 | DataType::LargeUtf8 => {
            let average = data.buffers()[1].len() / len;
            most.min(start + (PART_SIZE / average.max(1)).max(1))
        }
        DataType::Binary
        | DataType::LargeBinary
        | DataType::List(_)
        | DataType::LargeList(_)
        | DataType::Map(..)
        | DataType::Dictionary(..) => most,
        _ => len,
    }
}

/// Whether the rows of an array of this type take no memory, so that a few bytes can declare any number of them. Its
/// rows have all the same size in a text, as far as it can be written.
pub(super) fn takes_no_memory(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null
        | DataType::RunEndEncoded(..)
        | DataType::FixedSizeBinary(0)
        | DataType::FixedSizeList(_, 0) => true,
        DataType::FixedSizeList(field, _) => takes_no_memory(field.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| takes_no_memory(field.data_type())),
        _ => false,
    }
}

/// The buffers of an array of a type.
enum Buffers {
    /// So many.
    Exactly(i64),
    /// So many: validity, offsets of four or eight bytes, and perhaps the values.
    Offsets(i64, usize),
    /// Validity, views, values, and the lengths of the buffers of values.
    Views,
}

impl Buffers {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Null | DataType::RunEndEncoded(..) => Self::Exactly(0),
            DataType::Struct(_)
            | DataType::FixedSizeList(..)
            | DataType::Union(_, UnionMode::Sparse) => Self::Exactly(1),
            DataType::Utf8 | DataType::Binary => Self::Offsets(3, 4),
            DataType::LargeUtf8 | DataType::LargeBinary => Self::Offsets(3, 8),
            DataType::List(_) | DataType::Map(..) => Self::Offsets(2, 4),
            DataType::LargeList(_) => Self::Offsets(2, 8),
            DataType::ListView(_) | DataType::LargeListView(_) => Self::Exactly(3),
            DataType::Utf8View | DataType::BinaryView => Self::Views,
            _ => Self::Exactly(2),
        }
    }
}

/// The types of the children of an array.
fn children(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
        DataType::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => vec![field.data_type()],
        _ => Vec::new(),
    }
}

/// What a check has changed in arrays, and the copies that it has made.
#[derive(Default)]
struct Checked {
    offsets: Vec<Vec<u64>>,
    replaced: Vec<Replaced>,
    /// The bytes of other buffers that are not aligned. `arrow-array` copies them, and panics without memory for it.
    unaligned: usize,
}

/// The buffers that an array had. Its producer may free them when it releases the array.
struct Replaced {
    array: *mut RawArray,
    buffers: *const *const c_void,
    n_buffers: i64,
    /// The buffers that it has instead, one of which is a copy.
    _copies: Vec<*const c_void>,
}

impl Checked {
    /// Checks that an array agrees with its type before anything of it is used.
    fn check(&mut self, array: &mut RawArray, data_type: &DataType) -> Result<()> {
        let wrong = |what: &str| {
            let data_type = excerpt(&data_type.to_string());
            invalid(format!("an array of the type {data_type} {what}"))
        };
        if matches!(data_type, DataType::Dictionary(keys, _) if !keys.is_dictionary_key_type()) {
            return Err(wrong("has indices that are no integers"));
        }
        let (buffers, children) = (Buffers::of(data_type), children(data_type));
        if matches!(data_type, DataType::Null) && array.n_buffers != 0 {
            // Some producers pass a buffer that the type does not have.
            let n_buffers = std::mem::take(&mut array.n_buffers);
            let buffers = array.buffers;
            self.replaced.push(Replaced { array, buffers, n_buffers, _copies: Vec::new() });
        }
        let rows = check_sizes(array, data_type, &buffers).map_err(wrong)?;
        match buffers {
            Buffers::Exactly(_) => {}
            Buffers::Offsets(_, width) => {
                self.align(array, rows, width)?;
                check_offsets(array, rows, width).map_err(wrong)?;
            }
            Buffers::Views => check_views(array, rows).map_err(wrong)?,
        }
        check_nulls(array, data_type).map_err(wrong)?;
        self.unaligned = self.unaligned.saturating_add(unaligned(array, data_type, rows));
        if array.n_children != i64::try_from(children.len()).unwrap_or(i64::MAX)
            || (array.n_children > 0 && array.children.is_null())
        {
            return Err(wrong("has another number of children"));
        }
        for (at, child) in children.into_iter().enumerate() {
            // SAFETY: the array has so many children, which are ours like the array.
            let found = unsafe { (*array.children.add(at)).as_mut() };
            self.check(found.ok_or_else(|| wrong("has a child that is null"))?, child)?;
        }
        // SAFETY: the dictionary is null or an array, which is ours.
        match (unsafe { array.dictionary.as_mut() }, data_type) {
            (Some(values), DataType::Dictionary(_, of)) => self.check(values, of),
            (None, DataType::Dictionary(..)) => Err(wrong("has no dictionary")),
            _ => Ok(()),
        }
    }

    /// Copies offsets that are not aligned, which a network or a file can make. Makes those of an array without
    /// rows, which need not have any, but `arrow-array` reads one.
    fn align(&mut self, array: &mut RawArray, rows: i64, width: usize) -> Result<()> {
        // SAFETY: the array has at least two buffers.
        let offsets = unsafe { *array.buffers.add(1) };
        let stays = if offsets.is_null() { rows > 0 } else { offsets.align_offset(width) == 0 };
        if stays {
            return Ok(());
        }
        let count = usize::try_from(array.n_buffers).map_err(|_| Error::OutOfMemory)?;
        let size = usize::try_from(rows)
            .map_err(|_| Error::OutOfMemory)?
            .saturating_add(1)
            .saturating_mul(width);
        let mut copy: Vec<u64> = Vec::new();
        copy.try_reserve_exact(size.div_ceil(8))?;
        copy.resize(size.div_ceil(8), 0);
        if !offsets.is_null() {
            let (from, to) = (offsets.cast::<u8>(), copy.as_mut_ptr().cast::<u8>());
            // SAFETY: the buffer has an offset for each row and one more.
            unsafe { std::ptr::copy_nonoverlapping(from, to, size) };
        }
        // SAFETY: the array has so many buffers.
        let mut buffers = unsafe { slice::from_raw_parts(array.buffers, count).to_vec() };
        buffers[1] = copy.as_ptr().cast();
        let original = std::mem::replace(&mut array.buffers, buffers.as_ptr());
        self.offsets.push(copy);
        let n_buffers = array.n_buffers;
        self.replaced.push(Replaced { array, buffers: original, n_buffers, _copies: buffers });
        Ok(())
    }
}

/// Checks the numbers of rows, nulls and buffers. Returns that of the rows, with those before the offset.
fn check_sizes(
    array: &RawArray,
    data_type: &DataType,
    buffers: &Buffers,
) -> Result<i64, &'static str> {
    let rows = array.length.checked_add(array.offset).filter(|rows| *rows <= MAX_ROWS);
    let Some(rows) = rows.filter(|_| array.length >= 0 && array.offset >= 0) else {
        return Err("has a negative or impossible number of rows");
    };
    if !(-1..=array.length).contains(&array.null_count) {
        return Err("has more nulls than rows");
    }
    if let DataType::FixedSizeBinary(size) = data_type
        && rows.checked_mul((*size).into()).is_none_or(|size| size > MAX_ROWS)
    {
        return Err("has an impossible number of rows");
    }
    if rows > MAX_EMPTY_ROWS && takes_no_memory(data_type) {
        return Err("has too many rows without memory");
    }
    let expected = match buffers {
        Buffers::Exactly(count) | Buffers::Offsets(count, _) => array.n_buffers == *count,
        Buffers::Views => (3..MAX_BUFFERS).contains(&array.n_buffers),
    };
    if !expected || (array.n_buffers > 0 && array.buffers.is_null()) {
        return Err("has another number of buffers");
    }
    Ok(rows)
}

/// The bytes of the buffers of rows that are not aligned.
fn unaligned(array: &RawArray, data_type: &DataType, rows: i64) -> usize {
    let layout = layout(data_type);
    let first = usize::from(layout.can_contain_null_mask);
    let sizes = layout.buffers.iter().enumerate().map(|(at, buffer)| match buffer {
        BufferSpec::FixedWidth { byte_width, alignment } => {
            // SAFETY: the array has the buffers of its type.
            let buffer = unsafe { *array.buffers.add(first + at) };
            let is_aligned = buffer.align_offset(*alignment) == 0;
            if is_aligned {
                0
            } else {
                byte_width.saturating_mul(usize::try_from(rows).unwrap_or(0))
            }
        }
        _ => 0,
    });
    sizes.fold(0, usize::saturating_add)
}

/// Checks the number of nulls where `arrow-array` does not: rows without a bit are valid to it, and so are all rows
/// if there are no nulls by their number.
fn check_nulls(array: &RawArray, data_type: &DataType) -> Result<(), &'static str> {
    if matches!(data_type, DataType::Null | DataType::RunEndEncoded(..) | DataType::Union(..)) {
        return Ok(());
    }
    // SAFETY: the array has at least one buffer.
    let validity = unsafe { *array.buffers }.cast::<u8>();
    let of = |number| usize::try_from(number).map_err(|_| "has too many rows");
    let (start, rows) = (of(array.offset)?, of(array.length)?);
    match array.null_count {
        1.. if validity.is_null() => Err("has a number of nulls, but no bits that say which rows they are"),
        0 if !validity.is_null() && rows > 0 => {
            // SAFETY: the buffer has a bit for each row.
            let bits = unsafe { slice::from_raw_parts(validity, (start + rows).div_ceil(8)) };
            let valid = UnalignedBitChunk::new(bits, start, rows).count_ones();
            if valid == rows { Ok(()) } else { Err("has null rows, but 0 as their number") }
        }
        _ => Ok(()),
    }
}

/// Checks the first and the last offset, from which the size of the values follows.
fn check_offsets(array: &RawArray, rows: i64, width: usize) -> Result<(), &'static str> {
    // SAFETY: the array has at least two buffers.
    let offsets = unsafe { *array.buffers.add(1) };
    let rows = usize::try_from(rows).map_err(|_| "has too many rows")?;
    if offsets.is_null() {
        return Err("has no offsets");
    }
    if offsets.align_offset(width) != 0 {
        return Err(
            "has offsets that are not aligned; copy it, for example with pyarrow.concat_arrays",
        );
    }
    if array.length == 0 {
        return Ok(());
    }
    let offset = |at: usize| {
        // SAFETY: the buffer has an offset for each row and one more, and is aligned.
        unsafe {
            if width == 4 {
                i64::from(*offsets.cast::<i32>().add(at))
            } else {
                *offsets.cast::<i64>().add(at)
            }
        }
    };
    // What is before the offset of the array is not read.
    let first = offset(usize::try_from(array.offset).map_err(|_| "has too many rows")?);
    let last = offset(rows);
    let valid = 0 <= first && first <= last && last <= MAX_ROWS;
    if valid { Ok(()) } else { Err("has offsets out of order") }
}

/// Checks the lengths of the buffers of values.
fn check_views(array: &RawArray, rows: i64) -> Result<(), &'static str> {
    let count = usize::try_from(array.n_buffers).map_err(|_| "has too many buffers")?;
    // SAFETY: the array has so many buffers.
    let buffer = |at: usize| unsafe { *array.buffers.add(at) };
    if buffer(1).is_null() && rows > 0 {
        return Err("has no views");
    }
    let lengths = buffer(count - 1).cast::<i64>();
    if count > 3 && (lengths.is_null() || !lengths.is_aligned()) {
        return Err("has no lengths of its buffers");
    }
    for at in 0..count - 3 {
        // SAFETY: there is a length for each buffer between the views and the lengths.
        let length = unsafe { *lengths.add(at) };
        if !(0..=MAX_ROWS).contains(&length) || (length > 0 && buffer(2 + at).is_null()) {
            return Err("has a buffer of an impossible length");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt;
    use arrow_array::{
        Array, DictionaryArray, Int32Array, LargeStringArray, ListArray, NullArray, RunArray,
        StringArray, StringViewArray,
    };
    use arrow_buffer::OffsetBuffer;
    use std::cell::Cell;

    thread_local! {
        static POLLS: Cell<usize> = const { Cell::new(0) };
    }

    fn count_poll() -> bool {
        POLLS.set(POLLS.get() + 1);
        false
    }

    /// How often the validation of an array polls.
    fn polls(array: &dyn Array) -> usize {
        polls_after(array, None)
    }

    /// As [`polls`], of an array that follows another in its column.
    fn polls_after(array: &dyn Array, before: Option<&dyn Array>) -> usize {
        let before = before.map(Array::to_data);
        POLLS.set(0);
        let valid = interrupt::run(count_poll, || validate(&array.to_data(), before.as_ref()));
        assert!(valid.unwrap().is_ok());
        POLLS.get()
    }

    type Released = (*const *const c_void, i64);

    thread_local! {
        /// The buffers of the array of [`text`] that was released last, and their number.
        static RELEASED: Cell<Option<Released>> = const { Cell::new(None) };
    }

    /// An array of one text.
    fn text(buffers: &[*const c_void; 3]) -> RawArray {
        RawArray {
            length: 1,
            null_count: 0,
            offset: 0,
            n_buffers: 3,
            n_children: 0,
            buffers: buffers.as_ptr(),
            children: std::ptr::null(),
            dictionary: std::ptr::null_mut(),
            release: Some(release_text),
            private_data: std::ptr::null_mut(),
        }
    }

    unsafe extern "C" fn release_text(array: *mut RawArray) {
        // SAFETY: the array is one of `text`.
        let array = unsafe { &mut *array };
        RELEASED.set(Some((array.buffers, array.n_buffers)));
        array.release = None;
    }

    /// [`array`] of an array as the interface passes it.
    fn import(raw: RawArray, data_type: &DataType) -> Result<ArrayRef> {
        // SAFETY: the layout is that of the interface.
        array(unsafe { std::mem::transmute::<RawArray, FFI_ArrowArray>(raw) }, data_type)
    }

    unsafe extern "C" fn release_child(array: *mut RawArray) {
        // SAFETY: the array has one child, of `text`.
        unsafe {
            release_text(*(*array).children);
            (*array).release = None;
        }
    }

    #[test]
    fn a_producer_gets_its_buffers_back() {
        let mut memory = [0; 9];
        let odd = 1 - memory.as_ptr().addr() % 2;
        memory[odd + 4..odd + 8].copy_from_slice(&2_i32.to_ne_bytes());
        let values = "é";
        let buffers =
            [std::ptr::null(), memory[odd..].as_ptr().cast(), values.as_ptr().cast::<c_void>()];
        let mut child = text(&buffers);
        let (no_buffer, children) = ([std::ptr::null()], [&raw mut child]);
        let row = RawArray {
            n_buffers: 1,
            n_children: 1,
            buffers: no_buffer.as_ptr(),
            children: children.as_ptr(),
            release: Some(release_child),
            ..text(&buffers)
        };
        let of_text = DataType::Struct(Fields::from(vec![Field::new("a", DataType::Utf8, true)]));
        for (raw, data_type) in [(text(&buffers), DataType::Utf8), (row, of_text)] {
            assert!(format!("{:?}", import(raw, &data_type).unwrap()).contains("é"));
            assert_eq!(RELEASED.take(), Some((buffers.as_ptr(), 3)));
        }
    }

    #[test]
    fn a_producer_gets_its_buffers_back_if_its_array_is_refused() {
        let mut memory = [0xFF; 9];
        let odd = 1 - memory.as_ptr().addr() % 2;
        memory[odd..odd + 4].copy_from_slice(&0_i32.to_ne_bytes());
        let buffers = [std::ptr::null(), memory[odd..].as_ptr().cast::<c_void>(), std::ptr::null()];
        let error = import(text(&buffers), &DataType::Utf8).unwrap_err();
        assert!(error.to_string().contains("out of order"));
        assert_eq!(RELEASED.take(), Some((buffers.as_ptr(), 3)));
    }

    #[test]
    fn a_producer_gets_a_buffer_back_that_the_type_does_not_have() {
        let buffers = [std::ptr::null(); 3];
        let nulls = RawArray { n_buffers: 1, ..text(&buffers) };
        assert_eq!(import(nulls, &DataType::Null).unwrap().len(), 1);
        assert_eq!(RELEASED.take(), Some((buffers.as_ptr(), 1)));
    }

    #[test]
    fn the_error_for_an_unknown_type_names_it() {
        let schema = FFI_ArrowSchema::try_new("_pli128", Vec::new(), None).unwrap();
        assert!(parsed(&schema).unwrap_err().to_string().contains("\"_pli128\""));
    }

    #[test]
    fn the_error_for_an_unknown_type_has_its_place() {
        let schema = |format, name, children| {
            FFI_ArrowSchema::try_new(format, children, None).unwrap().with_name(name).unwrap()
        };
        let known = schema("l", "a", Vec::new());
        let list = schema("+l", "b c", vec![schema("_pli128", "item", Vec::new())]);
        let Err(Error::Unreadable { steps, .. }) = parsed(&schema("+s", "", vec![known, list]))
        else {
            panic!("it is readable");
        };
        assert_eq!(steps, "[*][\"b c\"][*]");
    }

    #[test]
    fn the_search_for_an_unknown_type_reads_each_part_once() {
        let polls = |format| {
            let leaf = || FFI_ArrowSchema::try_new("c", Vec::new(), None).unwrap();
            let deepest = FFI_ArrowSchema::try_new(format, Vec::new(), None).unwrap();
            let schema = (0..100).fold(deepest, |schema, _| {
                let parts = (0..10).map(|_| leaf()).chain([schema]).collect();
                FFI_ArrowSchema::try_new("+s", parts, None).unwrap()
            });
            POLLS.set(0);
            let is_known = interrupt::run(count_poll, || parsed(&schema).is_ok()).unwrap();
            (is_known, POLLS.get())
        };
        assert_eq!(polls("c"), (true, 1100));
        assert_eq!(polls("_pli128"), (false, 1100 + 1101));
    }

    #[test]
    fn indices_that_are_no_integers_are_refused() {
        let buffers = [std::ptr::null(); 3];
        for indices in [DataType::Utf8View, DataType::Utf8, DataType::Null, DataType::Float64] {
            let raw = RawArray { length: 0, n_buffers: 2, ..text(&buffers) };
            let data_type = DataType::Dictionary(indices.into(), DataType::Utf8.into());
            let error = import(raw, &data_type).unwrap_err();
            assert!(error.to_string().contains("indices that are no integers"), "{error}");
        }
    }

    #[test]
    fn too_little_memory_for_buffers_that_are_not_aligned_is_an_error() {
        let memory = [0_i64];
        let odd = memory.as_ptr().cast::<u8>().wrapping_add(1);
        let buffers = [std::ptr::null(), odd.cast(), std::ptr::null()];
        let raw = RawArray { length: 1 << 47, n_buffers: 2, ..text(&buffers) };
        assert!(matches!(import(raw, &DataType::Int64), Err(Error::OutOfMemory)));
    }

    #[test]
    fn offsets_that_no_row_has_may_be_any() {
        let values = "é";
        let offsets = [-7_i32, 0, 2];
        let buffers = [std::ptr::null(), offsets.as_ptr().cast(), values.as_ptr().cast()];
        let read = import(RawArray { offset: 1, ..text(&buffers) }, &DataType::Utf8).unwrap();
        assert!(format!("{read:?}").contains("é"));

        let (free, no_values) = ([7_i32], [std::ptr::null(); 2]);
        let buffers = [std::ptr::null(), free.as_ptr().cast(), std::ptr::null()];
        let mut child = RawArray { length: 0, n_buffers: 2, ..text(&[std::ptr::null(); 3]) };
        child.buffers = no_values.as_ptr();
        let children = [&raw mut child];
        let (n_children, children) = (1, children.as_ptr());
        let raw = RawArray { length: 0, n_buffers: 2, n_children, children, ..text(&buffers) };
        let field = Arc::new(Field::new("item", DataType::Int32, true));
        assert_eq!(import(raw, &DataType::List(field)).unwrap().len(), 0);
    }

    #[test]
    fn a_number_of_nulls_that_contradicts_their_bits_is_refused() {
        let (null, valid, offsets) = ([0_u8], [1_u8], [0_i32, 2]);
        let values = "é";
        for (bits, null_count, is_right) in [
            (Some(&valid), 0, true),
            (Some(&null), 1, true),
            (Some(&null), -1, true),
            (None, 0, true),
            (None, -1, true),
            (Some(&null), 0, false),
            (Some(&valid), 1, false),
            (None, 1, false),
        ] {
            let bits = bits.map_or(std::ptr::null(), |bits| bits.as_ptr().cast());
            let buffers = [bits, offsets.as_ptr().cast(), values.as_ptr().cast()];
            let read = import(RawArray { null_count, ..text(&buffers) }, &DataType::Utf8);
            assert_eq!(read.is_ok(), is_right, "{bits:?} {null_count}");
        }
    }

    #[test]
    fn values_of_runs_and_unions_may_be_null_whatever_the_schema_says() {
        let field = |is_nullable| Arc::new(Field::new("a", DataType::Int32, is_nullable));
        let runs = nullable(&DataType::RunEndEncoded(field(true), field(false)));
        assert_eq!(runs, DataType::RunEndEncoded(field(false), field(true)));
        let union = |field| DataType::Union([(3, field)].into_iter().collect(), UnionMode::Dense);
        assert_eq!(nullable(&union(field(false))), union(field(true)));
    }

    #[test]
    fn sizes_below_zero_are_refused() {
        let list = FFI_ArrowSchema::try_new(
            "+w:-1",
            vec![FFI_ArrowSchema::try_new("l", vec![], None).unwrap()],
            None,
        );
        for schema in [list, FFI_ArrowSchema::try_new("w:-1", vec![], None)] {
            assert!(parsed(&schema.unwrap()).unwrap_err().to_string().contains("negative"));
        }
    }

    #[test]
    fn a_long_array_is_validated_in_parts() {
        let text = "é".repeat(PART_SIZE / 4);
        assert_eq!(polls(&StringArray::new_null(10 * PART_ROWS)), 10);
        assert_eq!(polls(&LargeStringArray::from(vec![&*text; 20])), 10);
        assert_eq!(polls(&StringViewArray::from(vec![&*text; 20])), 10);
        assert_eq!(polls(&StringViewArray::from(vec![&*text.repeat(9); 20])), 20);
    }

    #[test]
    fn what_chunks_share_is_validated_once() {
        let texts = Arc::new(StringArray::new_null(10 * PART_ROWS));
        let keys = Int32Array::from(vec![0, 1, 2, 3]);
        let dictionary: ArrayRef = Arc::new(DictionaryArray::new(keys, texts));
        let field = Arc::new(Field::new("item", dictionary.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths([2, 2]);
        let lists = ListArray::new(field, offsets, dictionary.clone(), None);
        for array in [dictionary, Arc::new(lists)] {
            let (first, next) = (array.slice(0, 1), array.slice(1, 1));
            assert!(polls(&*first) > 10);
            assert!(polls_after(&*next, Some(&*first)) < 5);
        }
    }

    #[test]
    fn a_chunk_is_validated_where_it_differs_from_the_one_before() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let dictionary = |keys: Vec<i32>, texts: &ArrayRef| {
            let data = DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into());
            let data = ArrayData::builder(data)
                .len(keys.len())
                .add_buffer(keys.into())
                .add_child_data(texts.to_data());
            // SAFETY: nothing but the validation reads it.
            unsafe { data.build_unchecked() }
        };
        let before = dictionary(vec![0, 1], &texts);
        let is_valid = |data: &ArrayData| validate(data, Some(&before)).is_ok();
        assert!(is_valid(&before));
        assert!(is_valid(&before.slice(1, 1)));
        assert!(!is_valid(&dictionary(vec![0, 2], &texts)));
        // The same keys, of fewer values.
        let fewer = before.clone().into_builder().child_data(vec![texts.slice(0, 1).to_data()]);
        // SAFETY: as above.
        assert!(!is_valid(&unsafe { fewer.build_unchecked() }));
    }

    /// List views of one row each, nested so deep.
    fn views(rows: usize, depth: usize) -> ArrayData {
        let zeros = vec![0_i32; rows];
        (0..depth).fold(NullArray::new(rows).to_data(), |child, _| {
            let field = Field::new("item", child.data_type().clone(), true);
            let data = ArrayData::builder(DataType::ListView(Arc::new(field)))
                .len(rows)
                .add_buffer(zeros.clone().into())
                .add_buffer(zeros.clone().into())
                .add_child_data(child);
            // SAFETY: every list is empty.
            unsafe { data.build_unchecked() }
        })
    }

    fn run_ends(runs: usize) -> ArrayData {
        let ends = Int32Array::from_iter_values(1..=i32::try_from(runs).unwrap());
        RunArray::try_new(&ends, &NullArray::new(runs)).unwrap().to_data()
    }

    #[test]
    fn a_check_of_many_rows_that_has_no_parts_polls_beside_it() {
        let polls = |data: ArrayData| polls(&*make_array(data));
        assert!(polls(views(PART_ROWS, 1)) > polls(views(PART_ROWS - 1, 1)));
        assert!(polls(views(PART_ROWS / 4, 4)) > polls(views(PART_ROWS / 4, 3)) + 1);
        assert!(polls(run_ends(PART_ROWS)) > polls(run_ends(PART_ROWS - 1)) + 1);
    }

    #[test]
    fn an_error_is_found_in_every_part() {
        let rows = 3 * PART_ROWS;
        for bad in [0, PART_ROWS, rows - 1] {
            let mut bytes = vec![b'a'; rows];
            bytes[bad] = 0xff;
            let offsets: Vec<i32> = (0..=i32::try_from(rows).unwrap()).collect();
            let data = ArrayData::builder(DataType::Utf8)
                .len(rows)
                .add_buffer(offsets.into())
                .add_buffer(bytes.into());
            // SAFETY: nothing but the validation reads the texts.
            let data = unsafe { data.build_unchecked() };
            assert!(validate(&data, None).is_err(), "{bad}");
        }
    }
}
