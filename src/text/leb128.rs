//! Unsigned integers as LEB128: seven bits in a byte, the lowest first, the highest bit set in all bytes but
//! the last.

/// Why an integer could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// The bytes end within it.
    Truncated,
    /// It is above 2^64 - 1.
    TooLarge,
    /// Its last byte is 0, so that a shorter form exists.
    NotShortest,
}

/// Appends an integer in its shortest form.
#[inline]
pub fn write(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Reads the integer at `at`. Returns it and the offset after it.
///
/// # Errors
/// [`Error`]: the bytes at `at` are not an integer of 64 bits in its shortest form.
#[inline]
pub fn read(bytes: &[u8], mut at: usize) -> Result<(u64, usize), Error> {
    let (mut value, mut shift) = (0, 0);
    loop {
        let &byte = bytes.get(at).ok_or(Error::Truncated)?;
        at += 1;
        if shift == 63 && byte > 1 {
            return Err(Error::TooLarge);
        }
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return if byte == 0 && shift > 0 { Err(Error::NotShortest) } else { Ok((value, at)) };
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn integers_have_one_form() {
        let max = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1];
        assert_eq!(read(&max, 0), Ok((u64::MAX, 10)));
        for (bytes, error) in [
            (&[][..], Error::Truncated),
            (&[0x80], Error::Truncated),
            (&[0x80; 11], Error::TooLarge),
            (&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2], Error::TooLarge),
            (&[0x80, 0], Error::NotShortest),
        ] {
            assert_eq!(read(bytes, 0), Err(error), "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn written_integer_is_read_back(value: u64, bits in 0..64_u32) {
            let value = value >> bits;
            let mut bytes = vec![0xAA];
            write(value, &mut bytes);
            prop_assert_eq!(read(&bytes, 1), Ok((value, bytes.len())));
        }
    }
}
