//! The streaming reader: parses the rows of one container without holding the whole text.
//!
//! The text arrives in pieces of any size and is parsed in steps: a row, another value, or the
//! beginning or end of a container. A step is applied only if more text could not change its result,
//! that is, if the lookahead has not reached the end of the buffer ([`Lines::saw_end`]). Otherwise the
//! step is discarded and parsed again when more text has arrived. The reader keeps the lines of the
//! current row, the declarations of the open tables, and the keys of the open objects to reject
//! duplicates. GCF 3.6 sections 3 to 8 and 16.
//!
//! [`Lines::saw_end`]: crate::gcf::syntax::line::Lines::saw_end

#[cfg(test)]
mod tests;

use super::buffer::LineBuffer;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Fault, Place};
use crate::gcf::generic::array::ArrayHead;
use crate::gcf::generic::decode::{
    DUPLICATE_MEMBER, DecodeOptions, DecodeResult, Decoder, Failure, MemberForm, Preceding,
    ReadError, Root, SharedColumns, emit,
};
use crate::gcf::generic::groups::read::{Group, GroupState, GroupedColumns, Identity};
use crate::gcf::generic::row::TableState;
use crate::gcf::syntax::declaration::Count;
use crate::gcf::syntax::line::Line;
use crate::gcf::syntax::name_index::NameIndex;
use crate::walk::{Columns, Sink};
use std::borrow::Cow;
use std::collections::TryReserveError;

/// The kind of the value whose events the sink received last. The *target* is the container whose
/// rows the caller wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A value outside the target.
    Skipped,
    /// If the target is an array: a row or another element.
    Row,
    /// If the target is an object: one of its members, as an object with that single member.
    Member,
    /// If the target is a list of scalars: an array of all its elements.
    Elements,
    /// A row of a keyed table that contains the target, as an object with a single member.
    Enclosing {
        /// How many keys of the path lead to the keyed table.
        matched: usize,
    },
    /// An incomplete value: its events must be discarded and will be emitted again.
    Incomplete,
}

/// Called after the events of a value, to take it out of the sink.
pub type Handler<'e, S> = &'e mut dyn FnMut(&mut S, Event) -> Result<(), <S as Sink>::Error>;

/// Why [`RowReader::read`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// More text is needed.
    NeedMore,
    /// The text so far contains more rows. Before the next call, the caller uses those that the sink has
    /// received.
    Paused,
    /// The text is complete and valid.
    Finished,
}

/// Reads the rows of one container. `N` is the type of a key or constant that the sink has prepared.
///
/// [`Limits::max_expansion`](crate::gcf::Limits::max_expansion) limits each row, not the text: constants are
/// shared by the rows.
pub struct RowReader<N> {
    path: Vec<String>,
    options: DecodeOptions,
    max_row_size: usize,
    buffer: LineBuffer,
    stage: Stage,
    /// The open containers, the innermost last.
    frames: Vec<Frame<N>>,
    /// See [`Decoder::deferred`].
    deferred: Vec<(usize, u64)>,
    preceding: Preceding,
    /// See [`Decoder::keyed_set`].
    keyed_set: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Header,
    /// The root has been opened, but the end of the text has not been parsed. `counted` says
    /// whether the root is an array or keyed table.
    Body {
        counted: bool,
    },
    Done,
}

/// An open container and its place in the path.
struct Frame<N> {
    container: Container<N>,
    /// The indentation of its members or rows.
    depth: usize,
    /// How many keys of the path lead to it, if it is on the path; all keys, if it is the target.
    matched: Option<usize>,
}

