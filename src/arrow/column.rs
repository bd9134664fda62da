//! A column: chunks of one Arrow type, and its export over the Arrow C data and stream interfaces.
//!
//! Invariant: the buffers of a column agree with its type: offsets are in order and within their buffers,
//! texts are UTF-8. `import` checks this for columns of other producers.
//!
//! Source: <https://arrow.apache.org/docs/format/CDataInterface.html> and `CStreamInterface.html`.

use super::cells::{self, Cells, Shape};
use super::error::{Error, UNSUPPORTED};
use super::import;
use crate::interrupt::poll;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::{DataType, Field, FieldRef};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A column of any Arrow type. To clone it copies no buffers.
#[derive(Debug, Clone)]
pub struct Column {
    field: FieldRef,
    chunks: Arc<Vec<ArrayRef>>,
    failed: usize,
    /// How the chunks were built, if they can be joined.
    shape: Option<Shape>,
}

impl Column {
    pub(super) fn new(field: FieldRef, chunks: Vec<ArrayRef>) -> Self {
        Self { field, chunks: Arc::new(chunks), failed: 0, shape: None }
    }

    /// The result of a function.
    pub(super) fn result(shape: Shape, chunks: Vec<ArrayRef>, failed: usize) -> Self {
        Self { field: shape.field(), chunks: Arc::new(chunks), failed, shape: Some(shape) }
    }

    /// Reads a producer's stream to its end and checks its arrays.
    ///
    /// # Errors
    /// [`Error::Producer`] if the producer fails, or an array contradicts the type.
    pub fn from_stream(stream: FFI_ArrowArrayStream) -> Result<Self, Error> {
        let (field, chunks) = checked(|| import::stream(stream))?;
        Ok(Self { field, chunks: Arc::new(chunks), failed: 0, shape: None })
    }

    /// Takes a producer's array and checks it.
    ///
    /// # Errors
    /// [`Error::Producer`] if the array contradicts the type.
    ///
    /// # Safety
    /// The array and its schema agree with the Arrow C data interface.
    #[expect(clippy::needless_pass_by_value, reason = "the schema is released at the end")]
    pub unsafe fn from_array(
        array: FFI_ArrowArray,
        schema: FFI_ArrowSchema,
    ) -> Result<Self, Error> {
        checked(|| {
            let field = import::field(&schema)?;
            let chunks = vec![import::array(array, field.data_type())?];
            Ok(Self { field, chunks: Arc::new(chunks), failed: 0, shape: None })
        })
    }

    /// The field that a schema of the C data interface describes: its type and metadata.
    ///
    /// # Errors
    /// [`Error::Producer`] if it describes none.
    pub fn field_of(schema: &FFI_ArrowSchema) -> Result<Field, Error> {
        checked(|| import::parsed(schema))
    }

    /// The name, type and metadata of the column.
    pub fn field(&self) -> &Field {
        &self.field
    }

    /// The type.
    pub fn data_type(&self) -> &DataType {
        self.field.data_type()
    }

    /// The chunks.
    pub fn chunks(&self) -> &[ArrayRef] {
        &self.chunks
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(Array::len).sum()
    }

    /// Whether the column has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of null rows.
    pub fn null_count(&self) -> usize {
        self.chunks.iter().map(Array::logical_null_count).sum()
    }

    /// The bytes of memory of all buffers.
    pub fn size(&self) -> usize {
        self.chunks.iter().map(Array::get_buffer_memory_size).sum()
    }

    /// How many rows failed and became null under [`OnError::Null`](super::OnError::Null).
    pub fn failed(&self) -> usize {
        self.failed
    }

    /// The type in the C data interface.
    ///
    /// # Errors
    /// [`Error::Producer`] for a type that the interface does not have.
    pub fn schema(&self) -> Result<FFI_ArrowSchema, Error> {
        Ok(FFI_ArrowSchema::try_from(self.field())?)
    }

