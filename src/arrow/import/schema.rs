//! The type of a column as its producer describes it, checked before the crate `arrow-schema` parses it.
//!
//! The type that is read may have nulls everywhere, whatever the producer says, except where Arrow forbids them.

use super::{Result, invalid};
use crate::arrow::error::Error;
use crate::excerpt::{excerpt, path_step};
use crate::interrupt::poll;
use crate::memory;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, FieldRef, Fields};
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

/// The maximum nesting of a type. The crate `arrow-schema` parses it by recursion.
const MAX_DEPTH: usize = 256;

/// The bytes of memory that a part of a schema takes at most, without its name: its field, that which may be null,
/// and the first columns of the type.
const PART_SIZE: usize = 2048;

/// The bytes of memory that a text of metadata takes at most, without its characters.
const TEXT_SIZE: usize = 192;

/// `struct ArrowSchema`, to read its fields.
#[repr(C)]
struct RawSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *const *const Self,
    dictionary: *const Self,
    release: *const c_void,
    private_data: *const c_void,
}

const _: () = assert!(size_of::<RawSchema>() == size_of::<FFI_ArrowSchema>());

/// The field that a schema describes, of a column whose parts may be null whatever the schema says.
pub(in crate::arrow) fn field(schema: &FFI_ArrowSchema) -> Result<FieldRef> {
    let field = parsed(schema)?;
    let data_type = nullable(field.data_type());
    Ok(Arc::new(field.with_data_type(data_type).with_nullable(true)))
}

/// The field that a schema describes.
pub(in crate::arrow) fn parsed(schema: &FFI_ArrowSchema) -> Result<Field> {
    let mut memory = 0;
    // SAFETY: the layout is that of the interface.
    check_schema(unsafe { &*std::ptr::from_ref(schema).cast() }, 0, &mut memory)?;
    memory::ensure(memory)?;
    Field::try_from(schema).map_err(|_| unreadable(schema))
}

/// The error for a schema with a type that the crate `arrow-schema` does not know, such as one of Polars alone.
#[cold]
fn unreadable(schema: &FFI_ArrowSchema) -> Error {
    let mut steps = "[*]".to_owned();
    let schema = unreadable_part(schema, &mut steps).unwrap_or(schema);
    let reason = if schema.metadata().is_err() {
        "the metadata of the type, such as that of an extension type, is not UTF-8; remove it, or pass the storage \
         of the column"
            .to_owned()
    } else {
        let format = excerpt(schema.format());
        format!(
            "the type with the format string {format} is not one of Arrow's, or not known; cast the column, \
             for example to texts, or leave it out"
        )
    };
    Error::Unreadable { steps, reason }
}

/// The first part of a schema that is unreadable by itself, and the steps to it in the path of a value. To read each
/// part with all that is in it would take time in proportion to the depth.
fn unreadable_part<'a>(
    schema: &'a FFI_ArrowSchema,
    steps: &mut String,
) -> Option<&'a FFI_ArrowSchema> {
    poll();
    let before = steps.len();
    for part in schema.children().chain(schema.dictionary()) {
        match schema.format() {
            "+s" => steps.push_str(&path_step(part.name().unwrap_or_default())),
            "+l" | "+L" | "+vl" | "+vL" => steps.push_str("[*]"),
            format if format.starts_with("+w:") => steps.push_str("[*]"),
            // Parts without a place in a value.
            _ => {}
        }
        let found = unreadable_part(part, steps);
        if found.is_some() {
            return found;
        }
        steps.truncate(before);
    }
    (!is_readable_alone(schema)).then_some(schema)
}

/// Whether a schema could be read if all its parts were nulls.
fn is_readable_alone(schema: &FFI_ArrowSchema) -> bool {
    let null = || FFI_ArrowSchema::try_new("n", Vec::new(), None);
    let alone = || {
        let parts = schema.children().map(|_| null()).collect::<Result<_, _>>()?;
        let dictionary = schema.dictionary().map(|_| null()).transpose()?;
        FFI_ArrowSchema::try_new(schema.format(), parts, dictionary)
    };
    let data_type = alone().and_then(|alone| DataType::try_from(&alone));
    data_type.is_ok() && schema.metadata().is_ok()
}