/// An open container, with what is needed to parse the rest of it.
enum Container<N> {
    Object(NameIndex<'static>),
    Table {
        items: ItemCount,
        table: SharedColumns<N>,
        state: TableState<N>,
        /// The member keys so far, if it is a keyed table.
        names: Option<NameIndex<'static>>,
    },
    Grouped {
        items: ItemCount,
        columns: GroupedColumns<N>,
        state: GroupState<N>,
    },
    Matrix {
        items: ItemCount,
        width: u64,
    },
    Array(ItemCount),
}

/// The declared and the actual number of rows or elements.
struct ItemCount {
    count: Count,
    /// The place of the declared count, whose text may have been dropped when it is checked.
    place: Place,
    /// The index of the count in [`Decoder::deferred`], if it is deferred.
    deferred: Option<usize>,
    found: u64,
}

/// The result of one step; [`RowReader::apply`] changes the reader accordingly.
enum Step<N> {
    /// The header and the beginning of the root. A list is parsed completely and has no frame.
    RootOpened { root: Option<Frame<N>>, counted: bool },
    /// The beginning of a member that is a container.
    MemberOpened { frame: Frame<N>, name: String },
    /// A complete value, with its key if it is a member.
    Value { event: Event, name: Option<String> },
    /// The line above the rows of a group.
    GroupOpened(Group<N>),
    /// A row of a group.
    GroupedRow { event: Event, identity: Identity },
    /// The innermost container has ended.
    Closed,
    /// The text has ended.
    TextEnded,
}

impl<N> RowReader<N> {
    /// Creates a reader of the container at `path`, a list of object keys that starts at the root.
    /// A row with its attachments, and any other line, may have at most `max_row_size` bytes.
    pub fn new(path: Vec<String>, options: impl Into<DecodeOptions>, max_row_size: usize) -> Self {
        Self {
            path,
            options: options.into(),
            max_row_size,
            buffer: LineBuffer::default(),
            stage: Stage::Header,
            frames: Vec::new(),
            deferred: Vec::new(),
            preceding: Preceding::Nothing,
            keyed_set: false,
        }
    }

    /// Adds a piece of the text. If it is not UTF-8, [`RowReader::read`] fails after the rows before
    /// the invalid bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.feed(bytes);
    }

    /// Marks the end of the text.
    pub fn finish(&mut self) {
        self.buffer.finish();
    }

    /// Parses the buffered text: emits each value to `sink`, then calls `handler`.
    ///
    /// # Errors
    /// As [`read`](crate::gcf::read); `missing_section` if the path does not lead to a container;
    /// `limit_exceeded` if a row is too large.
    pub fn read<S>(
        &mut self,
        sink: &mut S,
        handler: Handler<'_, S>,
    ) -> Result<Status, ReadError<S::Error>>
    where
        S: Columns<Prepared = N>,
    {
        if self.stage == Stage::Done {
            return Ok(Status::Finished);
        }
        if !self.buffer.can_progress() {
            return self.need_more();
        }
        let text = std::mem::take(&mut self.buffer.text);
        let mut decoder = Decoder::new(&text, self.options, sink);
        decoder.base = self.buffer.bytes_before;
        decoder.deferred = std::mem::take(&mut self.deferred);
        decoder.limit_each_row();
        let mut progress = Progress { position: 0, row: 0, expansion: 0 };
        let status = self.steps(&mut decoder, handler, &mut progress);
        self.deferred = decoder.deferred;
        self.buffer.text = text;
        self.buffer.drop_until(progress.position);
        match status? {
            Status::Finished => Ok(Status::Finished),
            Status::Paused => {
                self.buffer.read_on();
                Ok(Status::Paused)
            }
            Status::NeedMore if progress.row > self.max_row_size => Err(self.too_large()),
            Status::NeedMore => {
                self.buffer.need_more();
                self.need_more()
            }
        }
    }

    fn need_more<E>(&mut self) -> Result<Status, ReadError<E>> {
        if let Some(error) = self.buffer.broken.take() {
            return Err(ReadError::Text(error));
        }
        if self.buffer.is_too_long(self.max_row_size) {
            return Err(self.too_large());
        }
        Ok(Status::NeedMore)
    }

    #[cold]
    fn too_large<E>(&mut self) -> ReadError<E> {
        let size = self.max_row_size;
        let message = format!("a row or line is larger than max_row_size, {size} bytes");
        let fault = Fault { code: Code::LimitExceeded, message, at: 0 };
        ReadError::Text(self.buffer.locate(fault, ""))
    }

