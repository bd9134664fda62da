//! The decoder: a recursive descent over the lines of a text that emits events to a sink.
//!
//! Each event is emitted once. The decoder keeps only the columns and cells of open tables. GCF 3.6
//! sections 3 to 8 and 16.

use super::columns::TableColumns;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Fault, Read, fault};
use crate::gcf::limits::{FREE_EXPANSION, Limits};
use crate::gcf::syntax::declaration::{Count, Declared, read_count};
use crate::gcf::syntax::header::{self, Header, Profile};
use crate::gcf::syntax::line::{Line, Lines};
use crate::gcf::syntax::name_index::NameIndex;
use crate::gcf::syntax::scalar::{self, Token, skip_blanks};
use crate::gcf::syntax::string;
use crate::interrupt::Steps;
use crate::json::{Escape, Writer, write_float};
use crate::memory::Meter;
use crate::text;
use crate::value::{self, Value};
use crate::walk::{Columns, Discard};
use std::borrow::Cow;
use std::collections::TryReserveError;
use std::sync::Arc;

/// Options of the decoder. [`Limits`] convert to options with these limits and otherwise the defaults.
///
/// ```
/// use compactwire::gcf::{DecodeOptions, EncodeOptions, decode, encode};
/// use compactwire::json::{self, Limits};
///
/// let value = json::parse("[[1,2],[3,4]]", Limits::default()).unwrap();
/// let text = encode(&value, &EncodeOptions { matrices: true, ..EncodeOptions::default() }).unwrap();
/// assert!(decode(&text, DecodeOptions::default()).is_err());
/// let options = DecodeOptions { extensions: true, ..DecodeOptions::default() };
/// assert_eq!(decode(&text, options).unwrap(), value);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeOptions {
    /// Whether list columns and matrices, which are extensions of GCF 3.6, are read. Otherwise they are
    /// the error `unsupported_extension`.
    pub extensions: bool,
    /// Limits for the text.
    pub limits: Limits,
}

impl From<Limits> for DecodeOptions {
    fn from(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }
}

/// Why [`read`] failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError<E> {
    /// The text is invalid.
    Text(Error),
    /// The sink returned an error.
    Sink(E),
}

/// Parses a text of the generic profile and emits its value to `sink`.
///
/// # Errors
/// An invalid text, with line and column, or the error of the sink.
pub fn read<S: Columns>(
    text: &str,
    options: impl Into<DecodeOptions>,
    sink: &mut S,
) -> Result<(), ReadError<S::Error>> {
    let mut decoder = Decoder::new(text, options, sink);
    decoder.root().map_err(|failure| match failure {
        Failure::Fault(fault) => ReadError::Text(fault.locate(text)),
        Failure::Sink(error) => ReadError::Sink(error),
    })
}

/// Decodes a text of the generic profile.
///
/// # Errors
/// As [`read`].
pub fn decode(text: &str, options: impl Into<DecodeOptions>) -> Result<Value<'static>, Error> {
    build(text, options, value::Builder::default())
}

/// Like [`decode`], but keys and strings that stand in `text` as they are, without escapes, are borrowed from it.
///
/// ```
/// use compactwire::gcf::{Limits, decode_borrowed};
///
/// let value = decode_borrowed("GCF profile=generic\nname=Ada", Limits::default()).unwrap();
/// assert_eq!(value.get("name").unwrap().as_str(), Some("Ada"));
/// ```
///
/// # Errors
/// As [`read`].
pub fn decode_borrowed(text: &str, options: impl Into<DecodeOptions>) -> Result<Value<'_>, Error> {
    build(text, options, value::Builder::over(text))
}

fn build<'a>(
    text: &str,
    options: impl Into<DecodeOptions>,
    mut builder: value::Builder<'a>,
) -> Result<Value<'a>, Error> {
    match read(text, options, &mut builder) {
        Ok(()) => Ok(builder.finish().unwrap_or(Value::Null)),
        Err(ReadError::Text(error)) => Err(error),
        Err(ReadError::Sink(never)) => match never {},
    }
}

