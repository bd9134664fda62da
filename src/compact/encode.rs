//! Encodes a response as text or bytes, in a given format or in one chosen by size.
//!
//! v2 sections 3 to 6, v4 sections 1, 2 and 4.

use super::carrier::Carrier;
use super::dictionary::Dictionary;
use super::error::EncodeError;
use super::format::{Encoding, Format, Layout, Protocol, Transport};
use super::response::Response;
use super::{dsl, layout, verbose};
use crate::compression;

/// The bytes of memory that encoding takes per byte of the texts, for a message that grows and its Base85.
const FACTOR: usize = 8;
/// Like [`FACTOR`], for JSON, which writes a control character in six bytes.
const JSON_FACTOR: usize = 24;

/// The format to write, or how to choose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Choice {
    /// A given format.
    Format(Format),
    /// A format chosen by the size of the result (v2 section 6, v4 section 2).
    #[default]
    Auto,
    /// The format with the shortest text.
    Smallest,
}

/// Options of [`encode`].
///
/// ```
/// use compactwire::compact::{Choice, EncodeOptions, Format, Response, encode};
///
/// let options =
///     EncodeOptions { format: Choice::Format(Format::Verbose), ..EncodeOptions::default() };
/// assert!(encode(&Response::new("42"), &options).unwrap().starts_with('{'));
/// ```
#[derive(Clone, Copy, Default)]
pub struct EncodeOptions<'d> {
    /// The format, or how to choose it.
    pub format: Choice,
    /// The protocol version.
    pub protocol: Protocol,
    /// The `MessagePack` layout; by default that of the format in the protocol version.
    pub layout: Option<Layout>,
    /// The dictionary of [`Format::Dictionary`]; by default the built-in one. [`Choice::Auto`] takes
    /// that format in protocol 4 only if this is set.
    pub dictionary: Option<&'d Dictionary>,
}

/// Encodes a response as text.
///
/// # Errors
/// [`EncodeError`] names the field that the format cannot represent.
pub fn encode(response: &Response<'_>, options: &EncodeOptions<'_>) -> Result<String, EncodeError> {
    encode_as(response, options)
}

/// Encodes a response as bytes: the content that its text encodes in Base64 or Base85, or a text format in
/// UTF-8. This is our extension; [`decode`](super::decode) reads it.
///
/// # Errors
/// As [`encode`].
pub fn encode_bytes(
    response: &Response<'_>,
    options: &EncodeOptions<'_>,
) -> Result<Vec<u8>, EncodeError> {
    encode_as(response, options)
}

fn encode_as<C: Carrier>(
    response: &Response<'_>,
    options: &EncodeOptions<'_>,
) -> Result<C, EncodeError> {
    response.check()?;
    let factor = match options.format {
        Choice::Format(Format::Verbose) | Choice::Smallest => JSON_FACTOR,
        Choice::Format(_) | Choice::Auto => FACTOR,
    };
    EncodeError::ensure_memory("result", factor.saturating_mul(response.size()))?;
    match options.format {
        Choice::Format(format) => write(response, format, options),
        Choice::Auto => auto(response, options),
        Choice::Smallest => smallest(response, options),
    }
}

fn write<C: Carrier>(
    response: &Response<'_>,
    format: Format,
    options: &EncodeOptions<'_>,
) -> Result<C, EncodeError> {
    match format.encoding() {
        Encoding::Verbose => verbose::write(response, options.protocol).map(C::text),
        Encoding::Dsl => dsl::write(response, options.protocol).map(C::text),
        Encoding::Message(transport) => write_message(response, transport, options),
    }
}

fn write_message<C: Carrier>(
    response: &Response<'_>,
    transport: Transport,
    options: &EncodeOptions<'_>,
) -> Result<C, EncodeError> {
    let protocol = options.protocol;
    let layout = options.layout.unwrap_or(Layout::default_for(transport, protocol));
    encode_transport(layout::write(response, layout, protocol)?, transport, options)
}

