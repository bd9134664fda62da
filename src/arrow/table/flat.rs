//! Writes a table of scalars as GCF, some rows at a time: the cells of one column after those of another, and then
//! the rows.
//!
//! A loop over the cells of one column has none of the branches by which columns differ, so that it takes half
//! of the time of [`Rows`](super::walk::Rows). Texts are copied only once, from the table to their row.
//!
//! Invariant: the text is that of [`gcf::write_walk`]. What cannot be written is left to the other paths.

use super::Table;
use super::node::{Kind, Node};
use crate::arrow::integers::Integers;
use crate::arrow::keys::Keys;
use crate::gcf::{self, EncodeOptions, put_float, put_value};
use crate::interrupt::Steps;
use crate::memory;
use crate::text::output::{Mark, Output};
use crate::walk::Found;
use std::ops::Range;

/// How many rows are written at once, if there are few columns.
const ROWS: usize = 256;

/// How many cells are written at once, except in a row of more.
const CELLS: usize = 1 << 14;

/// The bytes of memory for a column without its cells, and for a cell that is written beforehand.
const COLUMN: usize = 512;
const CELL: usize = 192;

/// How many values of dictionaries are written beforehand for a chunk. Other dictionaries are read row by row.
const KNOWN: usize = 1 << 14;

/// The maximum length of a text in a dictionary whose values are written beforehand.
const SHORT: usize = 24;

/// The text of a table; `None` if it must be written in another way.
pub(super) fn write(table: &Table, options: &EncodeOptions) -> Option<String> {
    let EncodeOptions { constant_columns, group_values, list_columns, matrices, limits, .. } =
        *options;
    let Kind::Struct(of) = &table.chunks.first()?.kind else { return None };
    if constant_columns || group_values || list_columns || matrices || of.duplicate.is_some() {
        return None;
    }
    let mut names = Vec::new();
    memory::require(names.try_reserve_exact(of.fields.len()));
    names.extend(of.fields.iter().map(|field| field.name().as_str()));
    gcf::write_rows(&names, table.rows(), limits.max_depth, |out| {
        let mut steps = Steps::default();
        table.chunks.iter().zip(table.starts.windows(2)).try_for_each(|(chunk, starts)| {
            write_chunk(chunk, starts[1] - starts[0], out, &mut steps)
        })
    })
}

fn write_chunk(
    chunk: &Node,
    rows: usize,
    out: &mut Output<Vec<u8>>,
    steps: &mut Steps,
) -> Option<()> {
    let Kind::Struct(of) = &chunk.kind else { return None };
    if chunk.nulls().is_some() {
        return None;
    }
    let mut columns = Vec::new();
    let step = (CELLS / of.columns.len().max(1)).clamp(1, ROWS);
    // The other paths need less memory.
    memory::ensure(of.columns.len().saturating_mul(COLUMN + step * CELL)).ok()?;
    memory::require(columns.try_reserve_exact(of.columns.len()));
    let mut known = KNOWN;
    for node in &of.columns {
        columns.push(Column::new(node, rows, &mut known)?);
    }
    steps.add(KNOWN - known);
    for start in (0..rows).step_by(step) {
        let rows = start..rows.min(start + step);
        steps.add(rows.len() * columns.len());
        for column in &mut columns {
            column.prepare(rows.clone())?;
        }
        for row in rows.clone() {
            for column in &columns {
                column.put(row, row - rows.start, out)?;
                out.byte(b'|');
            }
            out.replace_last(b'\n');
        }
    }
    (!out.failed()).then_some(())
}

