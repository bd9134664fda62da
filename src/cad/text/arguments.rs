//! The arguments of a line: their number, and each as what it should be. Sections 3.2 and 6.
//!
//! What is wrong is said in the words of section 3.3, at the token that is meant.

use super::lex::{Form, Line, LineError, Token};
use crate::cad::error::Truncated;
use crate::cad::model::ir::{Align, Op};
use crate::cad::model::number;
use crate::cad::model::operations::{OpCode, OpSpec};
use std::borrow::Cow;

/// What stands on a geometry line besides its arguments.
#[derive(Default)]
pub(crate) struct NodeAnnotations<'l> {
    /// The arguments without it; where `separated`.
    pub(crate) args: Vec<Token>,
    pub(crate) separated: bool,
    pub(crate) name: Option<Cow<'l, str>>,
    pub(crate) named: bool,
    attributes: [Option<Attribute<'l>>; 3],
}

/// An attribute's value, and where its token begins.
#[derive(Debug, Clone)]
pub(crate) struct Attribute<'l> {
    pub at: usize,
    pub value: Cow<'l, str>,
    pub quoted: bool,
}

/// The attribute of a text's alignment; it comes behind those of its options.
const ALIGN: usize = 2;

impl<'l> NodeAnnotations<'l> {
    /// Sets apart what stands behind the least number of arguments: the attributes that the operation
    /// has, and a string in the last place.
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
        let mut extra = Self { separated: true, ..Self::default() };
        let fixed = spec.min_args.min(tokens.len());
        extra.args.extend(&tokens[..fixed]);
        for &token in &tokens[fixed..] {
            let found = line.attribute(token);
            let Some((slot, key, value, quoted)) =
                found.and_then(|(key, value, quoted)| Some((known(key)?, key, value, quoted)))
            else {
                extra.args.push(token);
                continue;
            };
            let attribute = Attribute { at: token.start, value, quoted };
            if extra.attributes[slot].replace(attribute).is_some() {
                let message = format!("{} repeats {key}=", line.raw(opcode));
                return Err(LineError::new(token.start, message));
            }
        }
        match extra.args.last() {
            Some(&token) if extra.args.len() > fixed && token.form == Form::Quoted => {
                extra.args.pop();
                extra.name = Some(line.content(token));
                extra.named = true;
            }
            _ => {}
        }
        Ok(extra)
    }

    /// Puts the attributes where they belong.
    pub(crate) fn options(
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
    /// Its value as a number.
    pub(crate) fn number(&self) -> Result<f64, LineError> {
        if self.quoted {
            return Err(bad_number(number::Fault::Invalid, &self.value, self.at));
        }
        number::parse(&self.value).map_err(|fault| bad_number(fault, &self.value, self.at))
    }

    /// Its value as 0 or 1.
    pub(crate) fn flag(&self) -> Result<bool, LineError> {
        match &*self.value {
            "0" if !self.quoted => Ok(false),
            "1" if !self.quoted => Ok(true),
            other => Err(bad_flag(other, self.at)),
        }
    }
}

/// Whether a `$name` may be called so.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-'))
}

/// Checks the number of arguments; `counts` are those that are right, ascending.
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
        Form::Quoted | Form::Attribute { .. } => Err(number::Fault::Invalid),
    };
    parsed.map_err(|fault| bad_number(fault, &line.content(token), token.start))
}

#[cold]
fn bad_number(fault: number::Fault, shown: &str, at: usize) -> LineError {
    let message = match fault {
        number::Fault::Invalid => format!("invalid number \"{}\"", Truncated(shown)),
        number::Fault::OutOfRange => format!("number \"{}\" is out of range", Truncated(shown)),
    };
    LineError::new(at, message)
}

pub(crate) fn integer(line: Line<'_, '_>, token: Token) -> Result<u32, LineError> {
    let parsed = match token.form {
        Form::Word => number::parse_u32(line.raw(token)),
        Form::Quoted | Form::Attribute { .. } => Err(number::Fault::Invalid),
    };
    parsed.map_err(|fault| {
        let shown = line.content(token);
        let message = match fault {
            number::Fault::Invalid => format!("invalid integer \"{}\"", Truncated(&shown)),
            number::Fault::OutOfRange => {
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

/// A string, which must be in quotes.
pub(crate) fn string<'l>(line: Line<'l, '_>, token: Token) -> Result<Cow<'l, str>, LineError> {
    if token.form == Form::Quoted {
        return Ok(line.content(token));
    }
    let message = format!("expected a string, got \"{}\"", Truncated(line.raw(token)));
    Err(LineError::new(token.start, message))
}