    /// The column as one array. It shares the buffers of a single chunk; several chunks are copied. `None` if
    /// their texts are too large for one array.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_array(&self) -> Result<Option<FFI_ArrowArray>, Error> {
        let array = match (&**self.chunks, &self.shape) {
            ([], _) => new_empty_array(self.data_type()),
            ([chunk], _) => Arc::clone(chunk),
            (chunks, Some(shape)) if cells::fit(shape, chunks) => {
                let mut cells = Cells::for_parts(shape, chunks)?;
                for chunk in chunks {
                    poll();
                    cells.append(chunk)?;
                }
                cells.finish()?
            }
            _ => return Ok(None),
        };
        Ok(Some(FFI_ArrowArray::new(&array.to_data())))
    }

    /// The column as a stream, one array for each chunk. The stream shares the buffers.
    pub fn to_stream(&self) -> FFI_ArrowArrayStream {
        let column = self.clone();
        let state = Box::new(Exported { column, next: 0, error: None });
        // SAFETY: the callbacks keep the rules of the interface; `release` frees the state once.
        unsafe {
            FFI_ArrowArrayStream::new_unchecked(
                Some(get_schema),
                Some(get_next),
                Some(get_last_error),
                Some(release),
                Box::into_raw(state).cast(),
            )
        }
    }
}

/// Runs `read`. The crate `arrow-array` panics if a producer's array has other children than its type.
fn checked<T>(read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    if let Some(reason) = UNSUPPORTED {
        return Err(Error::Type(reason.to_owned()));
    }
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|reason| {
        let text = reason.downcast_ref::<String>().map(String::as_str);
        match text.or_else(|| reason.downcast_ref::<&str>().copied()) {
            Some(text) => {
                let text = crate::excerpt::excerpt(text);
                Err(Error::Producer(format!("the array contradicts its type: {text}")))
            }
            // A reason without a text is not a panic: it ends a call that was stopped.
            None => std::panic::resume_unwind(reason),
        }
    })
}

/// The state of an exported stream.
struct Exported {
    column: Column,
    next: usize,
    error: Option<CString>,
}

/// `EIO`, for an error that `get_last_error` describes.
const FAILED: c_int = 5;

/// The state behind an exported stream.
///
/// # Safety
/// `stream` was made by [`Column::to_stream`] and is not released.
unsafe fn state<'a>(stream: *mut FFI_ArrowArrayStream) -> &'a mut Exported {
    // SAFETY: by the promise of the caller; the interface allows one call at a time.
    unsafe { &mut *(*stream).private_data().cast::<Exported>() }
}

unsafe extern "C" fn get_schema(
    stream: *mut FFI_ArrowArrayStream,
    out: *mut FFI_ArrowSchema,
) -> c_int {
    // SAFETY: the consumer passes a stream of ours and a place for a schema.
    unsafe {
        let state = state(stream);
        match FFI_ArrowSchema::try_from(&*state.column.field) {
            Ok(schema) => {
                out.write(schema);
                0
            }
            Err(error) => {
                state.error = CString::new(error.to_string()).ok();
                FAILED
            }
        }
    }
}

unsafe extern "C" fn get_next(
    stream: *mut FFI_ArrowArrayStream,
    out: *mut FFI_ArrowArray,
) -> c_int {
    // SAFETY: the consumer passes a stream of ours and a place for an array.
    unsafe {
        let state = state(stream);
        out.write(match state.column.chunks.get(state.next) {
            Some(chunk) => FFI_ArrowArray::new(&chunk.to_data()),
            None => FFI_ArrowArray::empty(),
        });
        state.next += 1;
    }
    0
}

unsafe extern "C" fn get_last_error(stream: *mut FFI_ArrowArrayStream) -> *const c_char {
    // SAFETY: the consumer passes a stream of ours.
    let error = unsafe { &state(stream).error };
    error.as_deref().map_or(std::ptr::null(), CStr::as_ptr)
}

unsafe extern "C" fn release(stream: *mut FFI_ArrowArrayStream) {
    // SAFETY: the consumer passes a stream of ours, once. The moved-out copy holds the state alone.
    unsafe {
        let stream = &mut *stream;
        drop(Box::from_raw(stream.private_data().cast::<Exported>()));
        stream.set_private_data(std::ptr::null_mut::<c_void>());
        stream.set_release(None);
    }
}
