//! Applies a function to each row of a column, on several threads, and joins the results in order.
//!
//! Threads work on pieces of about [`PIECE`] bytes of input, and a piece is dropped as soon as it is part of the
//! result: more memory than for the result is needed only for [`PIECES`] per thread. A chunk of the input
//! becomes one chunk of the result, so that the result can stand beside the other columns of a table; only texts
//! of more than [`MAX_TEXT`](super::cells::MAX_TEXT) bytes in all become more chunks.
//!
//! Invariant: the result does not depend on the number of threads, and the error is that of the first row
//! that fails.

use super::cells::{Cells, Kind, Shape};
use super::column::Column;
use super::error::{Error, Failure, OnError};
use super::shared::Shared;
use crate::interrupt::{Steps, poll};
use crate::memory;
use crate::threads;
use arrow_array::{ArrayRef, new_empty_array};
use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes of input of a piece of work. A thread is started for as much.
const PIECE: usize = 1 << 20;

/// How many pieces a thread works on before they are joined. With more, threads wait less for one another.
const PIECES: usize = 4;

/// This part of a piece comes first: from its result follows how large that of the chunk may be.
const SAMPLE: usize = 16;

/// The maximum number of rows of a piece.
const MAX_ROWS: usize = 65_536;

/// A row counts as a step for each of so many bytes that are read or made.
const STEP: usize = 64;

/// The bytes of the result that each byte of a row allows beyond [`Bound::max`], and a row as such.
const FREE: (usize, usize) = (64, 1 << 10);

/// The bytes of memory for a chunk of the result, besides its rows.
const CHUNK_SIZE: usize = 2_048;

/// How a function is applied to the rows of a column.
///
/// ```
/// use compactwire::arrow::{OnError, RowOptions, count_tokens, gcf_loads};
/// use compactwire::gcf::DecodeOptions;
///
/// let text = "GCF profile=generic\n## [2]: one,two";
/// let texts = gcf_loads(text, None, DecodeOptions::default()).unwrap();
/// let options = RowOptions { errors: OnError::Null, ..RowOptions::default() };
/// assert_eq!(count_tokens(&texts, options).unwrap().len(), 2);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct RowOptions {
    /// What happens to a row that fails.
    pub errors: OnError,
    /// The maximum number of threads; 0 for that of the environment variables `COMPACTWIRE_THREADS` and
    /// `OMP_NUM_THREADS`, or of the processors.
    pub threads: usize,
}

/// A chunk of a column as a function reads it.
pub(super) trait Chunk: Sync + Sized {
    fn new(chunk: &ArrayRef) -> Result<Self, Error>;
    fn rows(&self) -> usize;
    /// The bytes of all rows.
    fn bytes(&self) -> usize;
    /// The bytes of all rows in memory that were not counted before, where rows and chunks may share a text.
    fn stored(&self, _shared: &mut Shared) -> usize {
        self.bytes()
    }
}

/// Why a row has no result.
pub(super) enum Stop {
    /// The row is null.
    Null,
    /// The function fails for this row. It has appended no cell.
    Failed(Failure),
    /// The call fails.
    Fatal(Error),
}

impl<E: Into<Failure>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

/// Applies `apply` to each row, which appends the cells of the row or none.
pub(super) fn map<C: Chunk>(
    column: &Column,
    options: RowOptions,
    shape: Shape,
    apply: impl Fn(&C, usize, &mut Cells) -> Result<(), Stop> + Sync,
) -> Result<Column, Error> {
    map_within(usize::MAX, column, options, shape, apply)
}

/// Like [`map`], for a function whose result can be much larger than its rows. It may have `max_expansion` bytes
/// more than 64 times the bytes of the rows and 1 KiB for each row.
pub(super) fn map_within<C: Chunk>(
    max_expansion: usize,
    column: &Column,
    options: RowOptions,
    shape: Shape,
    apply: impl Fn(&C, usize, &mut Cells) -> Result<(), Stop> + Sync,
) -> Result<Column, Error> {
    // Without a chunk, the type is checked all the same.
    C::new(&new_empty_array(column.data_type()))?;
    let texts = if max_expansion < usize::MAX { texts::<C>(column)? } else { (1, 1) };
    let bound = Bound { max: max_expansion, texts, expansion: AtomicUsize::new(0) };
    let shape = with_errors(shape, options.errors);
    let job = Job { shape, errors: options.errors, bound, threads: most_threads(options.threads) };
    let (mut chunks, mut failed, mut before) = (Vec::new(), 0, 0);
    chunks.try_reserve(column.chunks().len())?;
    memory::ensure(column.chunks().len().saturating_mul(CHUNK_SIZE))?;
    for chunk in column.chunks() {
        let chunk = C::new(chunk)?;
        let apply = |range, rows: &mut Rows| job.apply(&chunk, before, range, rows, &apply);
        let rows = job.chunk(chunk.rows(), chunk.bytes(), &apply)?;
        failed += rows.failed;
        chunks.extend(rows.finish()?);
        before += chunk.rows();
    }
    Ok(Column::result(job.shape, chunks, failed))
}