    /// Parses and applies steps until the buffered text ends within one.
    fn steps<S>(
        &mut self,
        decoder: &mut Decoder<'_, '_, S>,
        handler: Handler<'_, S>,
        progress: &mut Progress,
    ) -> Result<Status, ReadError<S::Error>>
    where
        S: Columns<Prepared = N>,
    {
        let whole = self.buffer.whole(decoder.text);
        let mut ready = Ok(());
        if self.stage != Stage::Header {
            ready = decoder.advance();
            progress.position = decoder.lines.position();
        }
        decoder.preceding = self.preceding;
        decoder.keyed_set = self.keyed_set;
        loop {
            decoder.depth = self.frames.len();
            decoder.expansion = 0;
            let deferred = decoder.deferred.len();
            let step = match std::mem::replace(&mut ready, Ok(())) {
                Ok(()) => self.step(decoder),
                Err(fault) => Err(Failure::Fault(fault)),
            };
            progress.row = decoder.lines.consumed().saturating_sub(progress.position);
            let is_beyond = match &step {
                Err(Failure::Fault(fault)) => fault.at >= whole,
                _ => false,
            };
            if (decoder.lines.saw_end() || is_beyond) && !self.buffer.finished {
                decoder.deferred.truncate(deferred);
                handler(decoder.sink, Event::Incomplete).map_err(ReadError::Sink)?;
                return Ok(Status::NeedMore);
            }
            if progress.row > self.max_row_size {
                return Ok(Status::NeedMore);
            }
            let done = step.and_then(|step| self.apply(decoder, handler, step));
            done.map_err(|stop| match stop {
                Failure::Fault(fault) => ReadError::Text(self.buffer.locate(*fault, decoder.text)),
                Failure::Sink(error) => ReadError::Sink(error),
            })??;
            progress.position = decoder.lines.position();
            self.preceding = decoder.preceding;
            self.keyed_set = decoder.keyed_set;
            if self.stage == Stage::Done {
                return Ok(Status::Finished);
            }
            progress.expansion += decoder.expansion;
            if progress.expansion > (decoder.text.len() as u64).max(PAUSE) {
                return Ok(Status::Paused);
            }
        }
    }

    /// Parses the next step: emits a complete value, or opens or ends a container. Changes the reader only by
    /// the state of the open table; [`apply`](Self::apply) does the rest.
    fn step<S>(&mut self, decoder: &mut Decoder<'_, '_, S>) -> DecodeResult<S, Step<N>>
    where
        S: Columns<Prepared = N>,
    {
        let all = self.path.len();
        let Some(Frame { container, depth, matched }) = self.frames.last_mut() else {
            return match self.stage {
                Stage::Body { counted } => decoder.end(counted).map(|()| Step::TextEnded),
                _ => read_root(decoder, all),
            };
        };
        let is_target = *matched == Some(all);
        let next = matched.and_then(|matched| self.path.get(matched));
        match container {
            Container::Object(names) if is_target => emit_member(decoder, *depth, names),
            Container::Object(names) => {
                let path = PathState { matched: *matched, next, all };
                read_member(decoder, *depth, names, &path)
            }
            Container::Table { items, table, state, names: None } => {
                let Some(line) = decoder.next_row(items.count, items.found, *depth)? else {
                    return Ok(Step::Closed);
                };
                decoder.row(line, table, state, items.found, None)?;
                Ok(Step::Value { event: Event::row(is_target), name: None })
            }
            Container::Table { items, table, state, names: Some(names) } => {
                let Some(line) = decoder.next_row(items.count, items.found, *depth)? else {
                    return close_object(decoder, next, names);
                };
                let name = keyed_row(decoder, line, table, state, items.found, names)?;
                let event = match *matched {
                    Some(_) if is_target => Event::Member,
                    Some(matched) if next == name.as_ref() => Event::Enclosing { matched },
                    _ => Event::Skipped,
                };
                Ok(Step::Value { event, name })
            }
            Container::Grouped { items, columns, state } => {
                let Some(line) = decoder.next_row(items.count, items.found, *depth)? else {
                    return Ok(Step::Closed);
                };
                grouped_line(decoder, line, items, columns, state, Event::row(is_target))
            }
            Container::Matrix { items, width } => {
                let Some(line) = decoder.next_row(items.count, items.found, *depth)? else {
                    return Ok(Step::Closed);
                };
                decoder.matrix_row(line, *width)?;
                Ok(Step::Value { event: Event::row(is_target), name: None })
            }
            Container::Array(items) => {
                let Some((line, value)) = decoder.next_element(items.count, items.found, *depth)?
                else {
                    return Ok(Step::Closed);
                };
                decoder.element(line, value, *depth + 2)?;
                Ok(Step::Value { event: Event::row(is_target), name: None })
            }
        }
    }

