//! Parses and writes single frames. This module has no state.

use super::definitions::MAX_TOOLS;
use super::error::DecodeError;
use crate::compact::delta::{ApplyOptions, Edit};
use crate::compact::{self, mistaken};
use crate::excerpt::excerpt;
use crate::json;

/// The version of the request format.
const VERSION: &str = "1";

/// The prefix of the check in a request.
const CHECK: &str = "D|=|";

/// The separator of the deltas in a request.
const SEPARATOR: &str = "|D|";

/// The largest length of a delta before its text: `D|R|`, a position, `|`.
const MAX_OPERATION_LEN: usize = 5 + 20;

/// The length of the longest id: a letter, `_` and a whole SHA-256.
const MAX_ID_LEN: usize = 2 + 64;

/// A frame before the request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    Tool(&'a str),
    ToolReference(&'a str),
    Prompt(&'a str),
    PromptReference(&'a str),
}

impl<'a> Frame<'a> {
    /// Parses the frame at `index` of its list.
    pub(super) fn parse(text: &'a str, index: usize) -> Result<Self, DecodeError> {
        let reference = |id| check_id(id, index);
        if let Some(json) = text.strip_prefix("TOOL|def|") {
            check_tool(json).map_err(|message| DecodeError::invalid(index, message))?;
            Ok(Self::Tool(json))
        } else if let Some(id) = text.strip_prefix("TOOL|ref|") {
            Ok(Self::ToolReference(reference(id)?))
        } else if let Some(prompt) = text.strip_prefix("SYS|full|") {
            Ok(Self::Prompt(prompt))
        } else if let Some(id) = text.strip_prefix("SYS|ref|") {
            Ok(Self::PromptReference(reference(id)?))
        } else if text.starts_with("REQ|") {
            Err(DecodeError::invalid(
                index,
                "expected one REQ frame at the end, found another before it",
            ))
        } else {
            let found = excerpt(text);
            let expected = "TOOL|def|, TOOL|ref|, SYS|full| or SYS|ref|";
            Err(DecodeError::invalid(index, format!("expected {expected}, found {found}")))
        }
    }
}

/// Checks that a text is a tool: a JSON object.
pub(super) fn check_tool(json: &str) -> Result<(), String> {
    json::validate(json, json::Limits::default())
        .map_err(|error| format!("invalid JSON of a tool: {error}"))?;
    if json.trim_ascii_start().starts_with('{') {
        Ok(())
    } else {
        Err(format!("expected a tool as a JSON object, found {}", excerpt(json)))
    }
}

fn check_id(id: &str, frame: usize) -> Result<&str, DecodeError> {
    if id.is_empty() || id.len() > MAX_ID_LEN || id.contains('|') {
        return Err(DecodeError::invalid(frame, format!("expected an id, found {}", excerpt(id))));
    }
    Ok(id)
}

/// A parsed request frame.
#[derive(Debug)]
pub(super) struct RequestFrame<'a> {
    pub(super) tools: Vec<&'a str>,
    pub(super) system: Option<&'a str>,
    pub(super) args: &'a str,
    /// The hash of the resolved request as a short id; see `memory::meaning`.
    pub(super) check: Option<&'a str>,
    /// The deltas of the context; empty if the request has no context.
    pub(super) deltas: Vec<Edit<'a>>,
}

impl<'a> RequestFrame<'a> {
    /// The ids of the tools and of the prompt.
    pub(super) fn definitions(&self) -> impl Iterator<Item = &'a str> {
        self.tools.iter().chain(&self.system).copied()
    }

    /// Whether the request replaces all of the context.
    pub(super) fn replaces_context(&self) -> bool {
        self.deltas.iter().any(Edit::is_whole)
    }

    /// Parses the frame at `index` of its list.
    pub(super) fn parse(
        text: &'a str,
        index: usize,
        options: &ApplyOptions,
    ) -> Result<Self, DecodeError> {
        let invalid = |message: String| DecodeError::invalid(index, message);
        let mut rest = text.strip_prefix("REQ|").ok_or_else(|| {
            let kind = mistaken::kind_of(text).map_or("", mistaken::other);
            let and = if kind.is_empty() { "" } else { ", " };
            let found = excerpt(text);
            invalid(format!("expected a request REQ|1|… at the end, found {found}{and}{kind}"))
        })?;
        let mut field = |name: &str| {
            let split = rest.split_once('|');
            let (field, after) =
                split.ok_or_else(|| invalid(format!("the request ends before the {name}")))?;
            rest = after;
            Ok::<_, DecodeError>(field)
        };
        let version = field("tools")?;
        if version != VERSION {
            let found = excerpt(version);
            return Err(invalid(format!("expected request version {VERSION}, found {found}")));
        }
        let (tools, system) = (field("prompt")?, field("arguments")?);
        let tools: Vec<_> = if tools.is_empty() { Vec::new() } else { tools.split(',').collect() };
        if tools.len() > MAX_TOOLS {
            let found = tools.len();
            return Err(invalid(format!("expected at most {MAX_TOOLS} tools, found {found}")));
        }
        for id in &tools {
            check_id(id, index)?;
        }
        let system = if system.is_empty() { None } else { Some(check_id(system, index)?) };
        let end = json::skip(rest, json::Limits::default())
            .map_err(|error| DecodeError::json(index, "the arguments", &error))?;
        let (args, deltas) = rest.split_at(end);
        let (check, deltas) = split_check(deltas).map_err(invalid)?;
        let deltas = parse_deltas(deltas, options)
            .map_err(|error| DecodeError::Compact { frame: Some(index), error })?;
        Ok(Self { tools, system, args, check, deltas })
    }
}

