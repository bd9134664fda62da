//! Reading the rows of one container of a text that is never held whole.
//!
//! Text is fed in pieces of any size. A piece of text is read as the whole would be: what was read
//! counts only if it could not be otherwise had the text gone on, which [`Lines::saw_end`] knows;
//! else it is read again from its beginning when more is there. Kept are the lines of the row that is
//! open, the declarations of the open tables, and the keys of the open objects, so that none comes
//! twice. GCF 3.6 sections 3 to 8 and 16.
//!
//! [`Lines::saw_end`]: crate::gcf::syntax::line::Lines::saw_end

#[cfg(test)]
mod tests;

use super::buffer::LineBuffer;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Fault, Place};
use crate::gcf::generic::array::ArrayHead;
use crate::gcf::generic::decode::{
    DUPLICATE_MEMBER, DecodeResult, Decoder, Failure, MemberForm, Preceding, ReadError, Root,
    SharedColumns, emit,
};
use crate::gcf::generic::row::TableState;
use crate::gcf::limits::Limits;
use crate::gcf::syntax::declaration::Count;
use crate::gcf::syntax::line::Line;
use crate::gcf::syntax::name_index::NameIndex;
use crate::walk::{Columns, Sink};
use std::borrow::Cow;

/// What the value is that a sink was told last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// No row.
    Skipped,
    /// A row, or another element.
    Row,
    /// An object of one member, which is a member of the container.
    Member,
    /// An array of the elements.
    Elements,
    /// An object of one member, a row of a keyed table, and the path leads on from there.
    Enclosing {
        /// How many keys of the path have led to it.
        matched: usize,
    },
    /// Nothing whole, and void: it is told again from its beginning.
    Incomplete,
}

/// Is asked to put aside what a sink was told.
pub type Handler<'e, S> = &'e mut dyn FnMut(&mut S, Event) -> Result<(), <S as Sink>::Error>;

/// Why reading stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// More text is needed.
    NeedMore,
    /// The text has ended, and all of it was right.
    Finished,
}

/// Reads the rows of one container. `N` is a key that the sink knows.
pub struct RowReader<N> {
    path: Vec<String>,
    limits: Limits,
    max_row_size: usize,
    input: LineBuffer,
    stage: Stage,
    frames: Vec<Frame<N>>,
    deferred: Vec<(usize, u64)>,
    preceding: Preceding,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Header,
    /// The root is open, or what stands behind it is not read; it is an array or keyed table.
    Body {
        counted: bool,
    },
    Done,
}

/// A container that is open.
struct Frame<N> {
    kind: Kind<N>,
    /// The indentation of what is in it.
    depth: usize,
    /// How many keys of the path lead here, if they do; all, if its rows are wanted.
    matched: Option<usize>,
}

enum Kind<N> {
    Object(NameIndex<'static>),
    Table {
        items: Items,
        table: SharedColumns<N>,
        state: TableState<N>,
        /// The keys of a keyed table.
        names: Option<NameIndex<'static>>,
    },
    Array(Items),
}

/// Items that are counted.
struct Items {
    count: Count,
    /// Where the count stands.
    place: Place,
    /// Which of the counts that are left to the end it is.
    deferred: Option<usize>,
    found: u64,
}

/// What was read: it changes the reader only once it is sure.
enum Step<N> {
    /// The header, and the beginning of the root; or its end, of a list.
    Begun { root: Option<Frame<N>>, counted: bool },
    /// The head of a member that is a container.
    Opened { frame: Frame<N>, name: String },
    /// A value, and its key where it has one.
    Value { what: Event, name: Option<String> },
    /// The innermost container has ended.
    Closed,
    /// The text has ended.
    Finished,
}

impl<N> RowReader<N> {
    /// The rows of the container that the keys of `path` lead to from the root, through objects. A
    /// row with what is attached to it, and any other line, may have `max_row_size` bytes.
    pub fn new(path: Vec<String>, limits: Limits, max_row_size: usize) -> Self {
        Self {
            path,
            limits,
            max_row_size,
            input: LineBuffer::default(),
            stage: Stage::Header,
            frames: Vec::new(),
            deferred: Vec::new(),
            preceding: Preceding::Nothing,
        }
    }

    /// Adds a piece of the text. Bytes that are not UTF-8 are an error of [`RowReader::read`], behind the
    /// rows before them.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.input.feed(bytes);
    }

    /// There is no more text.
    pub fn finish(&mut self) {
        self.input.finish();
    }

