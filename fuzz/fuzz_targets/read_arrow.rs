//! An array of another library, with any content in buffers of the right size, is read or refused.

#![no_main]

use compactwire::arrow::{self, Column, DataType, Field, OnError, Output, RowOptions, Table};
use compactwire::arrow::{FFI_ArrowArray, FFI_ArrowSchema};
use compactwire::gcf::{self, Builder, Bump, EncodeOptions, Limits};
use compactwire::{compact, json};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;

#[path = "support/arrays.rs"]
mod arrays;
#[path = "support/bounded.rs"]
mod bounded;

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    let _ = read(&mut Unstructured::new(data));
}));

fn read(input: &mut Unstructured<'_>) -> Result<()> {
    let array = arrays::any(input)?;
    let Ok(schema) = FFI_ArrowSchema::try_from(array.data_type()) else { return Ok(()) };
    // SAFETY: the buffers have the sizes that the type, the rows and the last offset call for.
    let column = unsafe { Column::from_array(FFI_ArrowArray::new(&array), schema) };
    let Ok(column) = column else { return Ok(()) };
    write(&column);
    apply(&column, input.arbitrary()?);
    drop(column.to_stream());
    Ok(())
}

/// Both writers of tables agree.
fn write(column: &Column) {
    let limits = Limits { max_depth: 128, max_expansion: 1 << 13 };
    let options = EncodeOptions { limits, ..EncodeOptions::default() };
    let table = Table::new(column).expect("enough memory");
    let fast = table.write(&options);
    let bump = Bump::new();
    let mut builder = Builder::new(&bump, limits);
    let checked = match table.emit(&mut builder) {
        Ok(()) => gcf::write(&builder.finish(), &options),
        Err(error) => Err(error),
    };
    assert_eq!(fast, checked);
}

/// Every function ends, and its result has as many rows.
fn apply(column: &Column, null: bool) {
    let errors = if null { OnError::Null } else { OnError::Report };
    let options = RowOptions { errors, threads: 1 };
    let limit = compact::DecodeOptions { max_size: 1 << 16, ..Default::default() };
    let results = [
        arrow::encode(column, Output::Text, &compact::EncodeOptions::default(), usize::MAX, options),
        arrow::encode(column, Output::Bytes, &compact::EncodeOptions::default(), usize::MAX, options),
        arrow::decode(column, &Field::ALL, null, &limit, usize::MAX, options),
        arrow::detect(column, options),
        arrow::inspect(column, &limit, options),
        arrow::count_tokens(column, options),
        arrow::gcf_from_json(column, &EncodeOptions::default(), usize::MAX, options),
        arrow::gcf_to_json(column, gcf::DecodeOptions::default(), json::Escape::Needed, options),
    ];
    for result in results.into_iter().flatten() {
        assert_eq!(result.len(), column.len());
        assert!(matches!(result.to_array(), Ok(Some(_))));
        assert_ne!(result.data_type(), &DataType::Null);
    }
}