    /// Applies a parsed step. The inner error is a wrong count; it already has its place because the text of
    /// the declaration may have been dropped.
    fn apply<S>(
        &mut self,
        decoder: &mut Decoder<'_, '_, S>,
        handler: Handler<'_, S>,
        step: Step<N>,
    ) -> DecodeResult<S, Result<(), ReadError<S::Error>>>
    where
        S: Columns<Prepared = N>,
    {
        match step {
            Step::RootOpened { root, counted } => {
                self.stage = Stage::Body { counted };
                match root {
                    Some(frame) => self.open(decoder, frame)?,
                    None => emit!(handler(decoder.sink, Event::Elements)),
                }
            }
            Step::MemberOpened { frame, name } => {
                self.add_name(name)?;
                self.open(decoder, frame)?;
            }
            Step::Value { event, name } => {
                if let Some(name) = name {
                    self.add_name(name)?;
                }
                let frame = self.frames.last_mut();
                if let Some(items) = frame.and_then(|frame| frame.container.items()) {
                    items.found += 1;
                }
                emit!(handler(decoder.sink, event));
            }
            Step::GroupOpened(group) => {
                if let Some((_, state)) = self.grouped() {
                    state.open(group)?;
                }
            }
            Step::GroupedRow { event, identity } => {
                if let Some((items, state)) = self.grouped() {
                    items.found += 1;
                    state.add_row(identity)?;
                }
                emit!(handler(decoder.sink, event));
            }
            Step::Closed => return Ok(self.close(decoder).map_err(ReadError::Text)),
            Step::TextEnded => self.stage = Stage::Done,
        }
        Ok(Ok(()))
    }

    /// Ends the innermost container, and checks its declared count.
    fn close<S: Columns>(&mut self, decoder: &mut Decoder<'_, '_, S>) -> Result<(), Error> {
        let mut closed = self.frames.pop();
        let Some(items) = closed.as_mut().and_then(|frame| frame.container.items()) else {
            return Ok(());
        };
        if let Some(index) = items.deferred {
            decoder.deferred[index].1 = items.found;
        }
        decoder.preceding = Preceding::CountedBody;
        items.check()
    }

    fn add_name(&mut self, name: String) -> Result<(), TryReserveError> {
        let container = self.frames.last_mut().map(|frame| &mut frame.container);
        if let Some(Container::Object(names) | Container::Table { names: Some(names), .. }) =
            container
        {
            names.add(name.into())?;
        }
        Ok(())
    }

    /// The innermost container, if it is a grouped table.
    fn grouped(&mut self) -> Option<(&mut ItemCount, &mut GroupState<N>)> {
        match &mut self.frames.last_mut()?.container {
            Container::Grouped { items, state, .. } => Some((items, state)),
            _ => None,
        }
    }

    fn open<S>(&mut self, decoder: &mut Decoder<'_, '_, S>, mut frame: Frame<N>) -> DecodeResult<S>
    where
        S: Columns<Prepared = N>,
    {
        let Some(items) = frame.container.items() else {
            decoder.enter(decoder.offset())?;
            self.frames.push(frame);
            return Ok(());
        };
        decoder.enter(items.count.at)?;
        items.deferred = decoder.defer(items.count);
        items.place = self.buffer.place(items.count.at, decoder.text);
        self.frames.push(frame);
        Ok(())
    }
}

/// How far the buffered text has been parsed.
struct Progress {
    /// The offset of the first step that has not been applied.
    position: usize,
    /// The number of bytes that this step has consumed so far.
    row: usize,
    /// The expansion of the values so far; see [`Limits::max_expansion`](crate::gcf::Limits::max_expansion).
    expansion: u64,
}

/// The reader pauses when the expansion of the rows that it has emitted exceeds this many bytes and the size
/// of the buffered text.
const PAUSE: u64 = 1 << 20;

/// The path, seen from an open object.
struct PathState<'p> {
    /// How many keys lead to the object, if it is on the path.
    matched: Option<usize>,
    /// The key of the member that the path continues with.
    next: Option<&'p String>,
    /// The number of keys of the path.
    all: usize,
}