    /// Tells `sink` the rows that are there, and `each` what that was.
    ///
    /// # Errors
    /// As [`read`](crate::gcf::read); `missing_section`: the path leads to nothing that has rows;
    /// `limit_exceeded`: a row is too large.
    pub fn read<S>(
        &mut self,
        sink: &mut S,
        each: Handler<'_, S>,
    ) -> Result<Status, ReadError<S::Error>>
    where
        S: Columns<Name = N>,
    {
        if self.stage == Stage::Done {
            return Ok(Status::Finished);
        }
        if !self.input.is_worth_it() {
            return self.need_more();
        }
        let text = std::mem::take(&mut self.input.text);
        let mut decoder = Decoder::new(&text, self.limits, sink);
        decoder.base = self.input.bytes_before;
        decoder.deferred = std::mem::take(&mut self.deferred);
        let mut at = At { position: 0, row: 0 };
        let status = self.steps(&mut decoder, each, &mut at);
        self.deferred = decoder.deferred;
        self.input.text = text;
        self.input.consume(at.position);
        match status? {
            Status::Finished => Ok(Status::Finished),
            Status::NeedMore if at.row > self.max_row_size => Err(self.too_large()),
            Status::NeedMore => {
                self.input.was_too_little();
                self.need_more()
            }
        }
    }

    fn need_more<E>(&mut self) -> Result<Status, ReadError<E>> {
        if let Some(error) = self.input.broken.take() {
            return Err(ReadError::Text(error));
        }
        if self.input.is_too_long(self.max_row_size) {
            return Err(self.too_large());
        }
        Ok(Status::NeedMore)
    }

    #[cold]
    fn too_large<E>(&mut self) -> ReadError<E> {
        let size = self.max_row_size;
        let message = format!("a row or another line of more than {size} bytes; allow more");
        let fault = Fault { code: Code::LimitExceeded, message, at: 0 };
        ReadError::Text(self.input.locate(fault, ""))
    }

    /// Reads on until the text at hand is not enough.
    fn steps<S>(
        &mut self,
        decoder: &mut Decoder<'_, '_, S>,
        each: Handler<'_, S>,
        at: &mut At,
    ) -> Result<Status, ReadError<S::Error>>
    where
        S: Columns<Name = N>,
    {
        let mut ready = Ok(());
        if self.stage != Stage::Header {
            ready = decoder.advance();
            at.position = decoder.lines.position();
        }
        decoder.preceding = self.preceding;
        loop {
            decoder.depth = self.frames.len();
            let deferred = decoder.deferred.len();
            let step = match std::mem::replace(&mut ready, Ok(())) {
                Ok(()) => self.step(decoder),
                Err(fault) => Err(Failure::Fault(fault)),
            };
            at.row = decoder.lines.consumed().saturating_sub(at.position);
            if decoder.lines.saw_end() && !self.input.finished {
                decoder.deferred.truncate(deferred);
                each(decoder.sink, Event::Incomplete).map_err(ReadError::Sink)?;
                return Ok(Status::NeedMore);
            }
            if at.row > self.max_row_size {
                return Ok(Status::NeedMore);
            }
            let done = step.and_then(|step| self.apply(decoder, each, step));
            done.map_err(|stop| match stop {
                Failure::Fault(fault) => ReadError::Text(self.input.locate(*fault, decoder.text)),
                Failure::Sink(error) => ReadError::Sink(error),
            })??;
            at.position = decoder.lines.position();
            self.preceding = decoder.preceding;
            if self.stage == Stage::Done {
                return Ok(Status::Finished);
            }
        }
    }