/// The memory that the crate `arrow-schema` takes for metadata, of which it makes a map of strings, and another one
/// for the field that may be null. An invalid length is left to it.
///
/// # Safety
/// The metadata is null, or agrees with the interface.
unsafe fn metadata_size(metadata: *const c_char) -> usize {
    if metadata.is_null() {
        return 0;
    }
    // SAFETY: metadata begins with the number of its pairs.
    let pairs = unsafe { metadata.cast::<i32>().read_unaligned() };
    let mut at = size_of::<i32>();
    let mut size = 0;
    for text in 0..2 * pairs.max(0).unsigned_abs() as usize {
        if text.is_multiple_of(8192) {
            poll();
        }
        // SAFETY: each text follows its length.
        let length = unsafe { metadata.add(at).cast::<i32>().read_unaligned() };
        let Ok(length) = usize::try_from(length) else { break };
        at += size_of::<i32>() + length;
        size += TEXT_SIZE + 3 * length;
    }
    size
}

/// Checks a part of a schema, and adds the memory that the crate `arrow-schema` takes for it.
fn check_schema(schema: &RawSchema, depth: usize, memory: &mut usize) -> Result<()> {
    if schema.release.is_null() && depth == 0 {
        return Err(invalid("the schema was released: another consumer has taken it"));
    }
    if depth > MAX_DEPTH {
        return Err(invalid(format!("the type is nested more than {MAX_DEPTH} levels deep")));
    }
    let is_utf8 = |text: *const c_char| {
        // SAFETY: texts of a schema end with a zero byte.
        text.is_null() || unsafe { CStr::from_ptr(text) }.to_str().is_ok()
    };
    if schema.format.is_null() || !is_utf8(schema.format) || !is_utf8(schema.name) {
        return Err(invalid("the schema has no format, or a text that is not UTF-8"));
    }
    // SAFETY: as above.
    let name = if schema.name.is_null() { c"" } else { unsafe { CStr::from_ptr(schema.name) } };
    // SAFETY: as above.
    let format = unsafe { CStr::from_ptr(schema.format) }.to_bytes();
    // SAFETY: as above.
    let metadata = unsafe { metadata_size(schema.metadata) };
    *memory += PART_SIZE + 4 * (name.count_bytes() + format.len()) + metadata;
    if format.starts_with(b"w:-") || format.starts_with(b"+w:-") {
        return Err(invalid("the schema has values of a negative size"));
    }
    let count = usize::try_from(schema.n_children)
        .ok()
        .filter(|&count| count == 0 || !schema.children.is_null())
        .ok_or_else(|| invalid("the schema has no children where it says so"))?;
    let expected = match format {
        b"+l" | b"+L" | b"+vl" | b"+vL" | b"+m" => Some(1),
        b"+r" => Some(2),
        _ if format.starts_with(b"+w:") => Some(1),
        _ => None,
    };
    if expected.is_some_and(|expected| count != expected) {
        return Err(invalid("the schema has another number of children than its format"));
    }
    for at in 0..count {
        poll();
        // SAFETY: the schema has so many children.
        let child = unsafe { (*schema.children.add(at)).as_ref() };
        let child = child.ok_or_else(|| invalid("a child of the schema is null"))?;
        check_schema(child, depth + 1, memory)?;
    }
    // SAFETY: the dictionary is null or a schema.
    match unsafe { schema.dictionary.as_ref() } {
        Some(dictionary) => check_schema(dictionary, depth + 1, memory),
        None => Ok(()),
    }
}

