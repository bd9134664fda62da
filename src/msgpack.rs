//! Strict `MessagePack` reading, over the `rmp` crate; writing is `rmp::encode` into a [`Writer`].
//!
//! Invariant: every length is compared with the bytes that are left before memory is allocated for it. No
//! type is converted to another (a boolean is not an integer, binary is not a string). Every error has the
//! offset of the invalid value.

use crate::limits::MAX_SKIPPED_DEPTH;
use crate::text;
use rmp::Marker;
use rmp::decode::{Bytes, NumValueReadError, ValueReadError};

/// The sink for `rmp::encode`: a growing buffer, to which writing cannot fail.
pub use rmp::encode::ByteBuf as Writer;

type RmpError = ValueReadError<rmp::decode::bytes::BytesReadError>;

/// An invalid value, or one of an unexpected type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}, at offset {offset}")]
pub struct Error {
    /// What was expected and what was found.
    pub message: String,
    /// Offset in bytes from 0.
    pub offset: usize,
}

/// A value, or the head of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Head<'a> {
    /// Nil.
    Nil,
    /// A boolean.
    Bool(bool),
    /// An integer of a signed type.
    Int(i64),
    /// An integer of an unsigned type.
    Uint(u64),
    /// A double, which may be infinite or NaN.
    Float(f64),
    /// A string.
    Text(&'a str),
    /// An array of this many elements.
    Array(u32),
    /// A map of this many pairs.
    Map(u32),
}