    fn step<S>(&mut self, decoder: &mut Decoder<'_, '_, S>) -> DecodeResult<S, Step<N>>
    where
        S: Columns<Name = N>,
    {
        let all = self.path.len();
        let Some(Frame { kind, depth, matched }) = self.frames.last_mut() else {
            return match self.stage {
                Stage::Body { counted } => decoder.end(counted).map(|()| Step::Finished),
                _ => root(decoder, all),
            };
        };
        let wanted = *matched == Some(all);
        let next = matched.and_then(|matched| self.path.get(matched));
        match kind {
            Kind::Object(names) if wanted => whole_member(decoder, *depth, names),
            Kind::Object(names) => {
                let path = Path { matched: *matched, next, all };
                member(decoder, *depth, names, &path)
            }
            Kind::Table { items, table, state, names } => {
                let line = decoder.next_row(items.count, items.found, *depth)?;
                let (line, names) = match (line, names) {
                    (Some(line), Some(names)) => (line, names),
                    (None, Some(names)) => return closed(decoder, next, names),
                    (None, None) => return Ok(Step::Closed),
                    (Some(line), None) => {
                        decoder.row(line, table, state, items.found, None)?;
                        return Ok(Step::Value { what: Event::row(wanted), name: None });
                    }
                };
                let mut name = None;
                let mut is_new = |key: Cow<'_, str>| {
                    let is_new = names.find(&key).is_none();
                    name = Some(key.into_owned());
                    is_new
                };
                emit!(decoder.sink.begin_object());
                decoder.row(line, table, state, items.found, Some(&mut is_new))?;
                emit!(decoder.sink.end_object());
                let what = match *matched {
                    Some(_) if wanted => Event::Member,
                    Some(matched) if next == name.as_ref() => Event::Enclosing { matched },
                    _ => Event::Skipped,
                };
                Ok(Step::Value { what, name })
            }
            Kind::Array(items) => {
                let Some((line, form)) = decoder.next_item(items.count, items.found, *depth)?
                else {
                    return Ok(Step::Closed);
                };
                decoder.item(line, form, *depth + 2)?;
                Ok(Step::Value { what: Event::row(wanted), name: None })
            }
        }
    }

    /// Makes what was read so. What is wrong with a count has a place that the text at hand may not
    /// have any more.
    fn apply<S>(
        &mut self,
        decoder: &mut Decoder<'_, '_, S>,
        each: Handler<'_, S>,
        step: Step<N>,
    ) -> DecodeResult<S, Result<(), ReadError<S::Error>>>
    where
        S: Columns<Name = N>,
    {
        match step {
            Step::Begun { root, counted } => {
                self.stage = Stage::Body { counted };
                match root {
                    Some(frame) => self.open(decoder, frame)?,
                    None => emit!(each(decoder.sink, Event::Elements)),
                }
            }
            Step::Opened { frame, name } => {
                self.add_name(name);
                self.open(decoder, frame)?;
            }
            Step::Value { what, name } => {
                if let Some(name) = name {
                    self.add_name(name);
                }
                if let Some(items) = self.frames.last_mut().and_then(|frame| frame.kind.items()) {
                    items.found += 1;
                }
                emit!(each(decoder.sink, what));
            }
            Step::Closed => {
                let mut closed = self.frames.pop();
                if let Some(items) = closed.as_mut().and_then(|frame| frame.kind.items()) {
                    if let Some(index) = items.deferred {
                        decoder.deferred[index].1 = items.found;
                    }
                    decoder.preceding = Preceding::CountedBody;
                    return Ok(items.check().map_err(ReadError::Text));
                }
            }
            Step::Finished => self.stage = Stage::Done,
        }
        Ok(Ok(()))
    }

    fn add_name(&mut self, name: String) {
        let kind = self.frames.last_mut().map(|frame| &mut frame.kind);
        if let Some(Kind::Object(names) | Kind::Table { names: Some(names), .. }) = kind {
            names.add(name.into());
        }
    }

    fn open<S>(&mut self, decoder: &mut Decoder<'_, '_, S>, mut frame: Frame<N>) -> DecodeResult<S>
    where
        S: Columns<Name = N>,
    {
        let Some(items) = frame.kind.items() else {
            decoder.enter(decoder.here())?;
            self.frames.push(frame);
            return Ok(());
        };
        decoder.enter(items.count.at)?;
        items.deferred = decoder.defer(items.count);
        items.place = self.input.place(items.count.at, decoder.text);
        self.frames.push(frame);
        Ok(())
    }
}

/// How far the text at hand is read.
struct At {
    /// Where the row begins that is not read.
    position: usize,
    /// How large it is, as far as it was read, in bytes.
    row: usize,
}

/// How far the path leads.
struct Path<'p> {
    /// How many of its keys lead to the object that is open, if they do.
    matched: Option<usize>,
    next: Option<&'p String>,
    /// How many keys it has.
    all: usize,
}

/// The header, and what stands behind it; the path has so many keys.
fn root<S: Columns>(
    decoder: &mut Decoder<'_, '_, S>,
    keys: usize,
) -> DecodeResult<S, Step<S::Name>> {
    let matched = Some(0);
    match decoder.begin()? {
        Root::Scalar(line) => decoder.fail(Code::MissingSection, line, NO_ROWS),
        Root::Object => {
            let frame = Frame { kind: Kind::Object(NameIndex::new()), depth: 0, matched };
            Ok(Step::Begun { root: Some(frame), counted: false })
        }
        Root::Array(line) => {
            decoder.advance()?;
            let kind = Kind::of(decoder.head(line.start + 3, line.end)?);
            if keys > 0 && !matches!(&kind, Ok(kind) if kind.has_members()) {
                return decoder.fail(Code::MissingSection, line, NO_MEMBERS);
            }
            let root = match kind {
                Ok(kind) => Some(Frame { kind, depth: 0, matched }),
                Err((count, start)) => {
                    decoder.list(count, start, line.end)?;
                    None
                }
            };
            Ok(Step::Begun { root, counted: true })
        }
    }
}

const NO_ROWS: &str = "a scalar has no rows";
const NO_MEMBERS: &str = "a path leads through objects, and this is an array";

