//! The algorithm of the specification, digit by digit: slow, obvious, and the oracle of the tests.

use super::{ALPHABET, Error};

pub(super) fn encode(data: &[u8]) -> String {
    let mut text = String::new();
    for chunk in data.chunks(4) {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        let value = u32::from_be_bytes(word);
        for worth in [85u32.pow(4), 85u32.pow(3), 85u32.pow(2), 85, 1].iter().take(chunk.len() + 1)
        {
            let index = value / worth % 85;
            text.push(char::from(ALPHABET[index as usize]));
        }
    }
    text
}

pub(super) fn decode(text: &str) -> Result<Vec<u8>, Error> {
    let chars: Vec<char> = text.chars().collect();
    if text.is_ascii() && chars.len() % 5 == 1 {
        return Err(Error::Length(chars.len()));
    }
    let mut data = Vec::new();
    for (group, chunk) in chars.chunks(5).enumerate() {
        let mut value = 0u64;
        for place in 0..5 {
            let digit = match chunk.get(place) {
                None => 84,
                Some(&c) => ALPHABET
                    .iter()
                    .position(|&a| char::from(a) == c)
                    .ok_or(Error::Char { char: c, position: group * 5 + place })?,
            };
            value = value * 85 + digit as u64;
        }
        let word = u32::try_from(value).map_err(|_| Error::Value { position: group * 5 })?;
        data.extend_from_slice(&word.to_be_bytes()[..chunk.len() - 1]);
    }
    Ok(data)
}
