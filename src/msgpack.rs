//! Strict `MessagePack` reading, over the `rmp` crate; writing is `rmp::encode` into a [`Writer`].
//!
//! Invariant: every claimed length is compared with what is left before anything is taken for it,
//! nothing is converted (a boolean is no integer, binary is no text), and every error carries the
//! offset of the value that it is about.

use crate::limits::MAX_SKIPPED_DEPTH;
use rmp::Marker;
use rmp::decode::{Bytes, LenError, MessageLen, NumValueReadError, ValueReadError};

/// The sink for `rmp::encode`: a growing buffer whose error type has no values.
pub use rmp::encode::ByteBuf as Writer;

type RmpError = ValueReadError<rmp::decode::bytes::BytesReadError>;

/// A value that is not what the format asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}, at offset {offset}")]
pub struct Error {
    /// What was expected and what was found.
    pub message: String,
    /// Offset in bytes from 0.
    pub offset: usize,
}

/// Reads values one after the other from a byte slice.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    data: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, offset: 0 }
    }

    /// Offset in bytes of the next value.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Whether the next value is a map.
    pub fn at_map(&self) -> bool {
        self.rest().first().is_some_and(|&byte| {
            matches!(Marker::from_u8(byte), Marker::FixMap(_) | Marker::Map16 | Marker::Map32)
        })
    }

    /// Reads the head of an array: how many elements follow.
    pub fn array_len(&mut self) -> Result<u32, Error> {
        self.read("an array", rmp::decode::read_array_len)
    }

    /// Reads the head of a map: how many pairs follow.
    pub fn map_len(&mut self) -> Result<u32, Error> {
        self.read("a map", rmp::decode::read_map_len)
    }

    /// Reads an integer of 0 or more, in whatever width it is written.
    pub fn uint(&mut self) -> Result<u64, Error> {
        let offset = self.offset;
        // Two layers: the outer error is about the value, the inner about its sign.
        let value = self.read("an integer", |bytes| match rmp::decode::read_int(bytes) {
            Ok(value) => Ok(Some(value)),
            Err(NumValueReadError::OutOfRange) => Ok(None),
            Err(NumValueReadError::TypeMismatch(marker)) => Err(RmpError::TypeMismatch(marker)),
            Err(NumValueReadError::InvalidMarkerRead(e)) => Err(RmpError::InvalidMarkerRead(e)),
            Err(NumValueReadError::InvalidDataRead(e)) => Err(RmpError::InvalidDataRead(e)),
        })?;
        value.ok_or_else(|| Error { message: "expected 0 or more, found less".into(), offset })
    }

    /// Reads text, borrowed from the input.
    pub fn text(&mut self) -> Result<&'a str, Error> {
        let offset = self.offset;
        let len = self.read("text", rmp::decode::read_str_len)? as usize;
        let Some(bytes) = self.rest().get(..len) else {
            let message = format!("expected {len} bytes of text, found {}", self.rest().len());
            return Err(Error { message, offset });
        };
        let text = std::str::from_utf8(bytes).map_err(|error| Error {
            message: "text is not UTF-8".into(),
            offset: self.offset + error.valid_up_to(),
        })?;
        self.offset += len;
        Ok(text)
    }

    /// Passes over one value of any type, nested at most [`MAX_SKIPPED_DEPTH`] deep.
    pub fn skip(&mut self) -> Result<(), Error> {
        let mut value = MessageLen::with_limits(MAX_SKIPPED_DEPTH, u32::MAX as usize);
        let message = match value.incremental_len(self.rest()) {
            Ok(len) => {
                self.offset += len;
                return Ok(());
            }
            Err(LenError::Truncated(len)) if len.get() > self.rest().len() => {
                format!("expected a value of {len} bytes or more, found {}", self.rest().len())
            }
            Err(LenError::Truncated(_) | LenError::ParseError) => {
                format!("expected a valid value at most {MAX_SKIPPED_DEPTH} levels deep")
            }
        };
        Err(Error { message, offset: self.offset })
    }

    /// Checks that nothing follows.
    pub fn finish(&self) -> Result<(), Error> {
        match self.rest().len() {
            0 => Ok(()),
            n => {
                let message = format!("expected the end, found {n} more bytes");
                Err(Error { message, offset: self.offset })
            }
        }
    }

    fn rest(&self) -> &'a [u8] {
        &self.data[self.offset..]
    }

    fn read<T>(
        &mut self,
        expected: &str,
        read: impl FnOnce(&mut Bytes<'a>) -> Result<T, RmpError>,
    ) -> Result<T, Error> {
        let mut bytes = Bytes::new(self.rest());
        let result = read(&mut bytes);
        let found = match result {
            Ok(value) => {
                self.offset = self.data.len() - bytes.remaining_slice().len();
                return Ok(value);
            }
            Err(RmpError::TypeMismatch(marker)) => name(marker),
            Err(RmpError::InvalidMarkerRead(_) | RmpError::InvalidDataRead(_)) => "the end",
        };
        Err(Error { message: format!("expected {expected}, found {found}"), offset: self.offset })
    }
}

