//! Checks the number of arguments of a line and parses each of them. Errors are at the column of the token.

use super::lex::{Form, Line, LineError, Token};
use crate::cad::error::Truncated;
use crate::cad::model::ir::{Align, Op};
use crate::cad::model::number;
use crate::cad::model::operations::{OpCode, OpSpec};
use std::borrow::Cow;

/// The name and attributes of a geometry line.
#[derive(Default)]
pub(crate) struct NodeAnnotations<'l> {
    /// The arguments without name and attributes, if `separated`.
    pub(crate) args: Vec<Token>,
    /// Whether `args` is filled; otherwise the line has only arguments.
    pub(crate) separated: bool,
    pub(crate) name: Option<Cow<'l, str>>,
    /// Whether the line has a name in quotes.
    pub(crate) named: bool,
    attributes: [Option<Attribute<'l>>; 3],
}

/// The value of an attribute, and the offset of its token.
#[derive(Debug, Clone)]
pub(crate) struct Attribute<'l> {
    pub at: usize,
    pub value: Cow<'l, str>,
    pub quoted: bool,
}

/// The slot of the attribute `align`, after those of the options.
const ALIGN: usize = 2;

impl<'l> NodeAnnotations<'l> {
    /// Separates the name and attributes of a line from its arguments. They come after the minimum
    /// number of arguments. A `key=value` is an attribute if the operation has that key; a string after
    /// all other arguments is the name.
    pub(crate) fn parse(
        line: Line<'l, '_>,
        spec: &'static OpSpec,
        opcode: Token,
        tokens: &[Token],
    ) -> Result<Self, LineError> {
        let known = |key: &str| match key {
            "align" if spec.code == OpCode::Text2D => Some(ALIGN),
            _ => spec.options.iter().position(|option| option.attribute == key),
        };
        let mut annotations = Self { separated: true, ..Self::default() };
        let fixed = spec.min_args.min(tokens.len());
        annotations.args.extend(&tokens[..fixed]);
        for &token in &tokens[fixed..] {
            let found = line.attribute(token);
            let Some((slot, key, value, quoted)) =
                found.and_then(|(key, value, quoted)| Some((known(key)?, key, value, quoted)))
            else {
                annotations.args.push(token);
                continue;
            };
            let attribute = Attribute { at: token.start, value, quoted };
            if annotations.attributes[slot].replace(attribute).is_some() {
                let message = format!("{} repeats {key}=", line.raw(opcode));
                return Err(LineError::new(token.start, message));
            }
        }
        match annotations.args.last() {
            Some(&token) if annotations.args.len() > fixed && token.form == Form::Quoted => {
                annotations.args.pop();
                annotations.name = Some(line.content(token));
                annotations.named = true;
            }
            _ => {}
        }
        Ok(annotations)
    }

    /// Stores the values of the attributes in the operation.
    pub(crate) fn apply_options(
        &self,
        line: Line<'l, '_>,
        spec: &'static OpSpec,
        op: &mut Op<'l>,
    ) -> Result<(), LineError> {
        debug_assert!(spec.options.len() <= ALIGN, "{}", line.text);
        for (slot, attribute) in self.attributes.iter().enumerate() {
            let Some(attribute) = attribute else { continue };
            if slot == ALIGN {
                op.details_mut().align = match &*attribute.value {
                    "left" => Align::Left,
                    "center" => Align::Center,
                    "right" => Align::Right,
                    other => {
                        let message = format!("invalid value \"{}\" for align", Truncated(other));
                        return Err(LineError::new(attribute.at, message));
                    }
                };
            } else {
                op.details_mut().options[slot] = Some(attribute.number()?);
            }
        }
        Ok(())
    }
}

impl Attribute<'_> {
    /// Parses the value as a number.
    pub(crate) fn number(&self) -> Result<f64, LineError> {
        if self.quoted {
            return Err(bad_number(number::NumberError::Invalid, &self.value, self.at));
        }
        number::parse(&self.value).map_err(|error| bad_number(error, &self.value, self.at))
    }

    /// Parses the value `0` or `1`.
    pub(crate) fn flag(&self) -> Result<bool, LineError> {
        match &*self.value {
            "0" if !self.quoted => Ok(false),
            "1" if !self.quoted => Ok(true),
            other => Err(bad_flag(other, self.at)),
        }
    }
}

/// Whether a label may have this name.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-'))
}

/// Checks the number of arguments; `counts` are the valid ones, ascending.
#[inline]
pub(crate) fn count(
    line: Line<'_, '_>,
    opcode: Token,
    args: &[Token],
    counts: &[usize],
) -> Result<(), LineError> {
    if counts.contains(&args.len()) {
        return Ok(());
    }
    Err(wrong_count(line, opcode, args, counts))
}

#[cold]
pub(crate) fn wrong_count(
    line: Line<'_, '_>,
    opcode: Token,
    args: &[Token],
    counts: &[usize],
) -> LineError {
    let most = counts.last().copied().unwrap_or(0);
    let surplus = args.get(most).filter(|_| args.len() > most);
    let counts: Vec<_> = counts.iter().map(usize::to_string).collect();
    let expected = match &*counts {
        [few @ .., last] if !few.is_empty() => format!("{} or {last}", few.join(", ")),
        counts => counts.concat(),
    };
    let message = format!("{} expects {expected} args, got {}", line.raw(opcode), args.len());
    LineError::new(surplus.map_or(opcode.start, |token| token.start), message)
}

#[inline]
pub(crate) fn number(line: Line<'_, '_>, token: Token) -> Result<f64, LineError> {
    let parsed = match token.form {
        Form::Word => number::parse(line.raw(token)),
        Form::Quoted | Form::Attribute { .. } => Err(number::NumberError::Invalid),
    };
    parsed.map_err(|error| bad_number(error, &line.content(token), token.start))
}

#[cold]
fn bad_number(error: number::NumberError, shown: &str, at: usize) -> LineError {
    let message = match error {
        number::NumberError::Invalid => format!("invalid number \"{}\"", Truncated(shown)),
        number::NumberError::OutOfRange => {
            format!("number \"{}\" is out of range", Truncated(shown))
        }
    };
    LineError::new(at, message)
}

pub(crate) fn integer(line: Line<'_, '_>, token: Token) -> Result<u32, LineError> {
    let parsed = match token.form {
        Form::Word => number::parse_u32(line.raw(token)),
        Form::Quoted | Form::Attribute { .. } => Err(number::NumberError::Invalid),
    };
    parsed.map_err(|error| {
        let shown = line.content(token);
        let message = match error {
            number::NumberError::Invalid => format!("invalid integer \"{}\"", Truncated(&shown)),
            number::NumberError::OutOfRange => {
                format!("integer \"{}\" is out of range", Truncated(&shown))
            }
        };
        LineError::new(token.start, message)
    })
}

pub(crate) fn flag(line: Line<'_, '_>, token: Token) -> Result<bool, LineError> {
    match line.raw(token) {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(bad_flag(&line.content(token), token.start)),
    }
}

#[cold]
fn bad_flag(shown: &str, at: usize) -> LineError {
    LineError::new(at, format!("invalid flag \"{}\", expected 0 or 1", Truncated(shown)))
}

/// Parses a string, which must be in quotes.
pub(crate) fn string<'l>(line: Line<'l, '_>, token: Token) -> Result<Cow<'l, str>, LineError> {
    if token.form == Form::Quoted {
        return Ok(line.content(token));
    }
    let message = format!("expected a string, got \"{}\"", Truncated(line.raw(token)));
    Err(LineError::new(token.start, message))
}