/// Encodes a `MessagePack` message, prefix included.
pub(super) fn encode_transport<C: Carrier>(
    message: Vec<u8>,
    transport: Transport,
    options: &EncodeOptions<'_>,
) -> Result<C, EncodeError> {
    let content = match transport {
        Transport::Base64 | Transport::Base85 => message,
        Transport::Zlib => match options.protocol {
            Protocol::V2 => compression::zlib(&message)?,
            Protocol::V4 => compression::gzip(&message)?,
        },
        Transport::Zstd => zstd(&message, None)?,
        Transport::Dictionary => {
            let dictionary = options.dictionary.unwrap_or_else(|| Dictionary::built_in());
            zstd(&message, Some(dictionary))?
        }
    };
    Ok(C::binary(content, transport))
}

fn zstd(message: &[u8], dictionary: Option<&Dictionary>) -> Result<Vec<u8>, EncodeError> {
    let dictionary = dictionary.map(Dictionary::compressor).transpose()?;
    Ok(compression::zstd(message, dictionary)?)
}

fn auto<C: Carrier>(
    response: &Response<'_>,
    options: &EncodeOptions<'_>,
) -> Result<C, EncodeError> {
    let write = |transport| write_message(response, transport, options);
    let len = response.result.len();
    // With a dictionary, compression pays from the lower size for texts on, for bytes too.
    let short = match options.dictionary {
        Some(_) => String::AUTO.message,
        None => C::AUTO.message,
    };
    if len < short {
        // The DSL cannot carry a model with a separator.
        let text = dsl::write(response, options.protocol);
        return match text {
            Err(error) if !error.out_of_memory => write(Transport::Base85),
            text => text.map(C::text),
        };
    }
    auto_transport(len, options, write)
}

/// Chooses the transport by the size of the message.
pub(super) fn auto_transport<C: Carrier>(
    len: usize,
    options: &EncodeOptions<'_>,
    write: impl Fn(Transport) -> Result<C, EncodeError>,
) -> Result<C, EncodeError> {
    match options.protocol {
        Protocol::V2 if len >= C::AUTO.zlib => write(Transport::Zlib),
        Protocol::V2 => write(Transport::Base85),
        Protocol::V4 => {
            let small = len < C::AUTO.zstd;
            let wire = write(if small { Transport::Base85 } else { Transport::Zstd })?;
            if options.dictionary.is_none() {
                return Ok(wire);
            }
            let with_dictionary = write(Transport::Dictionary)?;
            Ok(if with_dictionary.size() < wire.size() { with_dictionary } else { wire })
        }
    }
}

/// The shortest message of all formats. Verbose is left out if a decoder would interpret the model of
/// the message as a name.
fn smallest<C: Carrier>(
    response: &Response<'_>,
    options: &EncodeOptions<'_>,
) -> Result<C, EncodeError> {
    let [first, others @ ..] = Format::ALL;
    let others = others
        .into_iter()
        .filter(|&format| format != Format::Verbose || response.model_stays_in_verbose());
    shortest(first, others, |format| write(response, format, options))
}