/// The maximum number of threads for [`RowOptions::threads`].
fn most_threads(threads: usize) -> usize {
    match threads {
        0 => threads::default_threads(threads::MAX_THREADS),
        threads => threads.min(threads::MAX_THREADS),
    }
}

/// The type of the result, with the columns of [`OnError::Report`].
fn with_errors(shape: Shape, errors: OnError) -> Shape {
    if errors != OnError::Report {
        return shape;
    }
    let mut fields = match shape {
        Shape::Plain(kind) => vec![("value", kind)],
        Shape::Struct(fields) => fields,
    };
    fields.extend([("error", Kind::Text), ("message", Kind::Text)]);
    Shape::Struct(fields)
}

/// The bytes of a column's texts in memory, and in all rows, which may share them.
fn texts<C: Chunk>(column: &Column) -> Result<(usize, usize), Error> {
    let (mut shared, mut stored, mut all) = (Shared::default(), 0_usize, 0_usize);
    for chunk in column.chunks() {
        let chunk = C::new(chunk)?;
        stored = stored.saturating_add(chunk.stored(&mut shared));
        all = all.saturating_add(chunk.bytes());
    }
    Ok((stored.min(all), all.max(1)))
}

/// A call of [`map_within`]. The function of the call is no part of it: only the loop over rows is compiled for each
/// function, and not what is done once for a chunk or a piece.
struct Job {
    shape: Shape,
    errors: OnError,
    bound: Bound,
    threads: usize,
}

/// Appends the results of a range of rows of a chunk.
type Apply<'a> = dyn Fn(Range<usize>, &mut Rows) -> Result<(), Error> + Sync + 'a;

/// Limits how much larger than its rows the result of a call becomes, on all threads.
struct Bound {
    max: usize,
    /// See [`texts`].
    texts: (usize, usize),
    /// The bytes of the results so far that their rows do not allow.
    expansion: AtomicUsize,
}

impl Bound {
    /// Adds a row of which `read` bytes were read and `made` bytes are kept. Returns whether the limit is kept.
    fn add(&self, read: usize, made: usize) -> bool {
        let free = self.stored(read).saturating_mul(FREE.0).saturating_add(FREE.1);
        let more = made.saturating_sub(free);
        // Only few rows change the number, for which the threads would wait for each other.
        more == 0 || self.expansion.fetch_add(more, Ordering::Relaxed) + more <= self.max
    }

    /// The part of a row's bytes that is not shared with other rows, on average.
    fn stored(&self, bytes: usize) -> usize {
        let (stored, all) = self.texts;
        if stored == all {
            return bytes;
        }
        let part = bytes as u128 * stored as u128 / all as u128;
        usize::try_from(part).unwrap_or(usize::MAX)
    }

    fn get(&self) -> usize {
        self.expansion.load(Ordering::Relaxed)
    }

    fn set(&self, expansion: usize) {
        self.expansion.store(expansion, Ordering::Relaxed);
    }
}

/// The results of some rows.
struct Rows {
    arrays: Vec<ArrayRef>,
    /// Takes the next row, after those of `arrays`.
    cells: Cells,
    /// How many rows `cells` have room for.
    room: usize,
    /// How many rows have failed and became null.
    failed: usize,
}

impl Rows {
    /// Makes room for `rows` rows.
    fn new(shape: &Shape, rows: usize) -> Result<Self, Error> {
        Ok(Self { arrays: Vec::new(), cells: Cells::new(shape, rows)?, room: rows, failed: 0 })
    }

    /// The same rows, with room for as many bytes as `rows` rows like these would take.
    fn grow(self, rows: usize) -> Result<Self, Error> {
        let cells = self.cells.like(rows)?;
        let mut grown = Self { arrays: Vec::new(), cells, room: rows, failed: 0 };
        grown.append(self).map(|()| grown)
    }

