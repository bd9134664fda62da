//! Arrays of any type with any content: only the sizes of their buffers are right, because the Arrow C data
//! interface does not say them.

use arrow_buffer::Buffer;
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use std::sync::Arc;

const MAX_ROWS: usize = 20;
const MAX_OFFSET: usize = 9;
const MAX_DEPTH: usize = 3;

/// An array of any type.
pub fn any(input: &mut Unstructured<'_>) -> Result<ArrayData> {
    of(input, 0)
}

fn of(input: &mut Unstructured<'_>, depth: usize) -> Result<ArrayData> {
    let kinds = if depth < MAX_DEPTH { 22 } else { 14 };
    let (text, large) = (DataType::Utf8, DataType::LargeUtf8);
    match input.int_in_range(0..=kinds)? {
        0 => Array::new(input, DataType::Null)?.build(),
        1 => fixed(input, DataType::Boolean, 1),
        2 => fixed(input, DataType::Int8, 8),
        3 => fixed(input, DataType::UInt64, 64),
        4 => fixed(input, DataType::Float16, 16),
        5 => fixed(input, DataType::Float64, 64),
        6 => fixed(input, DataType::Date32, 32),
        7 => fixed(input, DataType::Time64(TimeUnit::Nanosecond), 64),
        8 => fixed(input, DataType::Timestamp(TimeUnit::Second, Some("+01:30".into())), 64),
        9 => fixed(input, DataType::Decimal128(38, 3), 128),
        10 | 11 => offsets(input, text, 4)?.values(input)?.build(),
        12 => offsets(input, large, 8)?.values(input)?.build(),
        13 => offsets(input, DataType::Binary, 4)?.values(input)?.build(),
        14 => views(input),
        15 => dictionary(input, depth),
        16 => {
            let child = of(input, depth + 1)?;
            let mut array = offsets(input, DataType::List(field("item", &child)), 4)?;
            array.last = child.len();
            array.children(vec![child]).build()
        }
        17 => {
            let child = of(input, depth + 1)?;
            let mut array = offsets(input, DataType::LargeList(field("item", &child)), 8)?;
            array.last = child.len();
            array.children(vec![child]).build()
        }
        18 => {
            let child = of(input, depth + 1)?;
            let size = input.int_in_range(0..=3)?;
            let data_type = DataType::FixedSizeList(field("item", &child), size);
            Array::new(input, data_type)?.children(vec![child]).build()
        }
        19 => map(input, depth),
        _ => structure(input, depth),
    }
}

fn field(name: &str, array: &ArrayData) -> Arc<Field> {
    Arc::new(Field::new(name, array.data_type().clone(), true))
}

fn fixed(input: &mut Unstructured<'_>, data_type: DataType, bits: usize) -> Result<ArrayData> {
    let mut array = Array::new(input, data_type)?;
    let size = (array.all() * bits).div_ceil(8);
    array.buffers.push(bytes(input, size));
    array.build()
}

/// An array whose first buffer has offsets of `width` bytes.
fn offsets(input: &mut Unstructured<'_>, data_type: DataType, width: usize) -> Result<Array> {
    let mut array = Array::new(input, data_type)?;
    let mut all = Vec::new();
    let ordered = input.ratio(7, 8)?;
    for _ in 0..=array.all() {
        all.push(usize::from(input.arbitrary::<u8>()?) % 64);
    }
    if ordered {
        all.sort_unstable();
    }
    array.width = width;
    array.offsets = all;
    Ok(array)
}

fn views(input: &mut Unstructured<'_>) -> Result<ArrayData> {
    let mut array = Array::new(input, DataType::Utf8View)?;
    let size = array.all() * 16;
    array.buffers.push(bytes(input, size));
    for _ in 0..input.int_in_range(0..=2)? {
        let size = input.int_in_range(0..=40)?;
        array.buffers.push(bytes(input, size));
    }
    array.build()
}

fn dictionary(input: &mut Unstructured<'_>, depth: usize) -> Result<ArrayData> {
    let values = of(input, depth + 1)?;
    let of = Box::new(values.data_type().clone());
    let mut array = Array::new(input, DataType::Dictionary(Box::new(DataType::Int8), of))?;
    let size = array.all();
    array.buffers.push(bytes(input, size));
    array.children(vec![values]).build()
}

