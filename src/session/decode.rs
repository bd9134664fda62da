//! Decodes the frames of a request. On an error the session is unchanged.

use super::context::Next;
use super::definitions::{Definition, Definitions};
use super::error::DecodeError;
use super::frames::{Frame, RequestFrame, json_len, plain_len};
use super::memory::{Memory, meaning, reported_name};
use super::{Request, Session, pack};
use crate::compact::{self, Wire, delta::ApplyOptions, delta::Replace};
use crate::interrupt::polled;
use crate::memory;
use std::collections::HashSet;
use std::sync::Arc;

/// The id reported for the context of a request without a check.
const NEW_CONTEXT: &str = "c_00000000";

/// How often a request can be rejected with [`DecodeError::UnknownReference`], if its sender forgets the
/// reported ids each time and no further message is lost. The first report names the ids that this side
/// does not have. The second report names everything that the request uses; it is for an id that stands for
/// another content here, or that was evicted because ids were missing before.
pub const MAX_REJECTIONS: usize = 2;

/// Options of decoding a request.
///
/// ```
/// use compactwire::session::{DecodeOptions, Session};
///
/// let mut session = Session::default();
/// let (first, second) = (["REQ|1|||null|D|F|a"], ["REQ|1|||null|D|+|b"]);
/// let options = DecodeOptions::default();
/// session.decode_request(&first, options).unwrap();
/// session.decode_request(&second, options).unwrap();
/// let request = session.decode_request(&first, DecodeOptions { resync: true, ..options }).unwrap();
/// assert_eq!(request.context.as_deref(), Some("a"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeOptions {
    /// Accept a request that starts the conversation over, from a sender that knows nothing of the
    /// conversation that this side has. Otherwise it is rejected, because it is usually a first request that
    /// was delivered again.
    pub resync: bool,
    /// This side has lost the conversation that the sender continues. A request is then rejected unless it
    /// has a check or contains the conversation in full: an addition would be read as the conversation.
    pub lost: bool,
}

impl Session {
    /// Decodes the frames of one request.
    ///
    /// # Errors
    /// [`DecodeError`]; the session is then unchanged. After [`DecodeError::UnknownReference`] the
    /// sender must [forget](Session::forget) the ids in the error and encode its request again. This
    /// error occurs at most [`MAX_REJECTIONS`] times for a request: after the last, the sender sends
    /// all of it in full.
    pub fn decode_request<F: AsRef<str>>(
        &mut self,
        frames: &[F],
        options: DecodeOptions,
    ) -> Result<Request, DecodeError> {
        self.decode_request_with(frames, options, Ok)
    }

    /// Decodes the frames of one request, and returns what `make` makes of it.
    ///
    /// # Errors
    /// As [`Session::decode_request`], and the error of `make`. The session is then unchanged.
    pub fn decode_request_with<F: AsRef<str>, T, E: From<DecodeError>>(
        &mut self,
        frames: &[F],
        options: DecodeOptions,
        make: impl FnOnce(Request) -> Result<T, E>,
    ) -> Result<T, E> {
        let bytes = frames.iter().map(|frame| frame.as_ref().len()).sum();
        let decoded = self.decode(frames, None, bytes, options, make);
        decoded.map_err(|error| self.with_base(error))?
    }

