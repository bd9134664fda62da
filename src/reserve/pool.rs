//! A pool of memory for requests that the system refuses.
//!
//! The pool has pieces. A piece hands out its bytes in order, and starts over once all its blocks are freed: a
//! block that lives long keeps one piece from doing so, not all. There is no lock, because a process that
//! forks while another thread holds one would wait for it forever.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest alignment of a block.
const ALIGNMENT: usize = 4 << 10;
/// Blocks begin at multiples of this many bytes.
const UNIT: usize = 16;

/// `PIECES` pieces of `PIECE` bytes, for blocks of at most `LARGEST` bytes. It is in the section for zeros, so that it
/// takes no pages before it is used.
#[repr(C, align(4096))]
pub(super) struct Pool<const PIECES: usize, const PIECE: usize, const LARGEST: usize> {
    bytes: UnsafeCell<[[u8; PIECE]; PIECES]>,
    /// The number of blocks in a piece in the upper half, and its used units in the lower one.
    states: [AtomicU64; PIECES],
}

// SAFETY: each byte belongs to the block of one caller, or to none.
unsafe impl<const PIECES: usize, const PIECE: usize, const LARGEST: usize> Sync
    for Pool<PIECES, PIECE, LARGEST>
{
}

const ONE_BLOCK: u64 = 1 << 32;

fn units(state: u64) -> usize {
    usize::try_from(state & (ONE_BLOCK - 1)).unwrap_or(usize::MAX)
}

impl<const PIECES: usize, const PIECE: usize, const LARGEST: usize> Pool<PIECES, PIECE, LARGEST> {
    pub(super) const fn new() -> Self {
        Self {
            bytes: UnsafeCell::new([[0; PIECE]; PIECES]),
            states: [const { AtomicU64::new(0) }; PIECES],
        }
    }

    /// Whether a block is of this pool.
    #[inline]
    pub(super) fn has(&self, block: *mut u8) -> bool {
        self.offset(block) < PIECES * PIECE
    }

    #[inline]
    fn offset(&self, block: *mut u8) -> usize {
        block.addr().wrapping_sub(self.bytes.get().addr())
    }

    /// A block with any content; null if there is none for this request.
    #[cold]
    pub(super) fn take(&self, layout: Layout) -> *mut u8 {
        if layout.size() > LARGEST || layout.align() > ALIGNMENT {
            return null_mut();
        }
        let step = layout.align().div_ceil(UNIT);
        let start = |state| units(state).next_multiple_of(step);
        let more = |state| {
            let end = start(state) + layout.size().div_ceil(UNIT);
            (end <= PIECE / UNIT).then(|| (state & !(ONE_BLOCK - 1)) + ONE_BLOCK + end as u64)
        };
        for (piece, state) in self.states.iter().enumerate() {
            if let Ok(before) = state.fetch_update(Ordering::AcqRel, Ordering::Acquire, more) {
                return self
                    .bytes
                    .get()
                    .cast::<u8>()
                    .wrapping_add(piece * PIECE + start(before) * UNIT);
            }
        }
        null_mut()
    }

    /// Frees a block of this pool.
    #[cold]
    pub(super) fn give_back(&self, block: *mut u8) {
        let less = |state| Some(if state < 2 * ONE_BLOCK { 0 } else { state - ONE_BLOCK });
        let state = &self.states[self.offset(block) / PIECE];
        let _always_ok = state.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const PIECES: usize = 32;
    const PIECE: usize = 128 << 10;
    const LARGEST: usize = PIECE / 2;

    type Small = super::Pool<PIECES, PIECE, LARGEST>;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn blocks_do_not_overlap_until_they_are_freed() {
        static POOL: Small = Small::new();
        let mut blocks = Vec::new();
        for index in 0.. {
            let layout = layout(1 + 997 * index % LARGEST, 1 << (index % 13));
            let block = POOL.take(layout);
            if block.is_null() {
                break;
            }
            assert!(POOL.has(block) && block.addr().is_multiple_of(layout.align()));
            blocks.push((block.addr(), layout.size(), block));
        }
        let mut sorted = blocks.clone();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        let used: usize = blocks.iter().map(|(_, size, _)| size).sum();
        assert!(used > PIECES * PIECE / 2, "{used}");
        // One block that stays keeps one piece.
        for (_, _, block) in &blocks[1..] {
            POOL.give_back(*block);
        }
        let again = (0..).take_while(|_| !POOL.take(layout(LARGEST, 1)).is_null());
        assert!(again.count() >= 2 * (PIECES - 1));
    }

    #[test]
    fn a_request_that_no_piece_can_hold_gets_none() {
        static POOL: Small = Small::new();
        assert!(POOL.take(layout(LARGEST + 1, 1)).is_null());
        assert!(POOL.take(layout(1, 2 * ALIGNMENT)).is_null());
        assert!(!POOL.has(null_mut()));
        let last = POOL.bytes.get().cast::<u8>().wrapping_add(PIECES * PIECE);
        assert!(!POOL.has(last) && POOL.has(last.wrapping_sub(1)));
    }

    #[test]
    fn threads_get_blocks_of_their_own() {
        static POOL: Small = Small::new();
        let rounds = if cfg!(miri) { 20 } else { 5_000 };
        let work = |thread: u8| {
            for round in 0..rounds {
                let size = 1 + (round * 37 + usize::from(thread) * 101) % 900;
                let block = POOL.take(layout(size, 8));
                assert!(!block.is_null());
                // SAFETY: the block has so many bytes, and is of this thread alone.
                unsafe {
                    block.write_bytes(thread, size);
                    thread::yield_now();
                    assert!((0..size).all(|at| *block.add(at) == thread));
                }
                POOL.give_back(block);
            }
        };
        thread::scope(|scope| (1..4).for_each(|thread| _ = scope.spawn(move || work(thread))));
        assert!(POOL.states.iter().all(|state| state.load(Ordering::Relaxed) == 0));
    }
}
