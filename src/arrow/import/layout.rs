//! The layout of a producer's array: its rows, buffers and children, compared with its type before anything reads them.
//!
//! Buffers that `arrow-array` cannot read as they are, such as offsets that are not aligned, are replaced by copies; the
//! producer gets its own back when the array is released.

use super::{Result, invalid};
use crate::arrow::error::{Error, type_excerpt};
use crate::memory;
use arrow_array::ffi::FFI_ArrowArray;
use arrow_buffer::bit_chunk_iterator::UnalignedBitChunk;
use arrow_data::{BufferSpec, layout};
use arrow_schema::{DataType, UnionMode};
use std::ffi::c_void;
use std::slice;

/// The maximum number of rows of an array that [takes no memory](takes_no_memory).
const MAX_EMPTY_ROWS: i64 = 1 << 28;

/// The maximum number of buffers of an array of views.
const MAX_BUFFERS: i64 = 1 << 24;

/// More rows than any memory has, so that sizes in bytes do not overflow.
const MAX_ROWS: i64 = 1 << 48;

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

const _: () = assert!(size_of::<RawArray>() == size_of::<FFI_ArrowArray>());

/// Checks that an array agrees with its type, as far as its rows and buffers tell. Replaces buffers of it by copies.
pub(super) fn check(array: &mut FFI_ArrowArray, data_type: &DataType) -> Result<()> {
    // SAFETY: the layout is that of the interface, and the array is ours.
    let raw = unsafe { &mut *(&raw mut *array).cast::<RawArray>() };
    let mut checked = Checked::default();
    let agrees = checked.check(raw, data_type);
    let unaligned = checked.unaligned;
    // Also an array that is refused, and released at once, gets its own buffers back.
    if !checked.replaced.is_empty() {
        keep(raw, checked);
    }
    agrees?;
    Ok(memory::ensure(unaligned)?)
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

/// Whether the rows of an array of this type take no memory, so that a few bytes can declare any number of them. Its
/// rows have all the same size in a text, as far as it can be written.
pub(in crate::arrow) fn takes_no_memory(data_type: &DataType) -> bool {
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
            let data_type = type_excerpt(data_type);
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
        1.. if validity.is_null() => {
            Err("has a number of nulls, but no bits that say which rows they are")
        }
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
    use super::super::array;
    use super::*;
    use arrow_array::ArrayRef;
    use arrow_schema::{Field, Fields};
    use std::cell::Cell;
    use std::sync::Arc;

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
}