/// The type with fields that may be null, which some producers forget to say; and with entries and keys of maps,
/// and ends of runs, that may not, as Arrow demands.
fn nullable(data_type: &DataType) -> DataType {
    let of = |field: &FieldRef| {
        let data_type = nullable(field.data_type());
        Arc::new(field.as_ref().clone().with_data_type(data_type).with_nullable(true))
    };
    match data_type {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(of).collect::<Fields>()),
        DataType::List(field) => DataType::List(of(field)),
        DataType::LargeList(field) => DataType::LargeList(of(field)),
        DataType::ListView(field) => DataType::ListView(of(field)),
        DataType::LargeListView(field) => DataType::LargeListView(of(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(of(field), *size),
        DataType::Map(entries, sorted) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                let key = of(&fields[0]).as_ref().clone().with_nullable(false);
                let fields = DataType::Struct(Fields::from(vec![Arc::new(key), of(&fields[1])]));
                let entries = entries.as_ref().clone().with_data_type(fields).with_nullable(false);
                DataType::Map(Arc::new(entries), *sorted)
            }
            _ => data_type.clone(),
        },
        DataType::Dictionary(indices, values) => {
            DataType::Dictionary(indices.clone(), Box::new(nullable(values)))
        }
        DataType::RunEndEncoded(ends, values) => {
            let ends = ends.as_ref().clone().with_nullable(false);
            DataType::RunEndEncoded(Arc::new(ends), of(values))
        }
        DataType::Union(fields, mode) => {
            DataType::Union(fields.iter().map(|(id, field)| (id, of(field))).collect(), *mode)
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::counted;
    use arrow_schema::UnionMode;

    #[test]
    fn the_error_for_an_unknown_type_names_it() {
        let schema = FFI_ArrowSchema::try_new("_pli128", Vec::new(), None).unwrap();
        assert!(parsed(&schema).unwrap_err().to_string().contains("\"_pli128\""));
    }

    #[test]
    fn the_error_for_an_unknown_type_has_its_place() {
        let schema = |format, name, children| {
            FFI_ArrowSchema::try_new(format, children, None).unwrap().with_name(name).unwrap()
        };
        let known = schema("l", "a", Vec::new());
        let list = schema("+l", "b c", vec![schema("_pli128", "item", Vec::new())]);
        let Err(Error::Unreadable { steps, .. }) = parsed(&schema("+s", "", vec![known, list]))
        else {
            panic!("it is readable");
        };
        assert_eq!(steps, "[*][\"b c\"][*]");
    }

    #[test]
    fn the_search_for_an_unknown_type_reads_each_part_once() {
        let polls = |format| {
            let leaf = || FFI_ArrowSchema::try_new("c", Vec::new(), None).unwrap();
            let deepest = FFI_ArrowSchema::try_new(format, Vec::new(), None).unwrap();
            let schema = (0..100).fold(deepest, |schema, _| {
                let parts = (0..10).map(|_| leaf()).chain([schema]).collect();
                FFI_ArrowSchema::try_new("+s", parts, None).unwrap()
            });
            counted(|| parsed(&schema).is_ok())
        };
        assert_eq!(polls("c"), (true, 1100));
        assert_eq!(polls("_pli128"), (false, 1100 + 1101));
    }

    #[test]
    fn values_of_runs_and_unions_may_be_null_whatever_the_schema_says() {
        let field = |is_nullable| Arc::new(Field::new("a", DataType::Int32, is_nullable));
        let runs = nullable(&DataType::RunEndEncoded(field(true), field(false)));
        assert_eq!(runs, DataType::RunEndEncoded(field(false), field(true)));
        let union = |field| DataType::Union([(3, field)].into_iter().collect(), UnionMode::Dense);
        assert_eq!(nullable(&union(field(false))), union(field(true)));
    }

    #[test]
    fn sizes_below_zero_are_refused() {
        let list = FFI_ArrowSchema::try_new(
            "+w:-1",
            vec![FFI_ArrowSchema::try_new("l", vec![], None).unwrap()],
            None,
        );
        for schema in [list, FFI_ArrowSchema::try_new("w:-1", vec![], None)] {
            assert!(parsed(&schema.unwrap()).unwrap_err().to_string().contains("negative"));
        }
    }
}
