//! Reads the rows of a chunk of a column of texts or bytes, which has one of several Arrow types.

use super::cells::Cells;
use super::error::Error;
use super::keys::Keys;
use super::rows::{Chunk, Stop};
use super::shared::Shared;
use crate::interrupt::polled;
use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, GenericByteArray,
    GenericByteViewArray, LargeBinaryArray, LargeStringArray, StringArray, StringViewArray,
};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_schema::DataType;

/// What the error for a column of another type says is expected.
const TEXTS: &str = "texts (utf8, large_utf8, utf8_view, binary, large_binary, binary_view, \
                     fixed_size_binary, or dictionary-encoded)";

/// The same for a column of bytes.
const BINARIES: &str =
    "bytes (binary, large_binary, binary_view, fixed_size_binary, or dictionary-encoded)";

/// A chunk of a column of texts.
pub(super) enum Texts {
    /// A column without a type; every row is null.
    Null(usize),
    Utf8(StringArray),
    LargeUtf8(LargeStringArray),
    Utf8View(StringViewArray),
    Binary(BinaryArray),
    LargeBinary(LargeBinaryArray),
    BinaryView(BinaryViewArray),
    FixedSizeBinary(FixedSizeBinaryArray),
    /// The index of each row, and the texts.
    Dictionary(Keys, Box<Self>),
}

/// A row of [`Texts`].
#[derive(Clone, Copy)]
pub(super) enum Text<'a> {
    /// A row of a column of texts.
    Str(&'a str),
    /// A row of a column of bytes, which may be a text in UTF-8.
    Bytes(&'a [u8]),
}

/// The text of a row, which counts as read; null stops.
pub(super) fn read<'a>(row: Option<Text<'a>>, cells: &mut Cells) -> Result<Text<'a>, Stop> {
    let text = row.ok_or(Stop::Null)?;
    cells.read(text.as_bytes().len());
    Ok(text)
}

