//! From a response to a text: one writer per format, and the two ways to choose one.
//!
//! v2 sections 3 to 6, v4 sections 1, 2 and 4.

use super::dictionary::Dictionary;
use super::error::EncodeError;
use super::format::{Format, Layout, Protocol};
use super::response::Response;
use super::{dsl, layout, verbose};
use crate::{base85, compression};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

/// Results below this many bytes travel as DSL when the format is chosen by size.
pub(super) const AUTO_DSL_BELOW: usize = 50;
/// Above this many bytes protocol 2 compresses.
const AUTO_V2_ZLIB_ABOVE: usize = 500;
/// From this many bytes protocol 4 compresses.
const AUTO_V4_ZSTD_FROM: usize = 256;

/// Which format to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Choice {
    /// This one.
    Format(Format),
    /// By the size of the result (v2 section 6, v4 section 2).
    #[default]
    Auto,
    /// The shortest of all.
    Smallest,
}

/// How to encode.
#[derive(Clone, Copy, Default)]
pub struct EncodeOptions<'d> {
    /// The format, or how to choose it.
    pub format: Choice,
    /// The dialect.
    pub protocol: Protocol,
    /// The `MessagePack` layout; by default the one that the format has in the dialect.
    pub layout: Option<Layout>,
    /// The dictionary for the dictionary format (default: the built-in one), and for
    /// [`Choice::Auto`] in protocol 4 leave to use it.
    pub dictionary: Option<&'d Dictionary>,
}

/// Writes a response.
///
/// # Errors
/// [`EncodeError`] names the field that the format cannot carry.
pub fn encode(response: &Response<'_>, options: &EncodeOptions<'_>) -> Result<String, EncodeError> {
    response.check()?;
    match options.format {
        Choice::Format(format) => write(response, format, options),
        Choice::Auto => auto(response, options),
        Choice::Smallest => smallest(response, options),
    }
}

fn write(
    response: &Response<'_>,
    format: Format,
    options: &EncodeOptions<'_>,
) -> Result<String, EncodeError> {
    let protocol = options.protocol;
    match format {
        Format::Verbose => verbose::write(response, protocol),
        Format::Dsl => dsl::write(response, protocol),
        _ => {
            let layout = options.layout.unwrap_or(Layout::default_for(format, protocol));
            wrap(&layout::write(response, layout, protocol)?, format, options)
        }
    }
}

/// Puts a `MessagePack` message into the transport coding of a binary format.
pub(super) fn wrap(
    message: &[u8],
    format: Format,
    options: &EncodeOptions<'_>,
) -> Result<String, EncodeError> {
    Ok(match format {
        Format::Binary => {
            let mut wire = String::from("M");
            BASE64.encode_string(message, &mut wire);
            wire
        }
        Format::Zlib => base85::encode_prefixed(
            "Z",
            &match options.protocol {
                Protocol::V2 => compression::zlib(message),
                Protocol::V4 => compression::gzip(message),
            },
        ),
        Format::Zstd => base85::encode_prefixed("S", &zstd(message, None)?),
        Format::Dictionary => {
            let dictionary = options.dictionary.unwrap_or_else(|| Dictionary::built_in());
            base85::encode_prefixed("D", &zstd(message, Some(dictionary))?)
        }
        // The text formats have no message to wrap.
        Format::Base85 | Format::Verbose | Format::Dsl => base85::encode_prefixed("A", message),
    })
}

fn zstd(message: &[u8], dictionary: Option<&Dictionary>) -> Result<Vec<u8>, EncodeError> {
    let dictionary = dictionary.map(Dictionary::compressor).transpose()?;
    compression::zstd(message, dictionary)
        .map_err(|error| EncodeError { field: "result", message: error.to_string() })
}

fn auto(response: &Response<'_>, options: &EncodeOptions<'_>) -> Result<String, EncodeError> {
    let write = |format| write(response, format, options);
    let len = response.result.len();
    if len < AUTO_DSL_BELOW {
        // The model may be one that the DSL cannot carry.
        return write(Format::Dsl).or_else(|_| write(Format::Base85));
    }
    auto_binary(len, options, write)
}

/// Chooses by size among the binary formats.
pub(super) fn auto_binary(
    len: usize,
    options: &EncodeOptions<'_>,
    write: impl Fn(Format) -> Result<String, EncodeError>,
) -> Result<String, EncodeError> {
    match options.protocol {
        Protocol::V2 if len > AUTO_V2_ZLIB_ABOVE => write(Format::Zlib),
        Protocol::V2 => write(Format::Base85),
        Protocol::V4 => {
            let format = if len < AUTO_V4_ZSTD_FROM { Format::Base85 } else { Format::Zstd };
            let wire = write(format)?;
            if options.dictionary.is_none() {
                return Ok(wire);
            }
            let with_dictionary = write(Format::Dictionary)?;
            Ok(if with_dictionary.len() < wire.len() { with_dictionary } else { wire })
        }
    }
}

/// The shortest text of all. A verbose message that would read its model as a name is no candidate.
fn smallest(response: &Response<'_>, options: &EncodeOptions<'_>) -> Result<String, EncodeError> {
    let candidates = Format::ALL
        .into_iter()
        .filter(|&format| format != Format::Verbose || response.model_stays_in_verbose());
    shortest(candidates, |format| write(response, format, options))
}

/// The shortest text in bytes; of equally short ones the more readable. A format that cannot carry
/// the message is no candidate; where none can, the first failure is the answer.
pub(super) fn shortest(
    formats: impl Iterator<Item = Format>,
    write: impl Fn(Format) -> Result<String, EncodeError>,
) -> Result<String, EncodeError> {
    let mut shortest: Option<String> = None;
    let mut failure = None;
    for format in formats {
        match write(format) {
            Ok(wire) if shortest.as_ref().is_none_or(|best| wire.len() < best.len()) => {
                shortest = Some(wire);
            }
            Ok(_) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match (shortest, failure) {
        (Some(wire), _) => Ok(wire),
        (None, Some(error)) => Err(error),
        (None, None) => write(Format::Base85),
    }
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
    fn auto_goes_by_the_size_of_the_result() {
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
    fn auto_falls_back_to_base85_for_a_model_with_a_separator() {
        let response = Response { model: "a|b".into(), ..Response::new("x") };
        let wire = encode(&response, &EncodeOptions::default()).unwrap();
        assert!(wire.starts_with('A'));
    }

    #[test]
    fn auto_takes_the_dictionary_only_where_it_is_shorter() {
        let dictionary = Dictionary::built_in();
        let options = EncodeOptions { dictionary: Some(dictionary), ..EncodeOptions::default() };
        let prose = "Here's a step-by-step explanation of how this works, with an example: ";
        let wire = encode(&Response::new(prose.repeat(2)), &options).unwrap();
        assert!(wire.starts_with('D'), "{wire}");
        let short = encode(&Response::new("Sure, here it is."), &options).unwrap();
        assert!(short.starts_with("RES|"));
    }

    #[test]
    fn smallest_is_the_shortest_of_all() {
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
    fn of_equally_short_texts_smallest_takes_the_more_readable() {
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
    fn smallest_never_turns_a_model_into_a_name() {
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