enum Column<'t> {
    /// Each cell is written in its row.
    Row(&'t Node),
    /// The cells of some rows are written beforehand.
    Numbers(&'t Node, Cells),
    /// The values of a dictionary are written beforehand.
    Dictionary(&'t Keys, Cells),
}

impl<'t> Column<'t> {
    /// `None` for a column that can have other values than scalars. `known` is how many values of dictionaries
    /// may still be written beforehand; those of one dictionary are at most as many as the rows.
    fn new(node: &'t Node, rows: usize, known: &mut usize) -> Option<Self> {
        Some(match &node.kind {
            Kind::Struct(_) | Kind::List(..) | Kind::Map(..) => return None,
            Kind::Dictionary(keys, values) => {
                Self::new(values, 0, &mut 0)?;
                let count = keys.values();
                let fits = count <= rows.min(*known);
                match fits.then(|| Cells::of_dictionary(values, count)).flatten() {
                    Some(cells) => {
                        *known -= count;
                        Self::Dictionary(keys, cells)
                    }
                    None => Self::Row(node),
                }
            }
            Kind::Null
            | Kind::Bool(_)
            | Kind::Bool8(_)
            | Kind::Int(_)
            | Kind::F16(_)
            | Kind::F32(_)
            | Kind::F64(_) => Self::Numbers(node, Cells::new()),
            _ => Self::Row(node),
        })
    }

    /// Prepares the cells of some rows. `None` if there are others than scalars that GCF has.
    fn prepare(&mut self, rows: Range<usize>) -> Option<()> {
        match self {
            Self::Numbers(node, cells) => cells.fill(node, rows),
            Self::Row(_) | Self::Dictionary(..) => Some(()),
        }
    }

    /// Appends the cell of a row, the `index`th of those that are prepared.
    #[inline]
    fn put(&self, row: usize, index: usize, out: &mut Output<Vec<u8>>) -> Option<()> {
        match self {
            Self::Row(node) => return put_scalar(node, row, out),
            Self::Numbers(_, cells) => cells.put(index, out),
            Self::Dictionary(keys, cells) => match keys.get(row) {
                Some(value) => cells.put(value, out),
                None => out.byte(b'-'),
            },
        }
        Some(())
    }
}

/// Cells of one column.
struct Cells {
    text: Output<Vec<u8>>,
    /// The start of the first cell, and the end of each.
    marks: Vec<Mark>,
}

impl Cells {
    fn new() -> Self {
        let text = Output::new(Vec::new());
        let marks = vec![text.mark()];
        Self { text, marks }
    }

    /// The cells of the values of a dictionary, if they are short.
    fn of_dictionary(values: &Node, count: usize) -> Option<Self> {
        let is_short = |row| values.text(row).is_none_or(|text| text.len() <= SHORT);
        if !(0..count).all(|row| values.is_null(row) || is_short(row)) {
            return None;
        }
        memory::ensure(count * CELL).ok()?;
        let mut cells = Self::new();
        for row in 0..count {
            put_scalar(values, row, &mut cells.text)?;
            cells.marks.push(cells.text.mark());
        }
        (!cells.text.failed()).then_some(cells)
    }

    #[inline]
    fn put(&self, index: usize, out: &mut Output<Vec<u8>>) {
        out.part(&self.text, self.marks[index], self.marks[index + 1]);
    }

    /// Replaces the cells by those of other rows.
    fn fill(&mut self, node: &Node, rows: Range<usize>) -> Option<()> {
        macro_rules! fill {
            ($values:ident, $put:expr) => {
                self.fill_with(node, rows, |out, row| $put(out, $values[row]))
            };
        }
        match &node.kind {
            Kind::Int(Integers::I8(values)) => fill!(values, put_int),
            Kind::Int(Integers::I16(values)) => fill!(values, put_int),
            Kind::Int(Integers::I32(values)) => fill!(values, put_int),
            Kind::Int(Integers::I64(values)) => fill!(values, put_int),
            Kind::Int(Integers::U8(values)) => fill!(values, put_int),
            Kind::Int(Integers::U16(values)) => fill!(values, put_int),
            Kind::Int(Integers::U32(values)) => fill!(values, put_int),
            Kind::F64(array) => {
                let values = array.values();
                fill!(values, put_double)
            }
            Kind::F32(array) => {
                let values = array.values();
                fill!(values, put_double)
            }
            _ => self.fill_with(node, rows, |out, row| put_scalar(node, row, out)),
        }
    }

    #[inline]
    fn fill_with(
        &mut self,
        node: &Node,
        rows: Range<usize>,
        put: impl Fn(&mut Output<Vec<u8>>, usize) -> Option<()>,
    ) -> Option<()> {
        self.marks.truncate(1);
        self.text.cut(self.marks[0]);
        if let Some(nulls) = node.nulls() {
            for row in rows {
                if nulls.is_null(row) {
                    self.text.byte(b'-');
                } else {
                    put(&mut self.text, row)?;
                }
                self.marks.push(self.text.mark());
            }
        } else {
            for row in rows {
                put(&mut self.text, row)?;
                self.marks.push(self.text.mark());
            }
        }
        (!self.text.failed()).then_some(())
    }
}

#[inline]
#[expect(clippy::unnecessary_wraps, reason = "as `put_double`")]
fn put_int(out: &mut Output<Vec<u8>>, value: impl Into<i64>) -> Option<()> {
    out.int(value.into());
    Some(())
}

#[inline]
fn put_double(out: &mut Output<Vec<u8>>, value: impl Into<f64>) -> Option<()> {
    let value = value.into();
    value.is_finite().then(|| put_float(value, out))
}

/// Appends the cell of a row; `None` if it has no scalar that GCF has.
#[inline]
fn put_scalar(node: &Node, row: usize, out: &mut Output<Vec<u8>>) -> Option<()> {
    if node.is_null(row) {
        out.byte(b'-');
        return Some(());
    }
    match &node.kind {
        Kind::Null => out.byte(b'-'),
        Kind::Bool(values) => out.bool(values.value(row)),
        Kind::Bool8(values) => out.bool(values[row] != 0),
        Kind::Dictionary(keys, values) => match keys.get(row) {
            Some(row) => return put_scalar(values, row, out),
            None => out.byte(b'-'),
        },
        Kind::Text(moments) => put_value(&moments.text(row)?, out),
        _ => match node.scalar::<(), ()>(row)? {
            Found::Text(text) => put_value(text, out),
            Found::Int(value) => out.int(value),
            Found::Float(value) => return put_double(out, value),
            _ => return None,
        },
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrow::column::Column as Rows;
    use crate::gcf::{Builder, Bump};
    use crate::interrupt;
    use arrow_array::types::Int16Type;
    use arrow_array::{
        ArrayRef, BooleanArray, Date32Array, DictionaryArray, Float16Array, Float32Array,
        Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray, NullArray, StringArray,
        StringViewArray, StructArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
    };
    use arrow_schema::Field;
    use std::cell::Cell;
    use std::sync::Arc;

    /// The text that the checked path writes.
    fn checked(table: &Table) -> String {
        let (bump, options) = (Bump::new(), EncodeOptions::default());
        let mut builder = Builder::new(&bump, options.limits);
        table.emit(&mut builder).unwrap();
        gcf::write(&builder.finish(), &options).unwrap()
    }

    fn table(chunks: Vec<Vec<(&str, ArrayRef)>>) -> Table {
        let chunks: Vec<ArrayRef> = chunks
            .into_iter()
            .map(|columns| {
                let fields = columns.iter().map(|(name, array)| {
                    Arc::new(Field::new(*name, array.data_type().clone(), true))
                });
                let (fields, columns): (Vec<_>, _) =
                    fields.zip(columns.iter().map(|column| Arc::clone(&column.1))).unzip();
                Arc::new(StructArray::new(fields.into(), columns, None)) as ArrayRef
            })
            .collect();
        let field = Field::new("", chunks[0].data_type().clone(), true);
        Table::new(&Rows::new(Arc::new(field), chunks)).unwrap()
    }

    fn texts(rows: usize, step: usize) -> Vec<Option<String>> {
        let pick = ["plain", "", "a|b", "12", "ten to twenty-four bytes", "ß", "-", "true", " x"];
        let text = |row: usize| pick[row * step % pick.len()].repeat(1 + row % 3);
        (0..rows).map(|row| (row % 11 > 0).then(|| text(row))).collect()
    }

    /// Columns of every type of scalar, with nulls from the row `from` on.
    fn scalars(rows: usize, from: i32) -> Vec<(&'static str, ArrayRef)> {
        let numbered = 0..i32::try_from(rows).unwrap();
        macro_rules! numbers {
            ($array:ty, $value:expr) => {{
                let value = |row: i32| (row < from || row % 3 > 0).then_some($value(row));
                Arc::new(numbered.clone().map(value).collect::<$array>()) as ArrayRef
            }};
        }
        let known: DictionaryArray<Int16Type> = texts(rows, 1)
            .iter()
            .map(|text| text.as_deref().filter(|text| text.len() <= SHORT))
            .collect();
        let many = (0..rows).map(|row| Some(format!("{row:>30}x"))).collect::<Vec<_>>();
        let many: DictionaryArray<Int16Type> = many.iter().map(Option::as_deref).collect();
        vec![
            ("i8", numbers!(Int8Array, |row: i32| i8::try_from(row % 100 - 50).unwrap())),
            ("i32", numbers!(Int32Array, |row: i32| row * 1_919_317)),
            (
                "i64",
                numbers!(Int64Array, |row: i32| 10_i64.pow(row.unsigned_abs() % 19)
                    * i64::from(1 - row % 2 * 2)),
            ),
            ("u8", numbers!(UInt8Array, |row: i32| u8::try_from(row % 256).unwrap())),
            ("u16", numbers!(UInt16Array, |row: i32| u16::try_from(row).unwrap())),
            ("u32", numbers!(UInt32Array, |row: i32| row.unsigned_abs() * 4_000_000)),
            ("u64", numbers!(UInt64Array, |row: i32| u64::from(row.unsigned_abs()))),
            ("f16", numbers!(Float16Array, |row: i32| half::f16::from_f64(f64::from(row) / 8.0))),
            (
                "f32",
                numbers!(Float32Array, |row: i32| f32::from(i16::try_from(row).unwrap()) / 3.0),
            ),
            ("f64", numbers!(Float64Array, |row: i32| 1.5_f64.powi(row % 600 - 300))),
            ("bool", numbers!(BooleanArray, |row: i32| row % 5 > 1)),
            ("date", numbers!(Date32Array, |row: i32| row)),
            ("null", Arc::new(NullArray::new(rows))),
            ("text", Arc::new(StringArray::from(texts(rows, 1)))),
            ("large", Arc::new(LargeStringArray::from(texts(rows, 2)))),
            ("view", Arc::new(StringViewArray::from(texts(rows, 4)))),
            ("known", Arc::new(known)),
            ("a, b", Arc::new(many)),
        ]
    }

    #[test]
    fn the_text_is_that_of_the_checked_path() {
        for (rows, from) in [(1, 0), (ROWS, 9999), (ROWS + 1, 0), (3 * ROWS, 256)] {
            let table = table(vec![scalars(rows, from), scalars(0, 0), scalars(7, 0)]);
            let text = write(&table, &EncodeOptions::default());
            assert_eq!(text.as_deref(), Some(&*checked(&table)));
        }
        let dictionary = (0..=KNOWN).map(|row: usize| Some(row.to_string())).collect::<Vec<_>>();
        let dictionary: DictionaryArray<Int16Type> =
            dictionary.iter().map(Option::as_deref).collect();
        let table = table(vec![vec![("many", Arc::new(dictionary))]]);
        let text = write(&table, &EncodeOptions::default());
        assert_eq!(text.as_deref(), Some(&*checked(&table)));
    }

    #[test]
    fn only_dictionaries_of_few_values_are_written_beforehand() {
        let texts = ["a", "b", "c"].map(|text| Some(text.to_owned()));
        let dictionary: DictionaryArray<Int16Type> = texts.iter().map(Option::as_deref).collect();
        let table = table(vec![vec![("a", Arc::new(dictionary))]]);
        let Kind::Struct(of) = &table.chunks[0].kind else { unreachable!("a table") };
        for (rows, mut known, expected, left) in
            [(3, 9, true, 6), (3, 3, true, 0), (2, 9, false, 9), (9, 2, false, 2)]
        {
            let column = Column::new(&of.columns[0], rows, &mut known);
            let is_written = matches!(column, Some(Column::Dictionary(..)));
            assert_eq!((is_written, known), (expected, left), "{rows}");
        }
    }

    thread_local! {
        static POLLS: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn a_long_table_polls() {
        let numbers = Arc::new(Int8Array::from(vec![1; 400_000]));
        let table = table(vec![vec![("a", numbers)]]);
        let count = || {
            POLLS.set(POLLS.get() + 1);
            false
        };
        let text = interrupt::run(count, || write(&table, &EncodeOptions::default()));
        assert!(text.unwrap().is_some() && POLLS.get() > 90, "{}", POLLS.get());
    }

    #[test]
    fn a_row_of_many_cells_is_written_alone() {
        let names: Vec<_> = (0..=CELLS).map(|index| index.to_string()).collect();
        let column = |value| Arc::new(Int8Array::from(vec![value; 3])) as ArrayRef;
        let columns = names
            .iter()
            .enumerate()
            .map(|(at, name)| (&**name, column(i8::try_from(at % 100).unwrap())));
        let table = table(vec![columns.collect()]);
        let text = write(&table, &EncodeOptions::default());
        assert_eq!(text.as_deref(), Some(&*checked(&table)));
    }

    #[test]
    fn other_tables_are_left_to_the_other_paths() {
        let one = || Arc::new(Int8Array::from(vec![1])) as ArrayRef;
        let nested = scalars(1, 1).into_iter().map(|(name, array)| {
            (Arc::new(Field::new(name, array.data_type().clone(), true)), array)
        });
        for columns in [
            vec![("a", Arc::new(StructArray::from(nested.collect::<Vec<_>>())) as ArrayRef)],
            vec![("a", one()), ("a", one())],
            vec![("a>b", one())],
            vec![("a", Arc::new(UInt64Array::from(vec![u64::MAX])))],
            vec![("a", Arc::new(Float64Array::from(vec![f64::NAN])))],
            vec![("a", Arc::new(Date32Array::from(vec![i32::MAX])))],
        ] {
            assert_eq!(write(&table(vec![columns]), &EncodeOptions::default()), None);
        }
        let constant = EncodeOptions { constant_columns: true, ..EncodeOptions::default() };
        assert_eq!(write(&table(vec![vec![("a", one())]]), &constant), None);
        let mut flat = EncodeOptions::default();
        flat.limits.max_depth = 1;
        assert_eq!(write(&table(vec![vec![("a", one())]]), &flat), None);
        assert_eq!(write(&table(vec![scalars(0, 0)]), &EncodeOptions::default()), None);
    }
}
