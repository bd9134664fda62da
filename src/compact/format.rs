//! The names and numbers of the protocol: versions, formats, layouts, status and model codes.
//!
//! Compact Protocol v2 sections 1 to 3 and v4 sections 1 and 3. All tables of the protocol are here;
//! encoders and decoders share them.

/// The protocol version that an encoder writes. Decoders read both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Protocol {
    /// Compact Protocol v2.
    V2,
    /// Compact Protocol v4.
    #[default]
    V4,
}

/// The format of a response on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Format {
    /// A JSON object.
    Verbose,
    /// `RES|status|model|tokens|result`.
    Dsl,
    /// `M` + Base64 of `MessagePack`.
    Binary,
    /// `A` + Base85 of `MessagePack`.
    Base85,
    /// `Z` + Base85 of zlib (v2) or gzip (v4).
    Zlib,
    /// `S` + Base85 of zstd.
    Zstd,
    /// `D` + Base85 of zstd with a dictionary.
    Dictionary,
}

impl Format {
    /// All formats, the most readable first.
    pub const ALL: [Self; 7] = [
        Self::Dsl,
        Self::Verbose,
        Self::Binary,
        Self::Base85,
        Self::Zlib,
        Self::Zstd,
        Self::Dictionary,
    ];

    /// The name of the format in options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verbose => "verbose",
            Self::Dsl => "dsl",
            Self::Binary => "binary",
            Self::Base85 => "base85",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
            Self::Dictionary => "dictionary",
        }
    }

    /// The encoding of the text of this format.
    pub(super) const fn encoding(self) -> Encoding {
        match self {
            Self::Verbose => Encoding::Verbose,
            Self::Dsl => Encoding::Dsl,
            Self::Binary => Encoding::Message(Transport::Base64),
            Self::Base85 => Encoding::Message(Transport::Base85),
            Self::Zlib => Encoding::Message(Transport::Zlib),
            Self::Zstd => Encoding::Message(Transport::Zstd),
            Self::Dictionary => Encoding::Message(Transport::Dictionary),
        }
    }
}

/// A [`Format`], divided into the two text formats and the transports of `MessagePack`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Verbose,
    Dsl,
    Message(Transport),
}

/// How a `MessagePack` message becomes text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// `M` + Base64.
    Base64,
    /// `A` + Base85.
    Base85,
    /// `Z` + Base85 of zlib (v2) or gzip (v4).
    Zlib,
    /// `S` + Base85 of zstd.
    Zstd,
    /// `D` + Base85 of zstd with a dictionary.
    Dictionary,
}

impl Transport {
    /// The format with this transport.
    pub(super) const fn format(self) -> Format {
        match self {
            Self::Base64 => Format::Binary,
            Self::Base85 => Format::Base85,
            Self::Zlib => Format::Zlib,
            Self::Zstd => Format::Zstd,
            Self::Dictionary => Format::Dictionary,
        }
    }
}

/// The kind of a text, recognized by its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Kind {
    /// A response, read by [`decode`](super::decode).
    Response(Format),
    /// A streaming delta, read by [`delta::apply`](super::delta::apply).
    Delta,
    /// A session's tool definition or reference.
    Tool,
    /// A session's system prompt or reference.
    System,
    /// A session's request.
    Request,
    /// A GCF document.
    Gcf,
}

impl Kind {
    /// The name of the kind; for a response, the name of its format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Response(format) => format.name(),
            Self::Delta => "delta",
            Self::Tool => "tool",
            Self::System => "system",
            Self::Request => "request",
            Self::Gcf => "gcf",
        }
    }
}

/// The layout of a response in `MessagePack`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Layout {
    /// `[1, "OK", "G3", tokens, result]`.
    V1,
    /// `[2, 0, 0, tokens, result]`.
    V2,
    /// `[3, 0, 0, result]`, or `[3, 0, 0, tokens, result]` if tokens are not 0.
    V3,
    /// `{"v": 1, "s": "OK", "m": "C45", "t": tokens, "r": result}`.
    Map,
}

impl Layout {
    /// The default layout of a transport in a protocol version.
    pub(super) const fn default_for(transport: Transport, protocol: Protocol) -> Self {
        match (transport, protocol) {
            (Transport::Zstd | Transport::Dictionary, _) | (_, Protocol::V4) => Self::Map,
            (Transport::Base64 | Transport::Base85 | Transport::Zlib, Protocol::V2) => Self::V3,
        }
    }
}

/// The status of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Status {
    /// Success.
    #[default]
    Ok,
    /// Failure; the result is the error message.
    Err,
    /// A partial answer: `PART` in v2, `PARTIAL` in v4.
    Part,
    /// A chunk of a stream.
    Stream,
}