/// Parses the header and the beginning of the root. `keys` is the number of keys of the path.
fn read_root<S: Columns>(
    decoder: &mut Decoder<'_, '_, S>,
    keys: usize,
) -> DecodeResult<S, Step<S::Prepared>> {
    let matched = Some(0);
    match decoder.begin()? {
        Root::Scalar(line) => decoder.fail(Code::MissingSection, line, NO_ROWS),
        Root::Object => {
            let frame = Frame { container: Container::Object(NameIndex::new()), depth: 0, matched };
            Ok(Step::RootOpened { root: Some(frame), counted: false })
        }
        Root::Array(line) => {
            decoder.advance()?;
            let container = Container::of(decoder.head(line.start + 3, line.end)?);
            if keys > 0 && !matches!(&container, Ok(container) if container.has_members()) {
                return decoder.fail(Code::MissingSection, line, NO_MEMBERS);
            }
            let root = match container {
                Ok(container) => Some(Frame { container, depth: 0, matched }),
                Err((count, start)) => {
                    decoder.list(count, start, line.end)?;
                    None
                }
            };
            Ok(Step::RootOpened { root, counted: true })
        }
    }
}

const NO_ROWS: &str = "expected an array or object to read rows from, found a scalar";
const NO_MEMBERS: &str = "expected an object on the path to the rows, found an array";

/// Emits a row of a keyed table as an object with one member, and returns its key.
fn keyed_row<S: Columns>(
    decoder: &mut Decoder<'_, '_, S>,
    line: Line,
    table: &SharedColumns<S::Prepared>,
    state: &mut TableState<S::Prepared>,
    index: u64,
    names: &NameIndex<'_>,
) -> DecodeResult<S, Option<String>> {
    let mut name = None;
    let mut is_new = |key: Cow<'_, str>| {
        let is_new = names.find(&key).is_none();
        name = Some(key.into_owned());
        Ok(is_new)
    };
    emit!(decoder.sink.begin_object());
    decoder.row(line, table, state, index, Some(&mut is_new))?;
    emit!(decoder.sink.end_object());
    Ok(name)
}

/// Parses a line of a grouped table: the line above the rows of a group, or one of them.
fn grouped_line<S: Columns>(
    decoder: &mut Decoder<'_, '_, S>,
    line: Line,
    items: &ItemCount,
    columns: &GroupedColumns<S::Prepared>,
    state: &GroupState<S::Prepared>,
    event: Event,
) -> DecodeResult<S, Step<S::Prepared>> {
    if state.needs_group() {
        let group = decoder.group_line(line, columns, state, items.count, items.found)?;
        return Ok(Step::GroupOpened(group));
    }
    let identity = decoder.grouped_row(line, columns, state)?;
    Ok(Step::GroupedRow { event, identity })
}

/// Ends an object; an error if the path continues with a member that it does not have.
fn close_object<S: Columns>(
    decoder: &Decoder<'_, '_, S>,
    next: Option<&String>,
    names: &NameIndex<'_>,
) -> DecodeResult<S, Step<S::Prepared>> {
    match next {
        Some(missing) if names.find(missing).is_none() => {
            Err(missing_member(decoder, missing, names))
        }
        _ => Ok(Step::Closed),
    }
}

/// Parses the next member of the target and emits it as an object of its own.
fn emit_member<S: Columns>(
    decoder: &mut Decoder<'_, '_, S>,
    depth: usize,
    names: &NameIndex<'_>,
) -> DecodeResult<S, Step<S::Prepared>> {
    let Some((line, name, form)) = next_member(decoder, depth, names)? else {
        return Ok(Step::Closed);
    };
    emit!(decoder.sink.begin_object());
    emit!(decoder.sink.key(&name));
    decoder.member_value(line, depth, form)?;
    emit!(decoder.sink.end_object());
    Ok(Step::Value { event: Event::Member, name: Some(name.into_owned()) })
}

/// Parses the head of the next member of an open object.
fn next_member<'t, S: Columns>(
    decoder: &Decoder<'t, '_, S>,
    depth: usize,
    names: &NameIndex<'_>,
) -> DecodeResult<S, Option<(Line, Cow<'t, str>, MemberForm)>> {
    let next = decoder.lines.peek();
    let Some(line) = next.filter(|l| l.indent >= depth && !decoder.is_trailer(*l)) else {
        return Ok(None);
    };
    if line.indent > depth {
        return decoder.unexpected_indent(line);
    }
    let (name, form) = decoder.member_head(line)?;
    if names.find(&name).is_some() {
        return decoder.fail(Code::DuplicateKey, line, DUPLICATE_MEMBER);
    }
    Ok(Some((line, name, form)))
}

