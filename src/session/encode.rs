//! Encodes a request as frames: what the peer has is written as an id, the rest in full.

use super::Session;
use super::context::{ContextId, Next, Previous};
use super::definitions::{Definition, Definitions};
use super::error::EncodeError;
use super::frames::{self, json_len, plain_len};
use super::history::History;
use super::memory::{Memory, meaning};
use super::pack;
use crate::compact::{Carrier, delta};
use crate::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A request to encode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing<'a> {
    /// The tools as JSON objects, in canonical form ([`json::write`]) so that equal tools have equal
    /// texts.
    pub tools: Vec<&'a str>,
    /// The system prompt.
    pub system: Option<&'a str>,
    /// The arguments: one JSON value.
    pub args: &'a str,
    /// The whole conversation.
    pub context: Option<&'a str>,
}

impl Default for Outgoing<'_> {
    fn default() -> Self {
        Self { tools: Vec::new(), system: None, args: "null", context: None }
    }
}

/// Options of encoding a request.
///
/// ```
/// use compactwire::session::{Outgoing, Session, Style};
///
/// // For a peer that does not know the check.
/// let style = Style { checked: false, ..Style::default() };
/// let turn = Outgoing { context: Some("User: Hi"), ..Outgoing::default() };
/// let frames = Session::default().encode_request(&turn, style).unwrap();
/// assert_eq!(frames, ["REQ|1|||null|D|F|User: Hi"]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Write a check (`D|=|`), by which a peer detects that its memory differs, and compress a
    /// packed request against the context that the peer has.
    pub checked: bool,
    /// Write `TOOL|ref|` and `SYS|ref|` frames for what the peer has, before the request.
    pub references: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { checked: true, references: false }
    }
}

impl Session {
    /// Encodes a request as frames. The caller must deliver all of them, in this order.
    ///
    /// # Errors
    /// [`EncodeError`]: a tool or the arguments are not JSON, or a limit is exceeded.
    pub fn encode_request(
        &mut self,
        request: &Outgoing<'_>,
        style: Style,
    ) -> Result<Vec<String>, EncodeError> {
        self.encode_request_with(request, style, |frames| Ok(frames.to_vec()))
    }

    /// Encodes a request, and returns what `make` makes of its frames.
    ///
    /// # Errors
    /// As [`Session::encode_request`], and the error of `make`. The session is then unchanged.
    pub fn encode_request_with<T, E: From<EncodeError>>(
        &mut self,
        request: &Outgoing<'_>,
        style: Style,
        make: impl FnOnce(&[String]) -> Result<T, E>,
    ) -> Result<T, E> {
        let plan = self.plan(request, style, true)?;
        let bytes = plan.frames.iter().map(String::len).sum();
        let result = make(&plan.frames)?;
        self.commit(plan, bytes, None);
        Ok(result)
    }

    /// Encodes a request as one compressed text for programs (v4 section 11).
    ///
    /// # Errors
    /// As [`Session::encode_request`].
    pub fn encode_packed(
        &mut self,
        request: &Outgoing<'_>,
        style: Style,
    ) -> Result<String, EncodeError> {
        self.encode_packed_with(request, style, Ok)
    }

    /// Encodes a request as bytes: the content that the text of [`Session::encode_packed`] encodes in Base85.
    /// For channels that carry bytes. This is our extension.
    ///
    /// # Errors
    /// As [`Session::encode_request`].
    pub fn encode_packed_bytes(
        &mut self,
        request: &Outgoing<'_>,
        style: Style,
    ) -> Result<Vec<u8>, EncodeError> {
        self.encode_packed_bytes_with(request, style, Ok)
    }

