//! Reads the content of artifacts and checks it against the manifest. Compression Claims section 5.3.
//!
//! Invariant: a file is read once; its hash, the check of its text and its length come from the
//! same bytes.

use super::bundle::{Artifact, segments};
use super::canonical::Hash;
use super::error::{Code, Failure, cut};
use super::files::{Folder, ReadProblem, Refusal};
use sha2::{Digest, Sha256};

/// Reads and checks an artifact. Returns the length of its content without trailing line feeds.
pub(super) fn verify(folder: &Folder, artifact: &Artifact) -> Result<u64, Failure> {
    let fail = |code, message: &str| Err(Failure::new(code, message).at(cut(&artifact.path)));
    let mismatch = |message| fail(Code::ArtifactHashMismatch, message);
    let Some(segments) = segments(&artifact.path) else {
        return Err(Failure::internal("the path was not checked"));
    };
    let file = match folder.open_file(&segments) {
        Ok(file) => file,
        Err(Refusal::Link) => {
            return fail(Code::ForbiddenField, "the artifact, or a folder in its path, is a link");
        }
        Err(Refusal::Missing) => {
            return mismatch("the artifact is missing or not a regular file");
        }
        Err(Refusal::Unreadable) => return mismatch("the artifact cannot be read"),
    };
    if file.size != artifact.bytes {
        let (found, expected) = (file.size, artifact.bytes);
        return mismatch(&format!(
            "the artifact has {found} bytes, but the manifest says {expected}"
        ));
    }
    let mut text = Text::default();
    match file.pieces(artifact.bytes, |piece| text.push(piece)) {
        Ok(()) => {}
        Err(ReadProblem::Unreadable) => return mismatch("the artifact cannot be read"),
        Err(ReadProblem::TooLarge) => {
            return mismatch("the artifact was changed while it was read");
        }
    }
    text.finish(artifact.sha256).or_else(mismatch)
}

/// The state of a text that is being read.
#[derive(Default)]
struct Text {
    hash: Sha256,
    size: u64,
    /// The number of trailing line feeds so far.
    line_feeds: u64,
    carriage_return: bool,
    utf8: Utf8,
}

impl Text {
    fn push(&mut self, piece: &[u8]) {
        self.hash.update(piece);
        self.size += piece.len() as u64;
        let last = piece.iter().rev().take_while(|byte| **byte == b'\n').count();
        self.line_feeds = if last == piece.len() { self.line_feeds } else { 0 } + last as u64;
        self.carriage_return |= memchr::memchr(b'\r', piece).is_some();
        self.utf8.push(piece);
    }

    /// The length of the content, if the text matches its hash and is valid.
    fn finish(self, expected: Hash) -> Result<u64, &'static str> {
        if Hash(self.hash.finalize().into()) != expected {
            Err("the SHA-256 of the artifact is not the one in the manifest")
        } else if !self.utf8.finish() {
            Err("the artifact is not UTF-8")
        } else if self.carriage_return {
            Err("the artifact contains a carriage return; lines must end with a line feed only")
        } else if self.line_feeds == 0 {
            Err("the artifact does not end with a line feed")
        } else {
            Ok(self.size - self.line_feeds)
        }
    }
}

/// Validates UTF-8 that arrives in pieces; a piece may end within a character.
#[derive(Default)]
struct Utf8 {
    broken: bool,
    /// The first bytes of a character that continues in the next piece.
    cut: Vec<u8>,
}

impl Utf8 {
    fn push(&mut self, mut piece: &[u8]) {
        while !self.cut.is_empty() && !self.broken {
            let Some((first, rest)) = piece.split_first() else { return };
            piece = rest;
            self.cut.push(*first);
            match std::str::from_utf8(&self.cut) {
                Ok(_) => self.cut.clear(),
                Err(error) => self.broken = error.error_len().is_some(),
            }
        }
        if let Err(error) = simdutf8::compat::from_utf8(piece) {
            self.broken |= error.error_len().is_some();
            self.cut = piece[error.valid_up_to()..].to_vec();
        }
    }

    fn finish(self) -> bool {
        !self.broken && self.cut.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieced(pieces: &[&[u8]]) -> Result<u64, &'static str> {
        let mut text = Text::default();
        for piece in pieces {
            text.push(piece);
        }
        text.finish(Hash::of(pieces.concat()))
    }

    fn whole(bytes: &[u8]) -> Option<u64> {
        let text = std::str::from_utf8(bytes).ok()?;
        let good = text.ends_with('\n') && !text.contains('\r');
        good.then(|| text.trim_end_matches('\n').len() as u64)
    }

    #[test]
    fn text_must_end_with_line_feed_and_have_no_carriage_return() {
        assert_eq!(pieced(&[b"\n"]), Ok(0));
        assert_eq!(pieced(&[b"a\n", b"\n", b"\n\n"]), Ok(1));
        assert_eq!(pieced(&["é\u{feff}\0\t\n".as_bytes()]), Ok(7));
        for bad in [&b""[..], b"a", b"a\r\n", b"\ra\n", b"\xff\n", b"\xc3", b"\xed\xa0\x80\n"] {
            assert!(pieced(&[bad]).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_give_the_same_result_as_the_whole(
            bytes in proptest::collection::vec(prop_oneof![
                Just(b'\n'), Just(b'a'), Just(0xc3), Just(0xa9), Just(0xf0), Just(0x9f),
                Just(0x92), Just(0xa9), Just(0xed), Just(0xa0), Just(b'\r')
            ], 0..12),
            size in 1_usize..6,
        ) {
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            prop_assert_eq!(pieced(&pieces).ok(), whole(&bytes));
        }

        #[test]
        fn any_text_in_pieces_is_one_text(text: String, size in 1_usize..6) {
            let text = text.replace('\r', "") + "\n";
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(pieced(&pieces).ok(), whole(text.as_bytes()));
        }
    }
}