/// What a value is called in an error.
fn name(marker: Marker) -> &'static str {
    match marker {
        Marker::FixPos(_)
        | Marker::U8
        | Marker::U16
        | Marker::U32
        | Marker::U64
        | Marker::FixNeg(_)
        | Marker::I8
        | Marker::I16
        | Marker::I32
        | Marker::I64 => "an integer",
        Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => "text",
        Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => "an array",
        Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => "a map",
        Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => "binary",
        Marker::Null => "nil",
        Marker::True | Marker::False => "a boolean",
        Marker::F32 | Marker::F64 => "a float",
        Marker::FixExt1
        | Marker::FixExt2
        | Marker::FixExt4
        | Marker::FixExt8
        | Marker::FixExt16
        | Marker::Ext8
        | Marker::Ext16
        | Marker::Ext32 => "an extension",
        Marker::Reserved => "a reserved byte",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn integers_of_every_width_are_read_and_nothing_else_is() {
        for data in [&b"\x07"[..], b"\xcc\x07", b"\xcd\0\x07", b"\xce\0\0\0\x07", b"\xd1\0\x07"] {
            assert_eq!(Reader::new(data).uint(), Ok(7));
        }
        assert_eq!(Reader::new(b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff").uint(), Ok(u64::MAX));
        for (data, message) in [
            (&b"\xff"[..], "expected 0 or more, found less, at offset 0"),
            (b"\xc3", "expected an integer, found a boolean, at offset 0"),
            (b"\xca\0\0\0\0", "expected an integer, found a float, at offset 0"),
            (b"\xcd\0", "expected an integer, found the end, at offset 0"),
            (b"", "expected an integer, found the end, at offset 0"),
        ] {
            assert_eq!(error(Reader::new(data).uint()), message);
        }
    }

    #[test]
    fn text_is_bounded_by_what_is_there() {
        assert_eq!(Reader::new(b"\xa2hi").text(), Ok("hi"));
        for (data, message) in [
            (
                &b"\xdb\xff\xff\xff\xffhi"[..],
                "expected 4294967295 bytes of text, found 2, at offset 0",
            ),
            (b"\xc4\x01h", "expected text, found binary, at offset 0"),
            (b"\xa2h\xff", "text is not UTF-8, at offset 2"),
        ] {
            assert_eq!(error(Reader::new(data).text()), message);
        }
    }

    #[test]
    fn skip_passes_any_value_and_stops_at_the_depth_limit() {
        let mut reader = Reader::new(b"\x82\xa1a\x93\x01\xc0\xc3\xa1b\xc4\x01x\x07");
        assert_eq!(reader.skip(), Ok(()));
        assert_eq!(reader.uint(), Ok(7));
        assert_eq!(reader.finish(), Ok(()));
        let deep = vec![0x91; 100_000];
        assert!(error(Reader::new(&deep).skip()).contains("128 levels"));
        assert!(Reader::new(b"\xdd\xff\xff\xff\xff").skip().is_err());
        assert_eq!(
            error(Reader::new(b"\x01").finish()),
            "expected the end, found 1 more bytes, at offset 0"
        );
    }
}