    /// Decodes the text of [`Session::encode_packed`], or the bytes of [`Session::encode_packed_bytes`].
    ///
    /// # Errors
    /// As [`Session::decode_request`], and errors of Base85, compression and `MessagePack`. A packed
    /// request may be rejected once more than [`MAX_REJECTIONS`], because this side lacks the conversation
    /// that it is compressed against.
    pub fn decode_packed<'a>(
        &mut self,
        packed: impl Into<Wire<'a>>,
        options: DecodeOptions,
    ) -> Result<Request, DecodeError> {
        self.decode_packed_with(packed, options, Ok)
    }

    /// Decodes a packed request, and returns what `make` makes of it.
    ///
    /// # Errors
    /// As [`Session::decode_packed`], and the error of `make`. The session is then unchanged.
    pub fn decode_packed_with<'a, T, E: From<DecodeError>>(
        &mut self,
        packed: impl Into<Wire<'a>>,
        options: DecodeOptions,
        make: impl FnOnce(Request) -> Result<T, E>,
    ) -> Result<T, E> {
        let decoded = self.unpack(packed.into(), options, make);
        decoded.map_err(|error| self.with_base(error))?
    }

    fn unpack<T, E>(
        &mut self,
        packed: Wire<'_>,
        options: DecodeOptions,
        make: impl FnOnce(Request) -> Result<T, E>,
    ) -> Result<Result<T, E>, DecodeError> {
        let Memory { history, context, .. } = &self.received;
        let unpacked = pack::unpack(packed, history, context, self.limits.max_size)?;
        let after = unpacked.history_after(history);
        let frames = unpacked.frames()?;
        let check = unpacked.check.as_deref();
        let mut result = self.decode(&frames, check, packed.size(), options, make);
        if let Err(DecodeError::UnknownReference { unknown, undone, .. }) = &mut result
            && !unknown.iter().chain(&*undone).any(|id| id.starts_with("c_"))
        {
            // Without this id, the sender would compress its next request against this rejected one.
            undone.push(pack::history_name(self.received.history.id(&self.received.context)));
        }
        if let Ok(Ok(_)) = result {
            self.received.history = after;
        }
        result
    }

    /// Adds the conversation of this side to an error that lists ids to forget.
    fn with_base(&self, mut error: DecodeError) -> DecodeError {
        if let DecodeError::UnknownReference { base, .. } = &mut error {
            *base = self.received.base().map(reported_name);
        }
        error
    }

    /// Decodes frames. `check` is the check of the request, if its frame has none. The session changes only if
    /// `make` succeeds.
    fn decode<F: AsRef<str>, T, E>(
        &mut self,
        frames: &[F],
        check: Option<&str>,
        bytes: usize,
        options: DecodeOptions,
        make: impl FnOnce(Request) -> Result<T, E>,
    ) -> Result<Result<T, E>, DecodeError> {
        let Some((last, before)) = frames.split_last() else {
            let message = "expected the frames of a request, found none".into();
            return Err(DecodeError::InvalidFormat { frame: None, message });
        };
        let max_size = self.limits.max_size;
        let apply = ApplyOptions { replace: Replace::Overwrite, max_size };
        let mut request = RequestFrame::parse(last.as_ref(), before.len(), &apply)?;
        if request.definitions().next().is_some() || !request.deltas.is_empty() {
            request.check = check.or(request.check);
        }
        let Resolved { tools, prompts, used, system, next } =
            self.resolve(before, &request, options)?;

        let context = next.as_ref().map_or(0, |next| next.len(&self.received.context));
        let bytes_to_copy = request.args.len() + context;
        memory::ensure(bytes_to_copy).map_err(|_| {
            let error = compact::DecodeError::OutOfMemory { bytes: bytes_to_copy };
            DecodeError::Compact { frame: None, error }
        })?;

        let result = make(Request {
            tools: used.iter().map(|tool| Arc::clone(&tool.content)).collect(),
            system: system.as_ref().map(|prompt| Arc::clone(&prompt.content)),
            args: request.args.to_owned(),
            context: next.as_ref().map(|next| next.text(&self.received.context)),
        });
        if result.is_err() {
            return Ok(result);
        }
        self.received.tools = tools;
        self.received.prompts = prompts;
        let tools_len: Vec<_> = used.iter().map(|tool| tool.json_len).collect();
        let context_len = next.as_ref().map(Next::json_len);
        let system_len = system.as_ref().map(|prompt| prompt.json_len);
        self.stats
            .received(bytes, plain_len(&tools_len, system_len, request.args.len(), context_len));
        self.received.context.commit(next);
        Ok(result)
    }

    /// Resolves all references of a request whose other frames are `before`.
    fn resolve<F: AsRef<str>>(
        &self,
        before: &[F],
        request: &RequestFrame<'_>,
        options: DecodeOptions,
    ) -> Result<Resolved, DecodeError> {
        let mut tools = self.received.tools.clone();
        let mut prompts = self.received.prompts.clone();
        let mut unknown = Unknown::default();
        self.define(before, request, (&mut tools, &mut prompts), &mut unknown)?;
        let used = request.tools.iter().filter_map(|id| unknown.resolve(&mut tools, id)).collect();
        let system = request.system.and_then(|id| unknown.resolve(&mut prompts, id));
        let next = self.next_context(request, before.len(), options, &mut unknown)?;
        let resolved = Resolved { tools, prompts, used, system, next };
        self.verify(request, &resolved, options, &mut unknown);
        if unknown.ids.iter().any(|id| self.received.has(id)) {
            // A definition in this request evicted it, so the order of use differs from the sender's. If
            // the sender defined only this id again, that would evict the next one, and so on: all are
            // reported at once.
            unknown.undone.extend(request.definitions().map(str::to_owned));
        }
        if !request.deltas.is_empty() {
            unknown.undone.push(request.check.unwrap_or(NEW_CONTEXT).to_owned());
        }
        unknown.into_result()?;
        Ok(resolved)
    }

    /// Defines and looks up the tools and prompts of the frames before the request.
    fn define<F: AsRef<str>>(
        &self,
        before: &[F],
        request: &RequestFrame<'_>,
        (tools, prompts): (&mut Definitions, &mut Definitions),
        unknown: &mut Unknown,
    ) -> Result<(), DecodeError> {
        for (i, frame) in polled(before).enumerate() {
            let defined = match Frame::parse(frame.as_ref(), i)? {
                Frame::ToolReference(id) => {
                    unknown.resolve(tools, id);
                    continue;
                }
                Frame::PromptReference(id) => {
                    unknown.resolve(prompts, id);
                    continue;
                }
                Frame::Tool(json) => tools.define(json, json.len(), request.tools.iter().copied()),
                Frame::Prompt(text) => prompts.define(text, json_len(text) + 2, request.system),
            };
            unknown.undone.push(defined.id.clone());
            let limit = self.limits.max_size;
            if tools.size().max(prompts.size()) > limit {
                let error = compact::DecodeError::OutputTooLarge { limit };
                return Err(DecodeError::Compact { frame: Some(i), error });
            }
        }
        Ok(())
    }

    /// Verifies the check of a request whose references are all known; another one counts as unknown.
    fn verify(
        &self,
        request: &RequestFrame<'_>,
        resolved: &Resolved,
        options: DecodeOptions,
        unknown: &mut Unknown,
    ) {
        let Some(check) = request.check.filter(|_| unknown.ids.is_empty()) else { return };
        match self.compare(check, request, resolved) {
            Comparison::Equal => {}
            Comparison::StartsOver if options.resync => {}
            Comparison::StartsOver => {
                unknown.add(check);
                unknown.starts_over = true;
            }
            Comparison::Different => {
                // The check does not show which tool, prompt or context differs from the sender's.
                unknown.add(check);
                unknown.undone.extend(request.definitions().map(str::to_owned));
            }
        }
    }

    /// Compares the check of a request with what the request means here.
    fn compare(&self, check: &str, request: &RequestFrame<'_>, found: &Resolved) -> Comparison {
        let used = || found.used.iter().chain(&found.system);
        let is = |base| meaning(used(), found.next.as_ref(), base).as_deref() == Some(check);
        let base = self.received.base().filter(|_| request.replaces_context());
        if is(base) {
            return Comparison::Equal;
        }
        let repeats = found.next.as_ref().map(Next::hash) == Some(self.received.context.hash());
        match base {
            Some(_) if is(None) && repeats => Comparison::Equal,
            Some(_) if is(None) => Comparison::StartsOver,
            _ => Comparison::Different,
        }
    }

    /// Plans the change of the context; `None` for a request without a context.
    fn next_context(
        &self,
        request: &RequestFrame<'_>,
        index: usize,
        options: DecodeOptions,
        unknown: &mut Unknown,
    ) -> Result<Option<Next>, DecodeError> {
        if request.deltas.is_empty() {
            return Ok(None);
        }
        if options.lost && request.check.is_none() && !request.replaces_context() {
            unknown.add(NEW_CONTEXT);
            return Ok(None);
        }
        let failed = |error| DecodeError::Compact { frame: Some(index), error };
        let next = match (self.received.context.plan_edits(&request.deltas), request.check) {
            (Ok(next), _) => next,
            (Err(error @ compact::DecodeError::OutOfMemory { .. }), _) => {
                return Err(failed(error));
            }
            // The deltas cannot be applied, so they were written for another context.
            (Err(_), Some(check)) => {
                unknown.add(check);
                return Ok(None);
            }
            (Err(error), None) => return Err(failed(error)),
        };
        let limit = self.limits.max_size;
        if next.len(&self.received.context) > limit {
            return Err(failed(compact::DecodeError::OutputTooLarge { limit }));
        }
        Ok(Some(next))
    }
}