/// Converts a text of the generic profile to JSON. Members keep their order, and integers keep all
/// their digits; a double is written with the fewest digits that parse as the same double.
///
/// # Errors
/// As [`read`].
pub fn to_json(
    text: &str,
    options: impl Into<DecodeOptions>,
    escape: Escape,
) -> Result<String, Error> {
    let mut writer = Writer::new(escape, write_float);
    match read(text, options, &mut writer) {
        Ok(()) => Ok(writer.finish()),
        Err(ReadError::Text(error)) => Err(error),
        Err(ReadError::Sink(never)) => match never {},
    }
}

/// Checks that bytes are UTF-8.
///
/// # Errors
/// `invalid_utf8`, with the place of the first invalid byte.
pub fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    text::from_utf8(bytes).map_err(|error| {
        let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        let message = format!("not UTF-8 from byte {} on", error.valid_up_to());
        Fault { code: Code::InvalidUtf8, message, at: valid.len() }.locate(valid)
    })
}

/// Why decoding stops: like [`ReadError`], with the error still located by offset.
pub(crate) enum Failure<E> {
    Fault(Box<Fault>),
    Sink(E),
}

impl<E> From<TryReserveError> for Failure<E> {
    fn from(error: TryReserveError) -> Self {
        Self::Fault(error.into())
    }
}

impl<E> From<Box<Fault>> for Failure<E> {
    fn from(fault: Box<Fault>) -> Self {
        Self::Fault(fault)
    }
}

pub(crate) type DecodeResult<S, T = ()> = Result<T, Failure<<S as crate::walk::Sink>::Error>>;

/// The columns of a table, shared by its rows. `N` is a key or constant prepared by the sink.
pub(crate) type SharedColumns<N> = Arc<TableColumns<N>>;

/// The state of decoding.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Decoder<'t, 's, S: Columns> {
    pub lines: Lines<'t>,
    pub text: &'t str,
    pub sink: &'s mut S,
    pub limits: Limits,
    /// See [`DecodeOptions::extensions`].
    pub extensions: bool,
    /// The number of open containers.
    pub depth: usize,
    /// The expansion of the text so far; see [`Limits::max_expansion`].
    pub expansion: u64,
    /// The maximum of `expansion`.
    pub max_expansion: u64,
    /// Checks memory for the content that `expansion` counts.
    expanded: Meter,
    /// Whether [`Decoder::forecast`] is not needed, or no longer needed.
    pub counted: bool,
    /// The offset of `text` in the whole text, when it is read in pieces.
    pub base: usize,
    /// The deferred counts `[?]`: the offset of each in the whole text, and the number found.
    pub deferred: Vec<(usize, u64)>,
    /// The cells of all open rows.
    pub cells: Vec<Token<'t>>,
    /// The members with an attachment, of all open rows that are ordinary, and their places in the sink.
    pub marked: Vec<(usize, usize)>,
    /// Whether rows are first tried on the fast path, `ordinary`.
    pub fast: bool,
    /// The offset before which an ordinary row must end; up to there, memory has been checked.
    pub row_limit: usize,
    /// How many rows the fast path has read, and how many it has left to the general reader.
    #[cfg(test)]
    pub ordinary: u64,
    #[cfg(test)]
    pub missed: u64,
    /// The part of the text that the previous line ended.
    pub preceding: Preceding,
    /// Whether the text is a keyed set, whose declaration marks the identity with `@`.
    pub keyed_set: bool,
}

/// The part of the text that ended just before the next line. It decides the error code of an unexpected
/// line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preceding {
    Nothing,
    /// The rows or elements of an array or keyed table.
    CountedBody,
    /// The attachments of a row.
    Attachments,
}

/// The kind of the root value.
pub(crate) enum Root {
    Scalar(Line),
    /// An array or a keyed table, with the line of its head.
    Array(Line),
    Object,
}

/// The form of a member's value, with the offset at which the value begins.
#[derive(Clone, Copy)]
pub(crate) enum MemberForm {
    Scalar(usize),
    List(usize),
    Section,
    Array(usize),
    /// An invalid form.
    Invalid,
}

/// The bytes of memory for each byte of expansion.
const EXPANSION_FACTOR: usize = 2;

pub(crate) const DUPLICATE_MEMBER: &str = "duplicate member";
pub(super) const DUPLICATE_ROW: &str = "duplicate member key";

