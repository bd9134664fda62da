//! Base85 as a Rust user sees it: the vectors, and the place of an error.

mod common;

use common::{bytes, cases, string};
use compactwire::base85::{Error, decode, decoded_len, encode, encoded_len};

#[test]
fn bytes_of_the_vectors_have_their_text() {
    for case in cases("compact/base85.json") {
        let (data, text) = (bytes(&case, "bytes"), string(&case, "text"));
        assert_eq!(encode(&data), text);
        assert_eq!(decode(text).unwrap(), data);
        assert_eq!((encoded_len(data.len()), decoded_len(text.len())), (text.len(), data.len()));
    }
}

#[test]
fn an_error_has_the_position_of_the_character() {
    assert_eq!(decode("VPa.s~0"), Err(Error::Char { char: '~', position: 5 }));
    assert_eq!(decode("#####"), Err(Error::Value { position: 0 }));
}