/// The definitions and the context that a request refers to, and the tables after it.
struct Resolved {
    tools: Definitions,
    prompts: Definitions,
    used: Vec<Arc<Definition>>,
    system: Option<Arc<Definition>>,
    /// The change of the context; `None` if the request has no context.
    next: Option<Next>,
}

/// How the check of a request compares with what the request means here.
enum Comparison {
    Equal,
    /// The sender replaces the conversation of this side, of which it knows nothing.
    StartsOver,
    Different,
}

/// The unknown ids of a request, without duplicates, and what is rejected with them.
#[derive(Default)]
struct Unknown {
    ids: Vec<String>,
    seen: HashSet<String>,
    /// The ids of contents in the same request, which the sender assumes that this side has.
    undone: Vec<String>,
    /// Whether the request is rejected only because it starts the conversation over.
    starts_over: bool,
}

impl Unknown {
    fn add(&mut self, id: &str) {
        if self.seen.insert(id.to_owned()) {
            self.ids.push(id.to_owned());
        }
    }

    fn resolve(&mut self, table: &mut Definitions, id: &str) -> Option<Arc<Definition>> {
        let found = table.touch(id);
        if found.is_none() {
            self.add(id);
        }
        found
    }

    /// Returns an error if there are unknown ids.
    fn into_result(mut self) -> Result<(), DecodeError> {
        if self.ids.is_empty() {
            return Ok(());
        }
        let undone = self.undone.into_iter().filter(|id| self.seen.insert(id.clone())).collect();
        Err(DecodeError::UnknownReference {
            unknown: self.ids,
            undone,
            base: None,
            starts_over: self.starts_over,
        })
    }
}