fn map(input: &mut Unstructured<'_>, depth: usize) -> Result<ArrayData> {
    let (keys, values) = (of(input, depth + 1)?, of(input, depth + 1)?);
    let rows = keys.len().min(values.len());
    let fields = Fields::from(vec![field("key", &keys), field("value", &values)]);
    let entries = DataType::Struct(fields);
    let entries = Array::of(input, entries, rows, 0)?.children(vec![keys, values]).build()?;
    let data_type = DataType::Map(field("entries", &entries), false);
    let mut array = offsets(input, data_type, 4)?;
    array.last = rows;
    array.children(vec![entries]).build()
}

fn structure(input: &mut Unstructured<'_>, depth: usize) -> Result<ArrayData> {
    let mut children = Vec::new();
    let mut fields = Vec::new();
    for _ in 0..input.int_in_range(0..=3)? {
        let child = of(input, depth + 1)?;
        fields.push(field(input.choose(&["a", "b", "c", "a>b"])?, &child));
        children.push(child);
    }
    let data_type = DataType::Struct(Fields::from(fields));
    let array = if input.ratio(7, 8)? {
        // Rows that all columns have.
        let rows = children.iter().map(ArrayData::len).min().unwrap_or(MAX_ROWS);
        let offset = input.int_in_range(0..=rows)?;
        Array::of(input, data_type, rows - offset, offset)?
    } else {
        Array::new(input, data_type)?
    };
    array.children(children).build()
}

/// So many bytes of the input, then zeros.
fn bytes(input: &mut Unstructured<'_>, size: usize) -> Buffer {
    let mut bytes = vec![0; size];
    let _ = input.fill_buffer(&mut bytes);
    Buffer::from(bytes)
}

/// The parts of an array.
struct Array {
    data_type: DataType,
    rows: usize,
    offset: usize,
    validity: Option<Buffer>,
    buffers: Vec<Buffer>,
    children: Vec<ArrayData>,
    /// The offsets, of so many bytes each, if there are any.
    offsets: Vec<usize>,
    width: usize,
    /// The number of values, which no offset exceeds.
    last: usize,
}

impl Array {
    fn new(input: &mut Unstructured<'_>, data_type: DataType) -> Result<Self> {
        let rows = input.int_in_range(0..=MAX_ROWS)?;
        let offset = input.int_in_range(0..=MAX_OFFSET)?;
        Self::of(input, data_type, rows, offset)
    }

    /// With so many rows after the first ones, which are `offset`.
    fn of(
        input: &mut Unstructured<'_>,
        data_type: DataType,
        rows: usize,
        offset: usize,
    ) -> Result<Self> {
        let has_validity = data_type != DataType::Null && input.arbitrary()?;
        let validity = has_validity.then(|| bytes(input, (rows + offset).div_ceil(8)));
        Ok(Self {
            data_type,
            rows,
            offset,
            validity,
            buffers: Vec::new(),
            children: Vec::new(),
            offsets: Vec::new(),
            width: 0,
            last: 0,
        })
    }

    /// The number of rows with those before the first.
    fn all(&self) -> usize {
        self.rows + self.offset
    }

    /// With values of any content, as many as the last offset says.
    fn values(mut self, input: &mut Unstructured<'_>) -> Result<Self> {
        self.last = self.offsets.last().copied().unwrap_or(0);
        let values = bytes(input, self.last);
        self.buffers.push(values);
        Ok(self)
    }

    fn children(mut self, children: Vec<ArrayData>) -> Self {
        self.children = children;
        self
    }

    fn build(mut self) -> Result<ArrayData> {
        if let Some(last) = self.offsets.last_mut() {
            *last = self.last;
            let limit = self.last + 1;
            let offset = |offset: &usize| ((offset % limit) as u64).to_le_bytes();
            let offsets =
                self.offsets.iter().flat_map(|at| offset(at).into_iter().take(self.width));
            self.buffers.insert(0, Buffer::from(offsets.collect::<Vec<u8>>()));
        }
        let array = ArrayDataBuilder::new(self.data_type)
            .len(self.rows)
            .offset(self.offset)
            .null_bit_buffer(self.validity)
            .buffers(self.buffers)
            .child_data(self.children);
        // SAFETY: the array is only exported, and the importer checks it.
        Ok(unsafe { array.build_unchecked() })
    }
}