/// Calls the sink and converts its error.
macro_rules! emit {
    ($call:expr) => {
        $call.map_err(Failure::Sink)?
    };
}
pub(crate) use emit;

impl<'t, 's, S: Columns> Decoder<'t, 's, S> {
    pub(crate) fn new(text: &'t str, options: impl Into<DecodeOptions>, sink: &'s mut S) -> Self {
        let DecodeOptions { extensions, limits } = options.into();
        Self {
            lines: Lines::new(text),
            text,
            sink,
            limits,
            extensions,
            depth: 0,
            expansion: 0,
            max_expansion: (limits.max_expansion as u64)
                .saturating_add(FREE_EXPANSION * text.len() as u64),
            expanded: Meter::new(EXPANSION_FACTOR),
            counted: false,
            base: 0,
            deferred: Vec::new(),
            cells: Vec::new(),
            marked: Vec::new(),
            row_limit: 0,
            fast: true,
            #[cfg(test)]
            ordinary: 0,
            #[cfg(test)]
            missed: 0,
            preceding: Preceding::Nothing,
            keyed_set: false,
        }
    }

    pub(super) fn root(&mut self) -> DecodeResult<S> {
        match self.begin()? {
            Root::Scalar(line) => {
                self.advance()?;
                self.scalar(line.start + 1, line.end)?;
                match self.lines.peek() {
                    None => Ok(()),
                    Some(line) => self.fail(
                        Code::TrailingCharacters,
                        line,
                        "unexpected line after the scalar",
                    ),
                }
            }
            Root::Array(line) => {
                self.advance()?;
                self.array(line.start + 3, line.end, 0, None)?;
                self.end(true)
            }
            Root::Object => {
                self.object(0)?;
                self.end(false)
            }
        }
    }

    /// Reads the header and determines the kind of the root.
    pub(crate) fn begin(&mut self) -> DecodeResult<S, Root> {
        if self.text.starts_with(header::GENERIC) {
            self.resume(header::GENERIC.len())?;
        } else {
            let header = Header::read(&mut self.lines)?;
            check_generic(&header)?;
            self.keyed_set = header.get("pack_root").is_some() && header.get("key").is_some();
            self.advance()?;
        }
        Ok(match self.lines.peek().filter(|line| line.indent == 0) {
            Some(line) if self.starts(line, "=") => Root::Scalar(line),
            Some(line) if self.starts(line, "## [") => Root::Array(line),
            _ => Root::Object,
        })
    }

    /// Reads the end of the text after the root. After a `counted` root, an array or keyed table, only
    /// the summary line is valid.
    pub(crate) fn end(&mut self, counted: bool) -> DecodeResult<S> {
        match self.lines.peek() {
            Some(line) if counted && !self.is_trailer(line) => self.fail(
                Code::CountMismatch,
                line,
                "unexpected line after the declared number of items",
            ),
            _ => self.trailer(),
        }
    }

    // Lines

    #[inline(always)]
    pub(crate) fn advance(&mut self) -> Read<()> {
        self.preceding = Preceding::Nothing;
        self.lines.advance()
    }

    /// Continues at the line that begins at `next`.
    pub(crate) fn resume(&mut self, next: usize) -> Read<()> {
        self.preceding = Preceding::Nothing;
        self.lines.resume(next)
    }

    #[inline]
    pub(crate) fn starts(&self, line: Line, prefix: &str) -> bool {
        // Bytes, because whether a str may be cut here would be checked for each line.
        self.text.as_bytes()[line.start..line.end].starts_with(prefix.as_bytes())
    }

    #[inline]
    pub(crate) fn is_trailer(&self, line: Line) -> bool {
        line.indent == 0 && self.starts(line, "##!")
    }

    /// Whether a line ends a body whose lines are indented by `depth`.
    pub(crate) fn ends(&self, line: Line, depth: usize) -> bool {
        line.indent < depth
            || line.indent == depth && (self.starts(line, "## ") || self.starts(line, "##!"))
    }

