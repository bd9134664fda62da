//! The reader: one descent over the lines of a text, told to a sink as it goes.
//!
//! Nothing is told twice, nothing is kept but open tables. GCF 3.6 sections 3 to 8 and 16.

use super::columns::TableColumns;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Fault, Read, fault};
use crate::gcf::limits::Limits;
use crate::gcf::syntax::declaration::{Count, read_count};
use crate::gcf::syntax::header::{self, Header, Profile};
use crate::gcf::syntax::line::{Line, Lines};
use crate::gcf::syntax::name_index::NameIndex;
use crate::gcf::syntax::scalar::{self, Token, skip_blanks};
use crate::gcf::syntax::string;
use crate::json::{Escape, Writer};
use crate::value::{self, Value};
use crate::walk::Columns;
use std::borrow::Cow;
use std::sync::Arc;

/// Why a text was not told to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError<E> {
    /// The text is at fault.
    Text(Error),
    /// The sink did not go on.
    Sink(E),
}

/// Tells the value of a text of the generic profile to `sink`.
///
/// # Errors
/// With line and column and one of the codes of the specification.
pub fn read<S: Columns>(
    text: &str,
    limits: Limits,
    sink: &mut S,
) -> Result<(), ReadError<S::Error>> {
    let mut decoder = Decoder::new(text, limits, sink);
    decoder.root().map_err(|stop| match stop {
        Failure::Fault(fault) => ReadError::Text(fault.locate(text)),
        Failure::Sink(error) => ReadError::Sink(error),
    })
}

/// The value of a text of the generic profile.
///
/// # Errors
/// As [`read`].
pub fn decode(text: &str, limits: Limits) -> Result<Value<'static>, Error> {
    let mut builder = value::Builder::default();
    match read(text, limits, &mut builder) {
        Ok(()) => Ok(builder.finish().unwrap_or(Value::Null)),
        Err(ReadError::Text(error)) => Err(error),
        Err(ReadError::Sink(never)) => match never {},
    }
}

/// The JSON text of the value that a text of the generic profile holds: members keep their order,
/// integers all digits; a double has the shortest digits that read back as the same.
///
/// # Errors
/// As [`read`].
pub fn to_json(text: &str, limits: Limits, escape: Escape) -> Result<String, Error> {
    let mut writer = Writer::new(escape);
    match read(text, limits, &mut writer) {
        Ok(()) => Ok(writer.finish()),
        Err(ReadError::Text(error)) => Err(error),
        Err(ReadError::Sink(never)) => match never {},
    }
}

/// The text of bytes.
///
/// # Errors
/// `invalid_utf8`, with the place of the first byte that is none.
pub fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    simdutf8::basic::from_utf8(bytes).or_else(|_| match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            let message = format!("not UTF-8 from byte {} on", error.valid_up_to());
            Err(Fault { code: Code::InvalidUtf8, message, at: valid.len() }.locate(valid))
        }
    })
}

/// Why the descent stops.
pub(crate) enum Failure<E> {
    Fault(Box<Fault>),
    Sink(E),
}

impl<E> From<Box<Fault>> for Failure<E> {
    fn from(fault: Box<Fault>) -> Self {
        Self::Fault(fault)
    }
}

pub(crate) type DecodeResult<S, T = ()> = Result<T, Failure<<S as crate::walk::Sink>::Error>>;

/// The columns of a table, for a sink that knows keys as `N`.
pub(crate) type SharedColumns<N> = Arc<TableColumns<N>>;

pub(crate) struct Decoder<'t, 's, S: Columns> {
    pub lines: Lines<'t>,
    pub text: &'t str,
    pub sink: &'s mut S,
    pub limits: Limits,
    /// Open containers.
    pub depth: usize,
    /// What came before this text, in bytes.
    pub base: usize,
    /// Where each count stands that was left to the end, and what it is.
    pub deferred: Vec<(usize, u64)>,
    /// Cells of the rows that are open.
    pub cells: Vec<Token<'t>>,
    /// What ended with the line before.
    pub preceding: Preceding,
}

/// What ended just before the next line, for the sake of what to call a line too many.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preceding {
    Nothing,
    /// A body whose items were counted.
    CountedBody,
    /// The attachments of a row.
    Attachments,
}

/// What the root of a text is.
pub(crate) enum Root {
    Scalar(Line),
    /// An array or a keyed table, headed by this line.
    Array(Line),
    Object,
}

/// What the value of a member is, and where it begins.
#[derive(Clone, Copy)]
pub(crate) enum MemberForm {
    Scalar(usize),
    List(usize),
    Section,
    Array(usize),
    /// None of these.
    Unknown,
}

pub(crate) const DUPLICATE_MEMBER: &str = "the object has this member already";