/// The end of an object, if it has the member that the path leads to, or none is wanted.
fn closed<S: Columns>(
    decoder: &Decoder<'_, '_, S>,
    next: Option<&String>,
    names: &NameIndex<'_>,
) -> DecodeResult<S, Step<S::Name>> {
    match next {
        Some(missing) if names.find(missing).is_none() => Err(no_member(decoder, missing, names)),
        _ => Ok(Step::Closed),
    }
}

/// A member of the container that is wanted.
fn whole_member<S: Columns>(
    decoder: &mut Decoder<'_, '_, S>,
    depth: usize,
    names: &NameIndex<'_>,
) -> DecodeResult<S, Step<S::Name>> {
    let Some((line, name, form)) = next_member(decoder, depth, names)? else {
        return Ok(Step::Closed);
    };
    emit!(decoder.sink.begin_object());
    emit!(decoder.sink.key(&name));
    decoder.member_value(line, depth, form)?;
    emit!(decoder.sink.end_object());
    Ok(Step::Value { what: Event::Member, name: Some(name.into_owned()) })
}

/// The next member of an object that is open, its name and form.
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

/// A member of an object that is not wanted: what is wanted may be in it.
fn member<S: Columns>(
    decoder: &mut Decoder<'_, '_, S>,
    depth: usize,
    names: &NameIndex<'_>,
    path: &Path<'_>,
) -> DecodeResult<S, Step<S::Name>> {
    let Some((line, name, form)) = next_member(decoder, depth, names)? else {
        return closed(decoder, path.next, names);
    };
    let matched = path.matched.filter(|_| path.next.is_some_and(|next| *next == name));
    let matched = matched.map(|matched| matched + 1);
    let wanted = matched == Some(path.all);
    let what = if wanted { Event::Elements } else { Event::Skipped };
    let leads_on = matched.is_some() && !wanted;
    let name = name.into_owned();
    let (kind, depth) = match form {
        MemberForm::Scalar(_) if matched.is_some() => {
            return decoder.fail(Code::MissingSection, line, NO_ROWS);
        }
        MemberForm::List(_) if leads_on => {
            return decoder.fail(Code::MissingSection, line, NO_MEMBERS);
        }
        MemberForm::Scalar(_) | MemberForm::List(_) | MemberForm::Unknown => {
            decoder.member_value(line, depth, form)?;
            return Ok(Step::Value { what, name: Some(name) });
        }
        MemberForm::Section => {
            decoder.advance()?;
            (Ok(Kind::Object(NameIndex::new())), depth + 2)
        }
        MemberForm::Array(at) => {
            decoder.advance()?;
            (Kind::of(decoder.head(at, line.end)?), depth)
        }
    };
    match kind {
        Ok(kind) if kind.has_members() || !leads_on => {
            Ok(Step::Opened { frame: Frame { kind, depth, matched }, name })
        }
        Err((count, start)) if !leads_on => {
            decoder.list(count, start, line.end)?;
            Ok(Step::Value { what, name: Some(name) })
        }
        _ => decoder.fail(Code::MissingSection, line, NO_MEMBERS),
    }
}

/// The object that the path leads to has no such member.
#[cold]
fn no_member<S: Columns>(
    decoder: &Decoder<'_, '_, S>,
    missing: &str,
    names: &NameIndex<'_>,
) -> Failure<S::Error> {
    let known: Vec<_> = names.first().map(excerpt).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let message = format!("no member {}; there are: {known}", excerpt(missing));
    let at = decoder.lines.peek().map_or(decoder.text.len(), |line| line.start);
    Fault::new(Code::MissingSection, at, message).into()
}

impl Event {
    fn row(wanted: bool) -> Self {
        if wanted { Self::Row } else { Self::Skipped }
    }
}

impl<N> Kind<N> {
    fn items(&mut self) -> Option<&mut Items> {
        match self {
            Self::Object(_) => None,
            Self::Table { items, .. } | Self::Array(items) => Some(items),
        }
    }

    fn has_members(&self) -> bool {
        matches!(self, Self::Object(_) | Self::Table { names: Some(_), .. })
    }

    /// What the head of a block opens, unless that is a list, whose elements begin at the number.
    fn of(head: ArrayHead<N>) -> Result<Self, (Count, usize)> {
        let (count, table, names) = match head {
            ArrayHead::List { count, start } => return Err((count, start)),
            ArrayHead::CountOnly { count } => return Ok(Self::Array(Items::new(count))),
            ArrayHead::Table { count, table } => (count, table, None),
            ArrayHead::Keyed { count, table } => (count, table, Some(NameIndex::new())),
        };
        Ok(Self::Table { items: Items::new(count), table, state: TableState::new(), names })
    }
}

impl Items {
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
