//! The content of an imported array: its values are validated in parts, so that the call can be stopped, and what chunks
//! share only once. Before that, offsets that no row has are replaced, because Arrow lets them be any.

use crate::interrupt::{poll, run_apart};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};

/// The rows and the bytes of texts that are validated between two polls.
const PART_ROWS: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };
const PART_SIZE: usize = if cfg!(test) { 1 << 16 } else { 64 << 20 };

/// The array with zeros for the offsets of texts and lists without rows; `None` if it has none. Their only offset may
/// be any, as in a slice of `arrow-array` itself, which reads no texts for it, so that the offset would be beyond them.
pub(super) fn without_free_offsets(data: &ArrayData) -> Option<ArrayData> {
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
pub(super) fn validate(data: &ArrayData, before: Option<&ArrayData>) -> Result<(), ArrowError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::counted;
    use arrow_array::{
        Array, ArrayRef, DictionaryArray, Int32Array, LargeStringArray, ListArray, NullArray,
        RunArray, StringArray, StringViewArray, make_array,
    };
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;
    use std::sync::Arc;

    /// How often the validation of an array polls.
    fn polls(array: &dyn Array) -> usize {
        polls_after(array, None)
    }

    /// As [`polls`], of an array that follows another in its column.
    fn polls_after(array: &dyn Array, before: Option<&dyn Array>) -> usize {
        let before = before.map(Array::to_data);
        let (valid, count) = counted(|| validate(&array.to_data(), before.as_ref()));
        assert!(valid.is_ok());
        count
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