/// Parses the next member of an object that is not the target but may contain it.
fn read_member<S: Columns>(
    decoder: &mut Decoder<'_, '_, S>,
    depth: usize,
    names: &NameIndex<'_>,
    path: &PathState<'_>,
) -> DecodeResult<S, Step<S::Prepared>> {
    let Some((line, name, form)) = next_member(decoder, depth, names)? else {
        return close_object(decoder, path.next, names);
    };
    let matched = path.matched.filter(|_| path.next.is_some_and(|next| *next == name));
    let matched = matched.map(|matched| matched + 1);
    let is_target = matched == Some(path.all);
    let event = if is_target { Event::Elements } else { Event::Skipped };
    let leads_on = matched.is_some() && !is_target;
    let name = name.into_owned();
    let (container, depth) = match form {
        MemberForm::Scalar(_) if matched.is_some() => {
            return decoder.fail(Code::MissingSection, line, NO_ROWS);
        }
        MemberForm::List(_) if leads_on => {
            return decoder.fail(Code::MissingSection, line, NO_MEMBERS);
        }
        MemberForm::Scalar(_) | MemberForm::List(_) | MemberForm::Invalid => {
            decoder.member_value(line, depth, form)?;
            return Ok(Step::Value { event, name: Some(name) });
        }
        MemberForm::Section => {
            decoder.advance()?;
            (Ok(Container::Object(NameIndex::new())), depth + 2)
        }
        MemberForm::Array(at) => {
            decoder.advance()?;
            (Container::of(decoder.head(at, line.end)?), depth)
        }
    };
    match container {
        Ok(container) if container.has_members() || !leads_on => {
            Ok(Step::MemberOpened { frame: Frame { container, depth, matched }, name })
        }
        Err((count, start)) if !leads_on => {
            decoder.list(count, start, line.end)?;
            Ok(Step::Value { event, name: Some(name) })
        }
        _ => decoder.fail(Code::MissingSection, line, NO_MEMBERS),
    }
}

/// The error for a member of the path that its object does not have.
#[cold]
fn missing_member<S: Columns>(
    decoder: &Decoder<'_, '_, S>,
    missing: &str,
    names: &NameIndex<'_>,
) -> Failure<S::Error> {
    let known: Vec<_> = names.first().map(excerpt).collect();
    let known = if known.is_empty() { "no members".to_owned() } else { known.join(", ") };
    let message = format!("no member {}; the object has {known}", excerpt(missing));
    let at = decoder.lines.peek().map_or(decoder.text.len(), |line| line.start);
    Fault::new(Code::MissingSection, at, message).into()
}

impl Event {
    fn row(is_target: bool) -> Self {
        if is_target { Self::Row } else { Self::Skipped }
    }
}

impl<N> Container<N> {
    fn items(&mut self) -> Option<&mut ItemCount> {
        match self {
            Self::Object(_) => None,
            Self::Table { items, .. }
            | Self::Grouped { items, .. }
            | Self::Matrix { items, .. }
            | Self::Array(items) => Some(items),
        }
    }

    fn has_members(&self) -> bool {
        matches!(self, Self::Object(_) | Self::Table { names: Some(_), .. })
    }

    /// The container that a head opens. A list is on one line and opens none: the error holds its count
    /// and the offset of its elements.
    fn of(head: ArrayHead<N>) -> Result<Self, (Count, usize)> {
        let (count, table, names) = match head {
            ArrayHead::List { count, start } => return Err((count, start)),
            ArrayHead::CountOnly { count } => return Ok(Self::Array(ItemCount::new(count))),
            ArrayHead::Matrix { count, width } => {
                return Ok(Self::Matrix { items: ItemCount::new(count), width });
            }
            ArrayHead::Table { count, table } => (count, table, None),
            ArrayHead::Keyed { count, table } => (count, table, Some(NameIndex::new())),
            ArrayHead::Grouped { count, columns } => {
                let (items, state) = (ItemCount::new(count), GroupState::new());
                return Ok(Self::Grouped { items, columns, state });
            }
        };
        Ok(Self::Table { items: ItemCount::new(count), table, state: TableState::new(), names })
    }
}

impl ItemCount {
    fn new(count: Count) -> Self {
        Self { count, place: Place::None, deferred: None, found: 0 }
    }

    fn check(&self) -> Result<(), Error> {
        match self.count.value {
            Some(declared) if declared != self.found => {
                let message =
                    crate::gcf::generic::decode::count_mismatch_message(declared, self.found);
                Err(Error { code: Code::CountMismatch, message, place: self.place.clone() })
            }
            _ => Ok(()),
        }
    }
}