/// Tells the sink.
macro_rules! emit {
    ($call:expr) => {
        $call.map_err(Failure::Sink)?
    };
}
pub(crate) use emit;

impl<'t, 's, S: Columns> Decoder<'t, 's, S> {
    pub(crate) fn new(text: &'t str, limits: Limits, sink: &'s mut S) -> Self {
        Self {
            lines: Lines::new(text),
            text,
            sink,
            limits,
            depth: 0,
            base: 0,
            deferred: Vec::new(),
            cells: Vec::new(),
            preceding: Preceding::Nothing,
        }
    }

    fn root(&mut self) -> DecodeResult<S> {
        match self.begin()? {
            Root::Scalar(line) => {
                self.advance()?;
                self.scalar(line.start + 1, line.end)?;
                match self.lines.peek() {
                    None => Ok(()),
                    Some(line) => self.fail(Code::TrailingCharacters, line, "a scalar is all"),
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

    /// Reads the header; says what the root is.
    pub(crate) fn begin(&mut self) -> DecodeResult<S, Root> {
        let header = Header::read(&mut self.lines)?;
        check_generic(&header)?;
        self.advance()?;
        Ok(match self.lines.peek().filter(|line| line.indent == 0) {
            Some(line) if self.starts(line, "=") => Root::Scalar(line),
            Some(line) if self.starts(line, "## [") => Root::Array(line),
            _ => Root::Object,
        })
    }

    /// Reads what may stand behind a root; one whose items are `counted` has no member behind it.
    pub(crate) fn end(&mut self, counted: bool) -> DecodeResult<S> {
        match self.lines.peek() {
            Some(line) if counted && !self.is_trailer(line) => {
                self.fail(Code::CountMismatch, line, "a line behind the counted items")
            }
            _ => self.trailer(),
        }
    }

    // Lines

    pub(crate) fn advance(&mut self) -> Read<()> {
        self.preceding = Preceding::Nothing;
        self.lines.advance()
    }

    pub(crate) fn starts(&self, line: Line, prefix: &str) -> bool {
        self.lines.str(line).starts_with(prefix)
    }

    pub(crate) fn is_trailer(&self, line: Line) -> bool {
        line.indent == 0 && self.starts(line, "##!")
    }

    /// Whether a line ends a body whose lines stand at `depth`.
    pub(crate) fn ends(&self, line: Line, depth: usize) -> bool {
        line.indent < depth
            || line.indent == depth && (self.starts(line, "## ") || self.starts(line, "##!"))
    }

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

    /// A line that is deeper than its container.
    #[cold]
    pub(crate) fn unexpected_indent<T, R: From<Box<Fault>>>(&self, line: Line) -> Result<T, R> {
        if self.preceding == Preceding::Attachments {
            self.fail(Code::CountMismatch, line, "a line behind what was attached")
        } else {
            self.fail(Code::InvalidIndent, line, "a line deeper than what it stands in")
        }
    }

    // Containers

    pub(crate) fn enter(&mut self, at: usize) -> Read<()> {
        self.depth += 1;
        if self.depth > self.limits.max_depth {
            let message = format!("nested more than {} levels deep", self.limits.max_depth);
            return fault(Code::LimitExceeded, at, message);
        }
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    pub(crate) fn here(&self) -> usize {
        self.lines.peek().map_or(self.text.len(), |line| line.start)
    }

    /// An object whose members stand at `depth`.
    pub(crate) fn object(&mut self, depth: usize) -> DecodeResult<S> {
        self.enter(self.here())?;
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
        emit!(self.sink.key(&name));
        if !names.add(name) {
            return self.fail(Code::DuplicateKey, line, DUPLICATE_MEMBER);
        }
        self.member_value(line, depth, form)
    }

    /// Reads the name of a member; says what its value is.
    pub(crate) fn member_head(&self, line: Line) -> DecodeResult<S, (Cow<'t, str>, MemberForm)> {
        let section = self.starts(line, "## ");
        let start = if section { line.start + 3 } else { line.start };
        let bytes = &self.text.as_bytes()[..line.end];
        let Some((name, behind)) = string::read_key(self.text, start, line.end)? else {
            return self.no_member(line);
        };
        let form = match bytes.get(behind) {
            Some(b'=') if !section => MemberForm::Scalar(behind + 1),
            Some(b'[') if !section => MemberForm::List(behind),
            _ if !section => return self.no_member(line),
            _ => {
                let rest = skip_blanks(bytes, behind);
                match bytes.get(rest) {
                    None => MemberForm::Section,
                    Some(b'[') if rest > behind => MemberForm::Array(rest),
                    Some(_) => MemberForm::Unknown,
                }
            }
        };
        Ok((name, form))
    }

    /// Reads the value of a member whose head is in `line`.
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
            MemberForm::Unknown => self.fail(Code::InvalidLine, line, "a section is ## and a name"),
        }
    }

    /// `name[2]: a,b`
    fn member_list(&mut self, at: usize, line: Line) -> DecodeResult<S> {
        let (count, behind) = read_count(self.text, at, line.end)?;
        if count.keyed || self.text.as_bytes()[..line.end].get(behind) != Some(&b':') {
            return self.fail(Code::InvalidLine, line, "a list is name[count]: and its elements");
        }
        self.list(count, behind + 1, line.end)
    }

    #[cold]
    fn no_member<T>(&self, line: Line) -> DecodeResult<S, T> {
        let text = self.lines.str(line);
        if self.preceding != Preceding::CountedBody {
            self.fail(Code::InvalidLine, line, "neither a member nor a section")
        } else if text.starts_with('.') {
            self.fail(Code::OrphanAttachment, line, "an attachment that no row asks for")
        } else if has_several_cells(text) {
            self.fail(Code::OrphanInlineAttachment, line, "a line of cells that no row asks for")
        } else {
            self.fail(Code::CountMismatch, line, "a line behind the counted items")
        }
    }

    // Scalars

    /// The scalar from `start` to `end`.
    pub(crate) fn scalar(&mut self, start: usize, end: usize) -> DecodeResult<S> {
        let (token, _) = scalar::read(self.text, start, end, b'\n')?;
        self.emit_token(&token, start)
    }

    pub(crate) fn emit_token(&mut self, token: &Token<'t>, at: usize) -> DecodeResult<S> {
        match token {
            Token::String(text) => emit!(self.sink.string(text)),
            Token::Int(value) => emit!(self.sink.int(*value)),
            Token::Float(value) => emit!(self.sink.float(*value)),
            Token::Bool(value) => emit!(self.sink.bool(*value)),
            Token::Null => emit!(self.sink.null()),
            Token::Missing => {
                return Err(Fault::new(Code::InvalidMissing, at, "~ stands only in a table").into());
            }
            Token::Marker | Token::InlineSchema(_) => {
                let message = "^ stands only in a cell of a table that is no path";
                return Err(Fault::new(Code::InvalidAttachmentMarker, at, message).into());
            }
        }
        Ok(())
    }

    pub(crate) fn list(&mut self, count: Count, start: usize, end: usize) -> DecodeResult<S> {
        self.enter(count.at)?;
        let deferred = self.defer(count);
        emit!(self.sink.begin_array());
        let mut found = 0;
        let bytes = &self.text.as_bytes()[..end];
        let empty = skip_blanks(bytes, start) == end;
        if !(empty && count.value.is_none_or(|count| count == 0)) {
            let mut at = start;
            loop {
                let (token, stop) = scalar::read(self.text, at, end, b',')?;
                self.emit_token(&token, at)?;
                found += 1;
                if stop == end {
                    break;
                }
                at = stop + 1;
            }
        }
        emit!(self.sink.end_array());
        self.leave();
        self.check_count(count, deferred, found)
    }

    // Counts

    pub(crate) fn defer(&mut self, count: Count) -> Option<usize> {
        count.value.is_none().then(|| {
            self.deferred.push((self.base + count.at, 0));
            self.deferred.len() - 1
        })
    }

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

    /// `##! summary counts=3,2`, if it is there; nothing may follow.
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
            return self.fail(Code::InvalidLine, line, "neither a member nor ##! summary");
        }
        for (at, (name, value)) in header::pairs(words, line.start)? {
            if name == "counts" {
                self.check_trailer(at, value)?;
            }
        }
        self.advance()?;
        match self.lines.peek() {
            None => Ok(()),
            Some(line) => self.fail(Code::TrailingCharacters, line, "the summary is the last line"),
        }
    }

    fn check_trailer(&mut self, at: usize, counts: &str) -> Read<()> {
        // Attachments may have been read out of their order.
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
            "the summary counts {}, the text has {}",
            excerpt(counts),
            excerpt(&found.join(","))
        );
        fault(Code::CountMismatch, at, message)
    }
}

/// What is wrong with a count.
#[cold]
pub(crate) fn count_mismatch_message(declared: u64, found: u64) -> String {
    format!("{declared} items are declared, {found} follow")
}

fn has_several_cells(text: &str) -> bool {
    match scalar::read(text, 0, text.len(), b'|') {
        Ok((_, stop)) => stop < text.len(),
        Err(_) => text.contains('|'),
    }
}

fn check_generic(header: &Header<'_>) -> Read<()> {
    if header.profile == Profile::Graph {
        return fault(Code::WrongProfile, 0, "a graph; decode reads it");
    }
    for kind in ["delta", "unchanged"] {
        if header.get(kind) == Some("true") {
            let message = format!("{kind}=true: no value, but a message about one");
            return fault(Code::WrongProfile, 0, message);
        }
    }
    Ok(())
}