    /// The cells for the next row.
    fn next(&mut self) -> Result<&mut Cells, Error> {
        if self.cells.is_full() {
            self.room -= self.cells.rows();
            let next = self.cells.next(self.room)?;
            self.arrays.push(mem::replace(&mut self.cells, next).finish()?);
        }
        Ok(&mut self.cells)
    }

    /// Appends rows that follow, with the arrays that [`Self::next`] would have made of them.
    fn append(&mut self, rows: Self) -> Result<(), Error> {
        self.failed += rows.failed;
        for array in rows.finish()? {
            let mut start = 0;
            while start < array.len() {
                let cells = self.next()?;
                let taken = cells.until_full(&array, start);
                cells.append(&array.slice(start, taken))?;
                start += taken;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<ArrayRef>, Error> {
        self.arrays.push(self.cells.finish()?);
        Ok(self.arrays)
    }
}

impl Job {
    /// Applies a function to the rows of a chunk, whose texts have `bytes` bytes.
    fn chunk(&self, all: usize, bytes: usize, apply: &Apply<'_>) -> Result<Rows, Error> {
        let size = (PIECE / (bytes / all.max(1)).max(1)).clamp(1, MAX_ROWS);
        let piece = |range: &Range<usize>| {
            let mut rows = Rows::new(&self.shape, range.len())?;
            apply(range.clone(), &mut rows).map(|()| rows)
        };
        if all <= size {
            return piece(&(0..all));
        }
        let sample = size.div_ceil(SAMPLE);
        let mut rows = piece(&(0..sample))?.grow(all)?;
        if self.threads < 2 {
            return apply(sample..all, &mut rows).map(|()| rows);
        }
        let pieces = (sample..all).step_by(size).map(|start| start..(start + size).min(all));
        for turn in pieces.collect::<Vec<_>>().chunks(self.threads * PIECES) {
            let before = self.bound.get();
            match threads::try_map(turn, self.threads.min(turn.len()), &mut |_| poll(), piece) {
                Ok(pieces) => pieces.into_iter().try_for_each(|piece| rows.append(piece))?,
                // Which row exceeds the limit, and whether another one fails before, is only known in order.
                Err(Error::Expansion { .. }) => {
                    self.bound.set(before);
                    for range in turn {
                        rows.append(piece(range)?)?;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(rows)
    }

    /// Applies `apply` to the rows of a range. `before` rows are in earlier chunks.
    fn apply<C: Chunk>(
        &self,
        chunk: &C,
        before: usize,
        range: Range<usize>,
        rows: &mut Rows,
        apply: &impl Fn(&C, usize, &mut Cells) -> Result<(), Stop>,
    ) -> Result<(), Error> {
        let mut steps = Steps::default();
        for row in range {
            let cells = rows.next()?;
            let kept = cells.bytes();
            let stop = apply(chunk, row, cells).err();
            if matches!(stop, Some(Stop::Null)) {
                // Nothing was read or made, and a column may have millions of such rows.
                steps.step();
            } else {
                let (work, kept) = (cells.take_work(), cells.bytes() - kept);
                if !self.bound.add(work.read, kept) {
                    return Err(Error::Expansion { row: before + row, limit: self.bound.max });
                }
                let bytes = work.read.saturating_add(work.made).saturating_add(kept);
                steps.add(1 + bytes / STEP);
            }
            // How much work there was until a row failed is not known.
            if matches!(stop, Some(Stop::Failed(_))) {
                poll();
            }
            rows.failed += self.end_row(stop, before + row, &mut rows.cells)?;
        }
        Ok(())
    }

    /// Ends a row; returns the number of rows that failed and became null.
    fn end_row(&self, stop: Option<Stop>, row: usize, cells: &mut Cells) -> Result<usize, Error> {
        let values = cells.columns() - if self.errors == OnError::Report { 2 } else { 0 };
        match stop {
            None => {
                (values..cells.columns()).for_each(|at| cells.null(at));
                cells.end_row();
            }
            Some(Stop::Null) => cells.null_row(),
            Some(Stop::Fatal(error)) => return Err(error),
            Some(Stop::Failed(failure)) if failure.is_out_of_memory() => {
                return Err(Error::OutOfMemory);
            }
            Some(Stop::Failed(failure)) => match self.errors {
                OnError::Raise => return Err(Error::Row { row, failure }),
                OnError::Null => {
                    cells.null_row();
                    return Ok(1);
                }
                OnError::Report => {
                    (0..values).for_each(|at| cells.null(at));
                    cells.text(values, failure.class())?;
                    cells.text(values + 1, &failure.to_string())?;
                    cells.end_row();
                }
            },
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::MAX_TEXT;
    use super::super::texts::{Text, Texts};
    use super::*;
    use crate::compact::DecodeError;
    use arrow_array::StringArray;
    use arrow_array::cast::AsArray;
    use arrow_schema::{DataType, Field};
    use std::sync::Arc;

    fn column(chunks: Vec<Vec<Option<String>>>) -> Column {
        let field = Arc::new(Field::new("", DataType::Utf8, true));
        let chunks = chunks.into_iter().map(|rows| Arc::new(StringArray::from(rows)) as ArrayRef);
        Column::new(field, chunks.collect())
    }

    /// Copies each text; fails for `bad`.
    fn copy(column: &Column, errors: OnError, threads: usize) -> Result<Column, Error> {
        let options = RowOptions { errors, threads };
        map(column, options, Shape::Plain(Kind::Text), |texts: &Texts, row, cells| {
            match texts.get(row) {
                None => Err(Stop::Null),
                Some(Text::Str("bad")) => Err(DecodeError::EmptyResponse.into()),
                Some(Text::Str(text)) => Ok(cells.text(0, text)?),
                Some(Text::Bytes(_)) => Err(DecodeError::InvalidPrefix('?').into()),
            }
        })
    }

    fn rows(column: &Column) -> Vec<Option<String>> {
        let texts = column.chunks().iter().map(AsArray::as_string::<i32>);
        texts.flat_map(|chunk| chunk.iter().map(|text| text.map(str::to_owned))).collect()
    }

    #[test]
    fn texts_that_are_too_large_for_one_array_become_several() {
        let texts: Vec<_> = (0..500).map(|n| (n % 7 > 0).then(|| "x".repeat(n))).collect();
        let column = column(vec![texts.clone(), vec![], texts.clone()]);
        for threads in [1, 3] {
            let copied = copy(&column, OnError::Raise, threads).unwrap();
            assert_eq!(rows(&copied), [&texts[..], &texts].concat());
            assert!(copied.chunks().len() > 100);
            let sizes =
                copied.chunks().iter().map(|chunk| chunk.as_string::<i32>().value_data().len());
            assert!(sizes.max().unwrap() < 2 * MAX_TEXT);
        }
        let longest = self::column(vec![vec![Some("x".repeat(MAX_TEXT)); 2]]);
        assert_eq!(copy(&longest, OnError::Raise, 1).unwrap().len(), 2);
        let longer = self::column(vec![vec![Some("x".repeat(MAX_TEXT + 1))]]);
        assert!(matches!(copy(&longer, OnError::Null, 1), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn the_pieces_of_a_chunk_become_one_array() {
        let texts: Vec<_> = (0..100_000).map(|n| (n % 3 > 0).then(String::new)).collect();
        let column = column(vec![texts.clone()]);
        let copied = copy(&column, OnError::Raise, 2).unwrap();
        assert_eq!((copied.chunks().len(), copied.null_count()), (1, 33_334));
        assert_eq!(rows(&copied), texts);
    }

    #[test]
    fn the_first_failure_of_all_chunks_is_raised() {
        let text = |n| Some(if n % 1000 == 999 { "bad" } else { "good" }.to_owned());
        let column = column(vec![vec![text(0); 70], (0..200_000).map(text).collect()]);
        for threads in [1, 2, 7] {
            let raised = copy(&column, OnError::Raise, threads);
            assert!(matches!(raised, Err(Error::Row { row: 1069, .. })), "{raised:?}");
            let nulls = copy(&column, OnError::Null, threads).unwrap();
            assert_eq!((nulls.failed(), nulls.null_count()), (200, 200));
            let report = copy(&column, OnError::Report, threads).unwrap();
            assert_eq!((report.failed(), report.null_count(), report.len()), (0, 0, 200_070));
            let column = |at: usize| {
                let chunks = report.chunks().iter();
                let texts = chunks
                    .flat_map(move |chunk| chunk.as_struct().column(at).as_string::<i32>().iter());
                texts.collect::<Vec<_>>()
            };
            let (values, classes) = (column(0), column(1));
            assert_eq!((values[1069], classes[1069]), (None, Some("EmptyResponse")));
            assert_eq!((values[1068], classes[1068]), (Some("good"), None));
        }
    }
}