/// The shortest message in bytes; of equally short messages the one of the earlier format. Skips a format
/// that cannot carry the message; if none can, returns the error of the first format.
pub(super) fn shortest<C: Carrier>(
    first: Format,
    others: impl IntoIterator<Item = Format>,
    write: impl Fn(Format) -> Result<C, EncodeError>,
) -> Result<C, EncodeError> {
    others.into_iter().fold(write(first), |best, format| match (best, write(format)) {
        // The shortest may be one that there was no memory for.
        (Err(error), _) | (_, Err(error)) if error.out_of_memory => Err(error),
        (Ok(best), Ok(wire)) if wire.size() < best.size() => Ok(wire),
        (Err(_), Ok(wire)) => Ok(wire),
        (best, _) => best,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::{DecodeOptions, decode};

    fn choose(len: usize, options: &EncodeOptions<'_>) -> Format {
        let response = Response { model: "C4".into(), ..Response::new("x".repeat(len)) };
        let wire = encode(&response, options).unwrap();
        let decoded = decode(&wire, &DecodeOptions::default()).unwrap();
        assert_eq!(decoded.response, response);
        decoded.format.unwrap()
    }

    #[test]
    fn auto_chooses_by_the_size_of_the_result() {
        let v2 = EncodeOptions { protocol: Protocol::V2, ..EncodeOptions::default() };
        let v4 = EncodeOptions::default();
        for (len, format2, format4) in [
            (0, Format::Dsl, Format::Dsl),
            (49, Format::Dsl, Format::Dsl),
            (50, Format::Base85, Format::Base85),
            (255, Format::Base85, Format::Base85),
            (256, Format::Base85, Format::Zstd),
            (500, Format::Base85, Format::Zstd),
            (501, Format::Zlib, Format::Zstd),
        ] {
            assert_eq!((choose(len, &v2), choose(len, &v4)), (format2, format4), "{len}");
        }
    }

    #[test]
    fn auto_uses_base85_for_a_model_with_a_separator() {
        let response = Response { model: "a|b".into(), ..Response::new("x") };
        let wire = encode(&response, &EncodeOptions::default()).unwrap();
        assert!(wire.starts_with('A'));
    }

    #[test]
    fn auto_uses_the_dictionary_only_if_it_is_shorter() {
        let dictionary = Dictionary::built_in();
        let options = EncodeOptions { dictionary: Some(dictionary), ..EncodeOptions::default() };
        let prose = "Here's a step-by-step explanation of how this works, with an example: ";
        let wire = encode(&Response::new(prose.repeat(2)), &options).unwrap();
        assert!(wire.starts_with('D'), "{wire}");
        let short = encode(&Response::new("Sure, here it is."), &options).unwrap();
        assert!(short.starts_with("RES|"));
    }

    #[test]
    fn smallest_is_the_shortest_format() {
        for text in ["", "short", &"x".repeat(60), &"so it goes. ".repeat(40), "한국어 응답"] {
            for protocol in [Protocol::V2, Protocol::V4] {
                let response = Response { tokens: 7, ..Response::new(text) };
                let options = EncodeOptions { protocol, ..EncodeOptions::default() };
                let all = Format::ALL.map(|format| {
                    let options = EncodeOptions { format: Choice::Format(format), ..options };
                    encode(&response, &options).unwrap()
                });
                let options = EncodeOptions { format: Choice::Smallest, ..options };
                let smallest = encode(&response, &options).unwrap();
                assert_eq!(Some(smallest.len()), all.iter().map(String::len).min());
                assert!(all.contains(&smallest));
            }
        }
    }

    #[test]
    fn smallest_prefers_the_more_readable_of_equally_short_formats() {
        let response = Response { model: "G3".into(), ..Response::new("kqzvxwjyfbghdcpmutl") };
        let options =
            |format| EncodeOptions { format, protocol: Protocol::V2, ..EncodeOptions::default() };
        let [dsl, base85, smallest] =
            [Choice::Format(Format::Dsl), Choice::Format(Format::Base85), Choice::Smallest]
                .map(|choice| encode(&response, &options(choice)).unwrap());
        assert_eq!(dsl.len(), base85.len());
        assert_eq!(smallest, dsl);
    }

    #[test]
    fn smallest_keeps_a_model_that_verbose_would_read_as_a_name() {
        let text = "kqzvxwjyfbghdcpmutl0123456789";
        let response = Response { model: "gpt|4o".into(), ..Response::new(text) };
        let options = EncodeOptions { format: Choice::Smallest, ..EncodeOptions::default() };
        let wire = encode(&response, &options).unwrap();
        assert_eq!(decode(&wire, &DecodeOptions::default()).unwrap().response, response);
    }

    #[test]
    fn tokens_above_the_limit_are_refused_in_every_format() {
        let response = Response { tokens: 1 << 63, ..Response::new("x") };
        for format in Format::ALL {
            let options = EncodeOptions { format: Choice::Format(format), ..Default::default() };
            assert_eq!(encode(&response, &options).unwrap_err().field, "tokens");
        }
    }
}