impl<'a> Text<'a> {
    pub(super) fn as_bytes(self) -> &'a [u8] {
        match self {
            Self::Str(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl Chunk for Texts {
    fn new(chunk: &ArrayRef) -> Result<Self, Error> {
        Ok(match chunk.data_type() {
            DataType::Null => Self::Null(chunk.len()),
            DataType::Utf8 => Self::Utf8(chunk.as_string().clone()),
            DataType::LargeUtf8 => Self::LargeUtf8(chunk.as_string().clone()),
            DataType::Utf8View => Self::Utf8View(chunk.as_string_view().clone()),
            DataType::Binary => Self::Binary(chunk.as_binary().clone()),
            DataType::LargeBinary => Self::LargeBinary(chunk.as_binary().clone()),
            DataType::BinaryView => Self::BinaryView(chunk.as_binary_view().clone()),
            DataType::FixedSizeBinary(_) => {
                Self::FixedSizeBinary(chunk.as_fixed_size_binary().clone())
            }
            other => match Keys::new(&**chunk) {
                Some((keys, values)) if is_text(values.data_type()) => {
                    Self::Dictionary(keys, Box::new(Self::new(values)?))
                }
                _ => return Err(Error::unexpected(other, TEXTS)),
            },
        })
    }

    fn rows(&self) -> usize {
        match self {
            Self::Null(len) => *len,
            Self::Utf8(array) => array.len(),
            Self::LargeUtf8(array) => array.len(),
            Self::Utf8View(array) => array.len(),
            Self::Binary(array) => array.len(),
            Self::LargeBinary(array) => array.len(),
            Self::BinaryView(array) => array.len(),
            Self::FixedSizeBinary(array) => array.len(),
            Self::Dictionary(keys, _) => keys.rows(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Null(_) => 0,
            Self::Utf8(array) => content(array).len(),
            Self::LargeUtf8(array) => content(array).len(),
            Self::Binary(array) => content(array).len(),
            Self::LargeBinary(array) => content(array).len(),
            Self::FixedSizeBinary(array) => array.value_data().len(),
            Self::Utf8View(array) => array.lengths().map(|length| length as usize).sum(),
            Self::BinaryView(array) => array.lengths().map(|length| length as usize).sum(),
            Self::Dictionary(keys, texts) => {
                let rows = polled(0..keys.rows()).filter_map(|row| texts.get(keys.get(row)?));
                rows.map(|text| text.as_bytes().len()).fold(0, usize::saturating_add)
            }
        }
    }

    fn stored(&self, shared: &mut Shared) -> usize {
        match self {
            Self::Dictionary(_, texts) => texts.shared(shared),
            // The views themselves hold short texts.
            Self::Utf8View(array) => size_of_val(&**array.views()) + buffers(array, shared),
            Self::BinaryView(array) => size_of_val(&**array.views()) + buffers(array, shared),
            _ => self.bytes(),
        }
    }
}

/// The bytes of all rows, one after the other.
pub(super) fn content<T: ByteArrayType>(array: &GenericByteArray<T>) -> &[u8] {
    let offsets = array.value_offsets();
    &array.value_data()[offsets[0].as_usize()..offsets[array.len()].as_usize()]
}

/// The bytes of the buffers of views that were not counted before.
fn buffers<T: ByteViewType>(array: &GenericByteViewArray<T>, shared: &mut Shared) -> usize {
    let new = polled(array.data_buffers().iter()).filter(|buffer| shared.is_new(buffer));
    new.map(Buffer::len).fold(0, usize::saturating_add)
}

impl Texts {
    /// As [`Chunk::stored`], of texts that other chunks may have too.
    fn shared(&self, shared: &mut Shared) -> usize {
        let is_new = match self {
            Self::Null(_) | Self::Dictionary(..) => true,
            Self::Utf8(array) => shared.is_new(content(array)),
            Self::LargeUtf8(array) => shared.is_new(content(array)),
            Self::Binary(array) => shared.is_new(content(array)),
            Self::LargeBinary(array) => shared.is_new(content(array)),
            Self::FixedSizeBinary(array) => shared.is_new(array.value_data()),
            Self::Utf8View(array) => shared.is_new(array.views()),
            Self::BinaryView(array) => shared.is_new(array.views()),
        };
        if is_new { self.stored(shared) } else { 0 }
    }

    fn is_binary(&self) -> bool {
        match self {
            Self::Utf8(_) | Self::LargeUtf8(_) | Self::Utf8View(_) => false,
            Self::Dictionary(_, texts) => texts.is_binary(),
            _ => true,
        }
    }

    /// Returns a row; `None` if it is null.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<Text<'_>> {
        /// The row of an array that has texts or bytes.
        macro_rules! row {
            ($array:expr, $kind:ident) => {
                $array.is_valid(row).then(|| Text::$kind($array.value(row)))
            };
        }
        match self {
            Self::Null(_) => None,
            Self::Utf8(array) => row!(array, Str),
            Self::LargeUtf8(array) => row!(array, Str),
            Self::Utf8View(array) => row!(array, Str),
            Self::Binary(array) => row!(array, Bytes),
            Self::LargeBinary(array) => row!(array, Bytes),
            Self::BinaryView(array) => row!(array, Bytes),
            Self::FixedSizeBinary(array) => row!(array, Bytes),
            Self::Dictionary(keys, texts) => texts.get(keys.get(row)?),
        }
    }
}

/// A chunk of a column of bytes that are not texts.
pub(super) struct Binaries(Texts);

impl Chunk for Binaries {
    fn new(chunk: &ArrayRef) -> Result<Self, Error> {
        let texts = Texts::new(chunk);
        match texts {
            Ok(texts) if texts.is_binary() => Ok(Self(texts)),
            _ => Err(Error::unexpected(chunk.data_type(), BINARIES)),
        }
    }

    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn stored(&self, shared: &mut Shared) -> usize {
        self.0.stored(shared)
    }
}

impl Binaries {
    /// Returns a row; `None` if it is null.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<&[u8]> {
        self.0.get(row).map(Text::as_bytes)
    }
}

/// Whether a column of this type has texts.
fn is_text(data_type: &DataType) -> bool {
    use DataType::{
        Binary, BinaryView, FixedSizeBinary, LargeBinary, LargeUtf8, Null, Utf8, Utf8View,
    };
    matches!(
        data_type,
        Null | Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_)
    )
}