impl Status {
    const BY_INT: [Self; 4] = [Self::Ok, Self::Err, Self::Part, Self::Stream];

    /// The code in a protocol version.
    pub const fn code(self, protocol: Protocol) -> &'static str {
        match (self, protocol) {
            (Self::Ok, _) => "OK",
            (Self::Err, _) => "ERR",
            (Self::Part, Protocol::V2) => "PART",
            (Self::Part, Protocol::V4) => "PARTIAL",
            (Self::Stream, _) => "STREAM",
        }
    }

    /// The status of a code of either protocol version.
    pub fn from_code(code: &str) -> Option<Self> {
        match code {
            "OK" => Some(Self::Ok),
            "ERR" => Some(Self::Err),
            "PART" | "PARTIAL" => Some(Self::Part),
            "STREAM" => Some(Self::Stream),
            _ => None,
        }
    }

    /// The integer of layouts v2 and v3.
    pub const fn int(self) -> u8 {
        self as u8
    }

    /// The status of an integer of layouts v2 and v3.
    pub fn from_int(int: u64) -> Option<Self> {
        Self::BY_INT.get(usize::try_from(int).ok()?).copied()
    }

    /// The return code that a verbose message has for this status by default.
    pub const fn returncode(self) -> i64 {
        match self {
            Self::Err => 1,
            Self::Ok | Self::Part | Self::Stream => 0,
        }
    }
}

/// Model codes that have an integer; the integer is the index (v2 section 3).
const MODELS_BY_INT: [&str; 6] = ["G3", "C4", "X5", "OL", "AD", "SE"];

/// Model codes without an integer (v4 section 3).
const MODELS_V4_ONLY: [&str; 6] = ["C45", "CS", "CH", "G4", "G5", "O4"];

/// A part of a model name in lower case, and the code of such models; the first match wins.
const MODEL_NAMES: [(&str, &str); 7] = [
    ("gemini", "G3"),
    ("claude", "C4"),
    ("codex", "X5"),
    ("gpt", "X5"),
    ("ollama", "OL"),
    ("adam", "AD"),
    ("seele", "SE"),
];

/// The integer of a model code in layouts v2 and v3.
pub(super) fn model_int(code: &str) -> Option<u8> {
    (0..).zip(MODELS_BY_INT).find(|&(_, c)| c == code).map(|(int, _)| int)
}

/// The model code of an integer of layouts v2 and v3.
pub(super) fn model_from_int(int: u64) -> Option<&'static str> {
    MODELS_BY_INT.get(usize::try_from(int).ok()?).copied()
}

/// Whether `text` is a model code of either protocol version.
pub(super) fn is_model_code(text: &str) -> bool {
    MODELS_BY_INT.contains(&text) || MODELS_V4_ONLY.contains(&text)
}

/// The code for the model of a verbose message. A code and an unknown name are returned unchanged.
pub fn model_code(name: &str) -> &str {
    if is_model_code(name) {
        return name;
    }
    let lower = name.to_ascii_lowercase();
    MODEL_NAMES.iter().find(|(part, _)| lower.contains(part)).map_or(name, |(_, code)| code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_match_the_specification() {
        for (int, code) in (0u8..).zip(["G3", "C4", "X5", "OL", "AD", "SE"]) {
            assert_eq!(model_int(code), Some(int));
            assert_eq!(model_from_int(int.into()), Some(code));
        }
        assert_eq!(model_from_int(6), None);
        assert_eq!(model_from_int(u64::MAX), None);
        for (int, status) in (0u8..).zip([Status::Ok, Status::Err, Status::Part, Status::Stream]) {
            assert_eq!(status.int(), int);
            assert_eq!(Status::from_int(int.into()), Some(status));
        }
        assert_eq!(Status::from_int(4), None);
    }

    #[test]
    fn status_codes_of_both_versions_are_read() {
        for status in Status::BY_INT {
            for protocol in [Protocol::V2, Protocol::V4] {
                assert_eq!(Status::from_code(status.code(protocol)), Some(status));
            }
        }
        assert_eq!(Status::from_code("ok"), None);
    }

    #[test]
    fn model_names_map_to_the_first_matching_code() {
        for (name, code) in [
            ("gemini-2.5-pro", "G3"),
            ("Claude-Opus", "C4"),
            ("GPT-5-Codex", "X5"),
            ("chatgpt", "X5"),
            ("OLLAMA", "OL"),
            ("claude via gemini", "G3"),
            ("C45", "C45"),
            ("mistral-large", "mistral-large"),
            ("", ""),
        ] {
            assert_eq!(model_code(name), code);
        }
    }
}