    /// Encodes a request as one compressed text, and returns what `make` makes of it.
    ///
    /// # Errors
    /// As [`Session::encode_request`], and the error of `make`. The session is then unchanged.
    pub fn encode_packed_with<T, E: From<EncodeError>>(
        &mut self,
        request: &Outgoing<'_>,
        style: Style,
        make: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<T, E> {
        self.pack(request, style, make)
    }

    /// Encodes a request as bytes, and returns what `make` makes of them.
    ///
    /// # Errors
    /// As [`Session::encode_request`], and the error of `make`. The session is then unchanged.
    pub fn encode_packed_bytes_with<T, E: From<EncodeError>>(
        &mut self,
        request: &Outgoing<'_>,
        style: Style,
        make: impl FnOnce(Vec<u8>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.pack(request, style, make)
    }

    fn pack<C: Carrier, T, E: From<EncodeError>>(
        &mut self,
        request: &Outgoing<'_>,
        style: Style,
        make: impl FnOnce(C) -> Result<T, E>,
    ) -> Result<T, E> {
        let begins = self.sent.history.is_empty() || !style.checked;
        let plan = self.plan(request, style, begins)?;
        let Memory { history, context, .. } = &self.sent;
        let (packed, history): (C, _) = if begins {
            pack::pack(&plan.frames, self.limits.max_size)?
        } else {
            let edits = plan.next.as_ref().is_some_and(|next| next.added().is_none());
            let base = &pack::Base { history, context, edits };
            pack::pack_against(&plan.frames, plan.check.as_deref(), base, self.limits.max_size)?
        };
        let bytes = packed.size();
        let result = make(packed)?;
        self.commit(plan, bytes, Some(history));
        Ok(result)
    }

    /// Plans a request. `shows_check` says whether its frame contains the check; the header of a packed
    /// request can contain it instead.
    fn plan(
        &self,
        request: &Outgoing<'_>,
        style: Style,
        shows_check: bool,
    ) -> Result<Plan, EncodeError> {
        json::validate(request.args, json::Limits::default())
            .map_err(|error| invalid("args", error))?;
        let tools = Contents::new(Kind::Tool, &self.sent.tools, &request.tools, style.references)?;
        let prompts = Contents::new(
            Kind::Prompt,
            &self.sent.prompts,
            request.system.as_slice(),
            style.references,
        )?;
        for (field, table) in [("tool", &tools.table), ("system", &prompts.table)] {
            self.check_size(field, table.size())?;
        }
        let mut frames = tools.frames();
        frames.extend(prompts.frames());
        let (mut next, mut delta, mut base) = (None, None, None);
        if let Some(context) = request.context {
            self.check_size("context", context.len())?;
            let known = &self.sent.context;
            let change = known.plan_text(context);
            let encoded = delta::encode_for_list(known.text(), context, change.added());
            let encoded = encoded.map_err(|error| invalid("context", error.message))?;
            base = self.sent.base().filter(|_| encoded.is_whole);
            delta = Some(encoded.text);
            next = Some(change);
        }
        let ids: Vec<_> = tools.used.iter().map(|(tool, _)| tool.id.as_str()).collect();
        let system = prompts.used.first().map(|(prompt, _)| prompt);
        let used = tools.used.iter().chain(&prompts.used).map(|(definition, _)| definition);
        let check = style.checked.then(|| meaning(used, next.as_ref(), base)).flatten();
        frames.push(frames::request(
            &ids,
            system.map(|prompt| prompt.id.as_str()),
            request.args,
            check.as_deref().filter(|_| shows_check),
            delta.as_deref(),
        ));
        let tools_len: Vec<_> = tools.used.iter().map(|(tool, _)| tool.json_len).collect();
        let plain = plain_len(
            &tools_len,
            system.map(|prompt| prompt.json_len),
            request.args.len(),
            next.as_ref().map(Next::json_len),
        );
        Ok(Plan { frames, check, tools: tools.table, prompts: prompts.table, next, plain })
    }

    fn check_size(&self, field: &'static str, size: usize) -> Result<(), EncodeError> {
        let limit = self.limits.max_size;
        if size <= limit {
            return Ok(());
        }
        Err(invalid(field, format!("{size} bytes are more than max_size, {limit}")))
    }

    /// Applies a plan. `history` is the one after the request, if it is packed.
    fn commit(&mut self, plan: Plan, bytes: usize, history: Option<History>) {
        let reported = self.sent.reported;
        if plan.next.is_some() {
            self.sent.reported = None;
        }
        self.last_sent = Some(LastSent {
            tools: std::mem::replace(&mut self.sent.tools, plan.tools),
            prompts: std::mem::replace(&mut self.sent.prompts, plan.prompts),
            context: self.sent.context.commit(plan.next),
            reported,
            history: history.map(|after| std::mem::replace(&mut self.sent.history, after)),
            bytes,
            plain: plan.plain,
        });
        self.stats.sent(bytes, plan.plain);
    }

    /// Undoes the last request that was encoded, because it was not delivered. Returns false if there was
    /// none since the session was created, restored, reset or rolled back, or since the last
    /// [`forget`](Session::forget).
    ///
    /// If the request was delivered after all, the peer reports [`DecodeError::UnknownReference`] for the
    /// next one.
    ///
    /// [`DecodeError::UnknownReference`]: super::DecodeError::UnknownReference
    pub fn rollback(&mut self) -> bool {
        let Some(last) = self.last_sent.take() else { return false };
        self.sent.tools = last.tools;
        self.sent.prompts = last.prompts;
        self.sent.context.undo(last.context);
        self.sent.reported = last.reported;
        if let Some(history) = last.history {
            self.sent.history = history;
        }
        self.stats.undo_sent(last.bytes, last.plain);
        true
    }
}

/// The memory before the last encoded request, as far as the request changed it.
#[derive(Debug, Clone)]
pub(super) struct LastSent {
    tools: Definitions,
    prompts: Definitions,
    context: Previous,
    reported: Option<ContextId>,
    /// The history, if the request is packed.
    history: Option<History>,
    bytes: usize,
    plain: usize,
}

impl LastSent {
    /// The size in bytes of the text and the history that it keeps.
    pub(super) fn size(&self) -> usize {
        self.context.size() + self.history.as_ref().map_or(0, |history| history.recent().len())
    }
}

/// An encoded request, and the memory after it is sent.
struct Plan {
    frames: Vec<String>,
    check: Option<String>,
    tools: Definitions,
    prompts: Definitions,
    next: Option<Next>,
    /// The length of the request as compact JSON, for the statistics.
    plain: usize,
}

/// The kind of a content.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Tool,
    Prompt,
}

impl Kind {
    /// The field of [`EncodeError`].
    fn field(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "system",
        }
    }