    /// Returns an error about a line; the message shows the line.
    #[cold]
    pub(crate) fn fail<T, R: From<Box<Fault>>>(
        &self,
        code: Code,
        line: Line,
        message: &str,
    ) -> Result<T, R> {
        let shown = excerpt(self.lines.str(line));
        Err(Fault::new(code, line.start, format!("{message}: {shown}")).into())
    }

    /// Returns the error for a line that is indented deeper than its container allows.
    #[cold]
    pub(crate) fn unexpected_indent<T, R: From<Box<Fault>>>(&self, line: Line) -> Result<T, R> {
        if self.preceding == Preceding::Attachments {
            self.fail(Code::CountMismatch, line, "unexpected line after the attachment")
        } else {
            self.fail(Code::InvalidIndent, line, "line is indented deeper than its container")
        }
    }

    // Containers

    pub(crate) fn enter(&mut self, at: usize) -> Read<()> {
        self.depth += 1;
        if self.depth > self.limits.max_depth {
            return fault(Code::LimitExceeded, at, Limits::too_deep(self.limits.max_depth));
        }
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Limits the expansion of each row instead of that of the whole text.
    pub(crate) fn limit_each_row(&mut self) {
        self.counted = true;
        self.max_expansion = self.limits.max_expansion as u64;
    }

    /// Adds `size` to the expansion at the offset `at`.
    pub(crate) fn expand(&mut self, size: u64, at: usize) -> Read<()> {
        self.expansion = self.expansion.saturating_add(size);
        if self.expansion > self.max_expansion {
            return self.too_large(at);
        }
        Ok(self.expanded.reach(usize::try_from(self.expansion).unwrap_or(usize::MAX))?)
    }

    #[cold]
    fn too_large(&self, at: usize) -> Read<()> {
        let message = format!(
            "constant columns, path columns and column names would add {} bytes to the text here, more \
             than max_expansion={} allows",
            self.expansion, self.limits.max_expansion
        );
        fault(Code::LimitExceeded, at, message)
    }

    /// Called before the rows of a table. If they may exceed the limit of expansion, decodes the whole text
    /// once without building a value, so that a text that exceeds the limit takes no memory for its value.
    /// Each row has `width` cells and at most the given expansion.
    pub(crate) fn forecast(&mut self, count: Count, width: usize, expansion: u64) -> Read<()> {
        if self.counted {
            return Ok(());
        }
        // A row has at least a delimiter or line feed for each cell.
        let left = (self.text.len() - self.offset()) as u64;
        let most = left / width.max(2) as u64 + 1;
        let rows = count.value.map_or(most, |count| count.min(most));
        let size = rows.saturating_mul(expansion);
        if self.expansion.saturating_add(size) <= self.max_expansion {
            return Ok(());
        }
        self.counted = true;
        let mut sink = Discard;
        let options = DecodeOptions { extensions: self.extensions, limits: self.limits };
        let mut decoder = Decoder::new(self.text, options, &mut sink);
        decoder.counted = true;
        match decoder.root() {
            Ok(()) => Ok(()),
            Err(Failure::Fault(fault)) => Err(fault),
            Err(Failure::Sink(never)) => match never {},
        }
    }

    /// The offset of the next line.
    pub(crate) fn offset(&self) -> usize {
        self.lines.peek().map_or(self.text.len(), |line| line.start)
    }

    /// Reads an object whose members are indented by `depth`.
    pub(crate) fn object(&mut self, depth: usize) -> DecodeResult<S> {
        self.enter(self.offset())?;
        emit!(self.sink.begin_object());
        let mut names = NameIndex::new();
        while let Some(line) = self.lines.peek() {
            if line.indent < depth || self.is_trailer(line) {
                break;
            }
            if line.indent > depth {
                return self.unexpected_indent(line);
            }
            self.member(line, depth, &mut names)?;
        }
        emit!(self.sink.end_object());
        self.leave();
        Ok(())
    }

    fn member(&mut self, line: Line, depth: usize, names: &mut NameIndex<'t>) -> DecodeResult<S> {
        let (name, form) = self.member_head(line)?;
        let mark = self.sink.mark();
        emit!(self.sink.key(&name));
        let checks = self.sink.finds_repeated_keys();
        if !checks && !names.add(name)? {
            return self.fail(Code::DuplicateKey, line, DUPLICATE_MEMBER);
        }
        let read = self.member_value(line, depth, form);
        if checks {
            self.unless_repeated(read, mark, line, Code::DuplicateKey, DUPLICATE_MEMBER)
        } else {
            read
        }
    }

    /// What came of reading the value of a member whose key is in `line`, unless its object had the key before:
    /// the sink finds that only when it has the value. `mark` is the position before the key.
    #[inline]
    pub(super) fn unless_repeated(
        &mut self,
        read: DecodeResult<S>,
        mark: S::Mark,
        line: Line,
        code: Code,
        message: &str,
    ) -> DecodeResult<S> {
        let is_repeated = match &read {
            Ok(()) => self.sink.has_repeated(),
            // An error in the value comes after one in the key.
            Err(Failure::Fault(_)) => {
                self.sink.reset(mark);
                self.sink.has_key()
            }
            Err(Failure::Sink(_)) => false,
        };
        if is_repeated { self.fail(code, line, message) } else { read }
    }

    /// Reads the key of a member and determines the form of its value.
    #[inline(always)]
    pub(crate) fn member_head(&self, line: Line) -> DecodeResult<S, (Cow<'t, str>, MemberForm)> {
        let section = self.starts(line, "## ");
        let start = if section { line.start + 3 } else { line.start };
        let bytes = &self.text.as_bytes()[..line.end];
        let Some((name, after)) = string::read_key(self.text, start, line.end)? else {
            return self.invalid_member(line);
        };
        let form = match bytes.get(after) {
            Some(b'=') if !section => MemberForm::Scalar(after + 1),
            Some(b'[') if !section => MemberForm::List(after),
            _ if !section => return self.invalid_member(line),
            _ => {
                let rest = skip_blanks(bytes, after);
                match bytes.get(rest) {
                    None => MemberForm::Section,
                    Some(b'[') if rest > after => MemberForm::Array(rest),
                    Some(_) => MemberForm::Invalid,
                }
            }
        };
        Ok((name, form))
    }

    /// Reads the value of a member whose key is in `line`.
    #[inline(always)]
    pub(crate) fn member_value(
        &mut self,
        line: Line,
        depth: usize,
        form: MemberForm,
    ) -> DecodeResult<S> {
        self.advance()?;
        match form {
            MemberForm::Scalar(at) => self.scalar(at, line.end),
            MemberForm::List(at) => self.member_list(at, line),
            MemberForm::Section => self.object(depth + 2),
            MemberForm::Array(at) => self.array(at, line.end, depth, None).map(drop),
            MemberForm::Invalid => self.fail(Code::InvalidLine, line, "expected ## name"),
        }
    }

    /// Reads the list of `name[2]: a,b`.
    fn member_list(&mut self, at: usize, line: Line) -> DecodeResult<S> {
        let (count, after) = read_count(self.text, at, line.end)?;
        if count.keyed || self.text.as_bytes()[..line.end].get(after) != Some(&b':') {
            return self.fail(Code::InvalidLine, line, "expected a list, name[count]: elements");
        }
        self.list(count, after + 1, line.end)
    }

    #[cold]
    fn invalid_member<T>(&self, line: Line) -> DecodeResult<S, T> {
        let text = self.lines.str(line);
        if self.preceding != Preceding::CountedBody {
            self.fail(
                Code::InvalidLine,
                line,
                "expected a member, name=value, or a section, ## name",
            )
        } else if text.starts_with('.') {
            self.fail(Code::OrphanAttachment, line, "attachment without a row that refers to it")
        } else if has_several_cells(text) {
            self.fail(
                Code::OrphanInlineAttachment,
                line,
                "inline values without a row that refers to them",
            )
        } else {
            self.fail(
                Code::CountMismatch,
                line,
                "unexpected line after the declared number of items",
            )
        }
    }

    // Scalars

    /// Reads the scalar from `start` to `end`.
    #[inline]
    pub(crate) fn scalar(&mut self, start: usize, end: usize) -> DecodeResult<S> {
        if let Some((text, _)) = scalar::bare_word(self.text, start, end, b'\n') {
            emit!(self.sink.string(text));
            return Ok(());
        }
        if let Some(scalar) = scalar::simple(self.text.as_bytes(), start, end) {
            emit!(scalar.emit(self.sink));
            return Ok(());
        }
        let (token, _) = scalar::read(self.text, start, end, b'\n')?;
        self.emit_token(&token, start)
    }

    pub(crate) fn emit_token(&mut self, token: &Token<'t>, at: usize) -> DecodeResult<S> {
        check_scalar(token, at)?;
        emit!(emit_scalar(self.sink, token));
        Ok(())
    }

    /// Reads the elements of a list, from `start` to `end`.
    pub(crate) fn list(&mut self, count: Count, start: usize, end: usize) -> DecodeResult<S> {
        self.enter(count.at)?;
        let deferred = self.defer(count);
        let may_be_empty = count.value.is_none_or(|count| count == 0);
        let found = self.list_elements(start, end, b',', may_be_empty)?;
        self.leave();
        self.check_count(count, deferred, found)
    }

    /// Emits the list whose elements are the text from `start` to `end`, with delimiters between them;
    /// returns their number. Blank text is an empty list if the list `may_be_empty`, otherwise one element.
    pub(crate) fn list_elements(
        &mut self,
        start: usize,
        end: usize,
        delimiter: u8,
        may_be_empty: bool,
    ) -> DecodeResult<S, u64> {
        emit!(self.sink.begin_array());
        let mut found = 0;
        let bytes = &self.text.as_bytes()[..end];
        if !(may_be_empty && skip_blanks(bytes, start) == end) {
            let mut at = start;
            let mut steps = Steps::default();
            loop {
                steps.step();
                let stop = self.list_element(at, end, delimiter)?;
                found += 1;
                if stop == end {
                    break;
                }
                at = stop + 1;
            }
        }
        emit!(self.sink.end_array());
        Ok(found)
    }

    /// Emits the element of a list that begins at `start`; returns the offset after it.
    #[inline(always)]
    fn list_element(&mut self, start: usize, end: usize, delimiter: u8) -> DecodeResult<S, usize> {
        if let Some((text, stop)) = scalar::bare_word(self.text, start, end, delimiter) {
            emit!(self.sink.string(text));
            return Ok(stop);
        }
        let (token, stop) = scalar::read(self.text, start, end, delimiter)?;
        self.emit_token(&token, start)?;
        Ok(stop)
    }

    // Counts

    /// Registers a count if it is deferred; returns its index in `deferred`.
    pub(crate) fn defer(&mut self, count: Count) -> Option<usize> {
        count.value.is_none().then(|| {
            self.deferred.push((self.base + count.at, 0));
            self.deferred.len() - 1
        })
    }

    /// Records the number found if the count is deferred, otherwise compares it with the declared one.
    pub(crate) fn check_count(
        &mut self,
        count: Count,
        deferred: Option<usize>,
        found: u64,
    ) -> DecodeResult<S> {
        if let Some(index) = deferred {
            self.deferred[index].1 = found;
        }
        match count.value {
            Some(declared) if declared != found => {
                let message = count_mismatch_message(declared, found);
                Err(Fault::new(Code::CountMismatch, count.at, message).into())
            }
            _ => Ok(()),
        }
    }

    /// Reads the summary line, `##! summary counts=3,2`, if there is one. Nothing may follow it.
    pub(crate) fn trailer(&mut self) -> DecodeResult<S> {
        let Some(line) = self.lines.peek() else { return Ok(()) };
        if line.indent > 0 {
            return self.unexpected_indent(line);
        }
        let words = header::words(self.lines.str(line));
        let mut words = words.peekable();
        if words.next().is_none_or(|(_, word)| word != "##!")
            || words.next_if(|(_, word)| *word == "summary").is_none()
        {
            return self.fail(Code::InvalidLine, line, "expected a member or ##! summary");
        }
        for (at, (name, value)) in header::pairs(words, line.start)? {
            if name == "counts" {
                self.check_trailer(at, value)?;
            }
        }
        self.advance()?;
        match self.lines.peek() {
            None => Ok(()),
            Some(line) => {
                self.fail(Code::TrailingCharacters, line, "unexpected line after the summary")
            }
        }
    }

    fn check_trailer(&mut self, at: usize, counts: &str) -> Read<()> {
        if self.deferred.is_empty() {
            // All headers have counts, which were compared.
            return Ok(());
        }
        // Attachments may have been read out of order.
        self.deferred.sort_unstable();
        let mut deferred = self.deferred.iter();
        let equal = counts.split(',').all(|count| {
            let known = deferred.next().map(|(_, count)| count.to_string());
            known.as_deref() == Some(count)
        });
        if equal && deferred.next().is_none() {
            return Ok(());
        }
        let found: Vec<_> = self.deferred.iter().map(|(_, count)| count.to_string()).collect();
        let message = format!(
            "the summary declares the counts {}, found {}",
            excerpt(counts),
            excerpt(&found.join(","))
        );
        fault(Code::CountMismatch, at, message)
    }
}

/// The error message for a wrong count.
#[cold]
pub(crate) fn count_mismatch_message(declared: u64, found: u64) -> String {
    format!("expected {} items, found {found}", Declared(declared))
}

fn has_several_cells(text: &str) -> bool {
    match scalar::read(text, 0, text.len(), b'|') {
        Ok((_, stop)) => stop < text.len(),
        Err(_) => text.contains('|'),
    }
}

/// Checks that a token is a scalar.
pub(crate) fn check_scalar(token: &Token<'_>, at: usize) -> Read<()> {
    match token {
        Token::Missing => fault(Code::InvalidMissing, at, "~ is valid only in a table cell"),
        Token::Marker | Token::InlineSchema(_) => {
            let message = "^ is valid only in a table cell, and not in a flattened column";
            fault(Code::InvalidAttachmentMarker, at, message)
        }
        _ => Ok(()),
    }
}

/// Emits a token that is known to be a scalar.
pub(super) fn emit_scalar<S: Columns>(sink: &mut S, token: &Token<'_>) -> Result<(), S::Error> {
    match token {
        Token::String(text) => sink.string(text),
        Token::Int(value) => sink.int(*value),
        Token::Float(value) => sink.float(*value),
        Token::Bool(value) => sink.bool(*value),
        _ => sink.null(),
    }
}

fn check_generic(header: &Header<'_>) -> Read<()> {
    if header.profile == Profile::Graph {
        return fault(
            Code::WrongProfile,
            0,
            "expected profile=generic, found a graph; read it with graph::decode (Python: gcf.decode)",
        );
    }
    for kind in ["delta", "unchanged"] {
        if header.get(kind) == Some("true") {
            let message =
                format!("{kind}=true: expected a value, found a message about a keyed set");
            return fault(Code::WrongProfile, 0, message);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::counted;
    use std::borrow::Cow;

    #[test]
    fn wide_rows_are_polled_for_their_cells() {
        let columns = 50_000;
        let names: Vec<_> = (0..columns).map(|at| format!("f{at}")).collect();
        let table = |names: String, row: String, rows: usize| {
            format!("GCF profile=generic\n## [{rows}]{{{names}}}\n{}", row.repeat(rows))
        };
        let plain = |rows| table(names.join(","), vec!["1"; columns].join("|") + "\n", rows);
        let constant = |rows| table(names.join("=1,") + "=1,z", "1\n".to_owned(), rows);
        let limits = Limits { max_expansion: usize::MAX, ..Limits::default() };
        let options = DecodeOptions { extensions: true, limits };
        let polls = |text: &str| counted(|| assert!(decode(text, options).is_ok())).1;
        for text in [&plain as &dyn Fn(usize) -> String, &constant] {
            assert!(polls(&text(100)) > polls(&text(1)) + 20);
        }
    }

    #[test]
    fn a_borrowed_value_is_the_same_and_copies_only_escapes() {
        let text = "GCF profile=generic\n## [2]{id,note}\n1|plain\n2|\"a\\nb\"\n";
        let value = decode_borrowed(text, Limits::default()).unwrap();
        assert_eq!(value, decode(text, Limits::default()).unwrap());
        let notes = value.as_array().unwrap().iter().map(|row| row.get("note").unwrap());
        let is_borrowed = |note: &Value<'_>| matches!(note, Value::String(Cow::Borrowed(_)));
        assert_eq!(notes.map(is_borrowed).collect::<Vec<_>>(), [true, false]);
    }
}