/// Parses the deltas. The sum of their decompressed texts is at most `max_size`.
fn parse_deltas<'a>(
    text: &'a str,
    options: &ApplyOptions,
) -> Result<Vec<Edit<'a>>, compact::DecodeError> {
    let limit = options.max_size;
    let mut left = ApplyOptions { max_size: limit.saturating_add(MAX_OPERATION_LEN), ..*options };
    let mut edits = Vec::new();
    for delta in split_deltas(text) {
        let edit = Edit::parse(delta, &left).map_err(|error| match error {
            compact::DecodeError::OutputTooLarge { .. } => {
                compact::DecodeError::OutputTooLarge { limit }
            }
            error => error,
        })?;
        left.max_size = left.max_size.saturating_sub(edit.text_len());
        edits.push(edit);
    }
    Ok(edits)
}

/// Splits the text after the arguments into the check and the deltas. The text is empty, or `|` and a
/// check, deltas, or both.
fn split_check(text: &str) -> Result<(Option<&str>, &str), String> {
    let Some(deltas) = text.strip_prefix('|') else {
        if text.is_empty() {
            return Ok((None, text));
        }
        return Err(format!("expected '|' after the arguments, found {}", excerpt(text)));
    };
    let Some(rest) = deltas.strip_prefix(CHECK) else { return Ok((None, deltas)) };
    let (id, deltas) = rest.split_once('|').unwrap_or((rest, ""));
    let digits = id.strip_prefix("c_").unwrap_or_default();
    if digits.len() != 8 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(format!("expected a check c_ and 8 digits, found {}", excerpt(id)));
    }
    Ok((Some(id), deltas))
}

/// Splits the deltas of a request. Each begins with `D|`, and none contains [`SEPARATOR`].
fn split_deltas(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (delta, after) = match rest.find(SEPARATOR) {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => (rest, ""),
        };
        rest = after;
        Some(delta)
    })
}

/// Writes a request frame. `delta` must not contain [`SEPARATOR`].
pub(super) fn request(
    tools: &[&str],
    system: Option<&str>,
    args: &str,
    check: Option<&str>,
    delta: Option<&str>,
) -> String {
    let tools = tools.join(",");
    let system = system.unwrap_or_default();
    let mut frame = format!("REQ|{VERSION}|{tools}|{system}|{args}");
    if let Some(check) = check {
        frame.push('|');
        frame.push_str(CHECK);
        frame.push_str(check);
    }
    if let Some(delta) = delta {
        frame.push('|');
        frame.push_str(delta);
    }
    frame
}

/// The length of a string in JSON, without its quotes.
pub(super) fn json_len(text: &str) -> usize {
    let escapes = text.bytes().filter(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\');
    text.len()
        + escapes
            .map(|byte| match byte {
                b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0C => 1,
                _ => 5,
            })
            .sum::<usize>()
}

/// The length of a request as compact JSON, with tools, prompt and context in full. The parameters
/// are the lengths of its parts.
pub(super) fn plain_len(
    tools: &[usize],
    system: Option<usize>,
    args: usize,
    context: Option<usize>,
) -> usize {
    let mut len = r#"{"args":}"#.len() + args;
    match tools {
        [] => {}
        [tool] => len += r#""tool":,"#.len() + tool,
        _ => len += r#""tool":[],"#.len() + tools.iter().sum::<usize>() + tools.len() - 1,
    }
    len += system.map_or(0, |system| r#""system":,"#.len() + system);
    len + context.map_or(0, |context| r#""context":,"#.len() + context)
}