    /// The frame that defines a content.
    fn definition(self, content: &str) -> String {
        match self {
            Self::Tool => format!("TOOL|def|{content}"),
            Self::Prompt => format!("SYS|full|{content}"),
        }
    }

    /// The frame that refers to an id.
    fn reference(self, id: &str) -> String {
        match self {
            Self::Tool => format!("TOOL|ref|{id}"),
            Self::Prompt => format!("SYS|ref|{id}"),
        }
    }

    /// Checks a content and returns its length as a JSON value.
    fn json_len(self, content: &str) -> Result<usize, EncodeError> {
        match self {
            Self::Tool => {
                frames::check_tool(content).map_err(|error| invalid(self.field(), error))?;
                Ok(content.len())
            }
            Self::Prompt => Ok(json_len(content) + 2),
        }
    }
}

/// The tools or the prompts of a request.
struct Contents {
    kind: Kind,
    /// The table after the peer has read the frames.
    table: Definitions,
    /// The definitions in the order of the request, and whether the request must define each.
    used: Vec<(Arc<Definition>, bool)>,
    references: bool,
}

impl Contents {
    fn new(
        kind: Kind,
        known: &Definitions,
        contents: &[&str],
        references: bool,
    ) -> Result<Self, EncodeError> {
        let limit = known.limit();
        if contents.len() > limit {
            let found = contents.len();
            let message = format!("expected at most {limit}, found {found}");
            return Err(invalid(kind.field(), message));
        }
        let mut unknown: BTreeSet<_> =
            (0..contents.len()).filter(|&i| known.find(contents[i]).is_none()).collect();
        // A content that is used several times is defined once.
        unknown.retain(|&i| !contents[..i].contains(&contents[i]));
        // A definition may evict a content that the same request uses, which is then defined again.
        loop {
            let mut table = known.clone();
            let evicted = replay(kind, &mut table, contents, &unknown, references)?;
            if evicted.is_empty() {
                let used = contents.iter().enumerate();
                let used = used.filter_map(|(i, content)| {
                    let id = table.find(content)?.id.clone();
                    Some((table.touch(&id)?, unknown.contains(&i)))
                });
                return Ok(Self { kind, used: used.collect(), table, references });
            }
            unknown.extend(evicted);
        }
    }

    /// The frames before the request: definitions and references.
    fn frames(&self) -> Vec<String> {
        let frames = self.used.iter().filter_map(|(definition, new)| match new {
            true => Some(self.kind.definition(&definition.content)),
            false if self.references => Some(self.kind.reference(&definition.id)),
            false => None,
        });
        frames.collect()
    }
}

/// Updates the table as the peer will when it reads the frames. Returns the indices of the contents
/// that are then missing.
fn replay(
    kind: Kind,
    table: &mut Definitions,
    contents: &[&str],
    unknown: &BTreeSet<usize>,
    references: bool,
) -> Result<Vec<usize>, EncodeError> {
    for (i, content) in contents.iter().enumerate() {
        if unknown.contains(&i) {
            table.define(content, kind.json_len(content)?, []);
        } else if references && let Some(id) = table.find(content).map(|found| found.id.clone()) {
            table.touch(&id);
        }
    }
    Ok((0..contents.len()).filter(|&i| table.find(contents[i]).is_none()).collect())
}

fn invalid(field: &'static str, message: impl std::fmt::Display) -> EncodeError {
    EncodeError::new(field, message.to_string())
}