/// Reads values from a byte slice.
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

    /// Reads the head of an array. Returns its number of elements.
    pub fn array_len(&mut self) -> Result<u32, Error> {
        self.read("an array", rmp::decode::read_array_len)
    }

    /// Reads the head of a map. Returns its number of pairs.
    pub fn map_len(&mut self) -> Result<u32, Error> {
        self.read("a map", rmp::decode::read_map_len)
    }

    /// Reads an integer of 0 or more, written in any width.
    pub fn uint(&mut self) -> Result<u64, Error> {
        let offset = self.offset;
        // `None` stands for a negative integer, which needs an error of its own.
        let value = self.read("an integer", |bytes| match rmp::decode::read_int(bytes) {
            Ok(value) => Ok(Some(value)),
            Err(NumValueReadError::OutOfRange) => Ok(None),
            Err(NumValueReadError::TypeMismatch(marker)) => Err(RmpError::TypeMismatch(marker)),
            Err(NumValueReadError::InvalidMarkerRead(e)) => Err(RmpError::InvalidMarkerRead(e)),
            Err(NumValueReadError::InvalidDataRead(e)) => Err(RmpError::InvalidDataRead(e)),
        })?;
        value.ok_or_else(|| Error {
            message: "expected an integer of 0 or more, found a negative one".into(),
            offset,
        })
    }

    /// Reads text, borrowed from the input.
    pub fn text(&mut self) -> Result<&'a str, Error> {
        let offset = self.offset;
        let len = self.read("text", rmp::decode::read_str_len)? as usize;
        let Some(bytes) = self.rest().get(..len) else {
            let message = format!("expected {len} bytes of text, found {}", self.rest().len());
            return Err(Error { message, offset });
        };
        let text = text::from_utf8(bytes).map_err(|error| Error {
            message: "text is not UTF-8".into(),
            offset: self.offset + error.valid_up_to(),
        })?;
        self.offset += len;
        Ok(text)
    }

    /// Reads a value, or the head of an array or map. Binary and extensions are errors, because JSON does not
    /// have them.
    pub fn head(&mut self) -> Result<Head<'a>, Error> {
        let start = self.offset;
        let marker = Marker::from_u8(self.rest().first().copied().unwrap_or(0xC1));
        let width = match marker {
            Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => {
                return self.text().map(Head::Text);
            }
            Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => {
                return self.array_len().map(Head::Array);
            }
            Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => {
                return self.map_len().map(Head::Map);
            }
            Marker::Null | Marker::True | Marker::False | Marker::FixPos(_) | Marker::FixNeg(_) => {
                0
            }
            Marker::U8 | Marker::I8 => 1,
            Marker::U16 | Marker::I16 => 2,
            Marker::U32 | Marker::I32 | Marker::F32 => 4,
            Marker::U64 | Marker::I64 | Marker::F64 => 8,
            _ => {
                let found = if self.rest().is_empty() { "the end" } else { name(marker) };
                let message = format!("expected a JSON type, found {found}");
                return Err(Error { message, offset: start });
            }
        };
        self.take(1, start)?;
        let bits = self.big_endian(width, start)?;
        // Sign-extends a number of `width` bytes to 64 bits.
        let signed = |bits: u64| (bits << (64 - 8 * width)).cast_signed() >> (64 - 8 * width);
        Ok(match marker {
            Marker::True => Head::Bool(true),
            Marker::False => Head::Bool(false),
            Marker::FixPos(value) => Head::Uint(value.into()),
            Marker::FixNeg(value) => Head::Int(value.into()),
            Marker::U8 | Marker::U16 | Marker::U32 | Marker::U64 => Head::Uint(bits),
            Marker::I8 | Marker::I16 | Marker::I32 | Marker::I64 => Head::Int(signed(bits)),
            // `bits` holds four bytes here, so that the conversion does not fail.
            Marker::F32 => Head::Float(f32::from_bits(u32::try_from(bits).unwrap_or(0)).into()),
            Marker::F64 => Head::Float(f64::from_bits(bits)),
            _ => Head::Nil,
        })
    }

    /// Skips one value of any type that is nested at most [`MAX_SKIPPED_DEPTH`] deep.
    pub fn skip(&mut self) -> Result<(), Error> {
        // The number of values left at each level: an explicit stack instead of recursion.
        let mut levels = vec![1u64];
        while let Some(left) = levels.last_mut() {
            let Some(less) = left.checked_sub(1) else {
                levels.pop();
                continue;
            };
            *left = less;
            let start = self.offset;
            let children = self.skip_head()?;
            if children > 0 {
                if levels.len() > MAX_SKIPPED_DEPTH {
                    let message = format!("nested more than {MAX_SKIPPED_DEPTH} levels deep");
                    return Err(Error { message, offset: start });
                }
                levels.push(children);
            }
        }
        Ok(())
    }

    /// Skips a scalar or the head of a container. Returns the number of values inside.
    fn skip_head(&mut self) -> Result<u64, Error> {
        let start = self.offset;
        let marker = Marker::from_u8(self.take(1, start)?[0]);
        let (bytes, children) = match marker {
            Marker::FixPos(_) | Marker::FixNeg(_) | Marker::Null | Marker::True | Marker::False => {
                (0, 0)
            }
            Marker::U8 | Marker::I8 => (1, 0),
            // An extension has its type before its data.
            Marker::U16 | Marker::I16 | Marker::FixExt1 => (2, 0),
            Marker::U32 | Marker::I32 | Marker::F32 => (4, 0),
            Marker::U64 | Marker::I64 | Marker::F64 => (8, 0),
            Marker::FixStr(len) => (len.into(), 0),
            Marker::Str8 | Marker::Bin8 => (self.big_endian(1, start)?, 0),
            Marker::Str16 | Marker::Bin16 => (self.big_endian(2, start)?, 0),
            Marker::Str32 | Marker::Bin32 => (self.big_endian(4, start)?, 0),
            Marker::FixExt2 => (3, 0),
            Marker::FixExt4 => (5, 0),
            Marker::FixExt8 => (9, 0),
            Marker::FixExt16 => (17, 0),
            Marker::Ext8 => (self.big_endian(1, start)? + 1, 0),
            Marker::Ext16 => (self.big_endian(2, start)? + 1, 0),
            Marker::Ext32 => (self.big_endian(4, start)? + 1, 0),
            Marker::FixArray(len) => (0, len.into()),
            Marker::Array16 => (0, self.big_endian(2, start)?),
            Marker::Array32 => (0, self.big_endian(4, start)?),
            Marker::FixMap(len) => (0, 2 * u64::from(len)),
            Marker::Map16 => (0, 2 * self.big_endian(2, start)?),
            Marker::Map32 => (0, 2 * self.big_endian(4, start)?),
            Marker::Reserved => {
                let message = "expected a value, found a reserved byte".into();
                return Err(Error { message, offset: start });
            }
        };
        self.take(bytes, start)?;
        Ok(children)
    }

    /// Reads an unsigned integer of `width` bytes that belongs to the value at `start`.
    fn big_endian(&mut self, width: u64, start: usize) -> Result<u64, Error> {
        let bytes = self.take(width, start)?;
        Ok(bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    /// Takes `len` bytes that belong to the value at `start`.
    fn take(&mut self, len: u64, start: usize) -> Result<&'a [u8], Error> {
        let rest = self.rest();
        let taken = usize::try_from(len).ok().and_then(|len| rest.get(..len)).ok_or_else(|| {
            let message = format!("expected {len} more bytes of a value, found {}", rest.len());
            Error { message, offset: start }
        })?;
        self.offset += taken.len();
        Ok(taken)
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

/// The name of a value's type in an error.
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
            (&b"\xff"[..], "expected an integer of 0 or more, found a negative one, at offset 0"),
            (b"\xc3", "expected an integer, found a boolean, at offset 0"),
            (b"\xca\0\0\0\0", "expected an integer, found a float, at offset 0"),
            (b"\xcd\0", "expected an integer, found the end, at offset 0"),
            (b"", "expected an integer, found the end, at offset 0"),
        ] {
            assert_eq!(error(Reader::new(data).uint()), message);
        }
    }

    #[test]
    fn a_head_is_a_value_of_json_or_an_error() {
        for (data, head) in [
            (&b"\xc0"[..], Head::Nil),
            (b"\xc2", Head::Bool(false)),
            (b"\x7f", Head::Uint(127)),
            (b"\xff", Head::Int(-1)),
            (b"\xd0\x80", Head::Int(-128)),
            (b"\xd1\xff\x00", Head::Int(-256)),
            (b"\xd2\x80\0\0\0", Head::Int(i32::MIN.into())),
            (b"\xd3\x80\0\0\0\0\0\0\0", Head::Int(i64::MIN)),
            (b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", Head::Uint(u64::MAX)),
            (b"\xca\x3f\0\0\0", Head::Float(0.5)),
            (b"\xcb\x3f\xe0\0\0\0\0\0\0", Head::Float(0.5)),
            (b"\xa2hi", Head::Text("hi")),
            (b"\xdc\x01\x00", Head::Array(256)),
            (b"\x82", Head::Map(2)),
        ] {
            assert_eq!(Reader::new(data).head(), Ok(head), "{data:x?}");
            for end in 0..data.len() {
                assert!(Reader::new(&data[..end]).head().is_err(), "{data:x?} cut at {end}");
            }
        }
        for (data, found) in [(&b"\xc4\0"[..], "binary"), (b"\xd4\x01\0", "an extension")] {
            let message = format!("expected a JSON type, found {found}, at offset 0");
            assert_eq!(error(Reader::new(data).head()), message);
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
    fn skip_passes_every_kind_of_value() {
        for value in [
            &b"\x07"[..],
            b"\xff",
            b"\xc0",
            b"\xc2",
            b"\xc3",
            b"\xcc1",
            b"\xcd12",
            b"\xce1234",
            b"\xcf12345678",
            b"\xd01",
            b"\xd112",
            b"\xd21234",
            b"\xd312345678",
            b"\xca1234",
            b"\xcb12345678",
            b"\xa3abc",
            b"\xd9\x01a",
            b"\xda\0\x01a",
            b"\xdb\0\0\0\x01a",
            b"\xc4\x01a",
            b"\xc5\0\x01a",
            b"\xc6\0\0\0\x01a",
            b"\xd4t1",
            b"\xd5t12",
            b"\xd6t1234",
            b"\xd7t12345678",
            b"\xd8t1234567812345678",
            b"\xc7\x01ta",
            b"\xc8\0\x01ta",
            b"\xc9\0\0\0\x01ta",
            b"\x90",
            b"\x92\x01\x91\xc0",
            b"\xdc\0\x02\x01\x02",
            b"\xdd\0\0\0\x01\x90",
            b"\x80",
            b"\x81\xa1a\x80",
            b"\xde\0\x01\xa1a\x01",
            b"\xdf\0\0\0\x01\x01\x02",
        ] {
            let followed = [value, b"\x07"].concat();
            let mut reader = Reader::new(&followed);
            assert_eq!(reader.skip(), Ok(()), "{value:x?}");
            assert_eq!((reader.uint(), reader.finish()), (Ok(7), Ok(())), "{value:x?}");
            for end in 0..value.len() {
                assert!(Reader::new(&value[..end]).skip().is_err(), "{value:x?} cut at {end}");
            }
        }
        assert!(Reader::new(b"\xc1").skip().is_err());
        assert!(Reader::new(b"\xdd\xff\xff\xff\xff").skip().is_err());
        assert!(Reader::new(b"\xdb\xff\xff\xff\xff").skip().is_err());
        assert_eq!(
            error(Reader::new(b"\x01").finish()),
            "expected the end, found 1 more bytes, at offset 0"
        );
    }

    #[test]
    fn skip_stops_at_the_depth_limit() {
        let nested = |depth| [vec![0x91; depth], vec![0xc0]].concat();
        assert_eq!(Reader::new(&nested(MAX_SKIPPED_DEPTH)).skip(), Ok(()));
        let message = "nested more than 128 levels deep, at offset 128";
        assert_eq!(error(Reader::new(&nested(MAX_SKIPPED_DEPTH + 1)).skip()), message);
        assert_eq!(error(Reader::new(&nested(100_000)).skip()), message);
    }
}
