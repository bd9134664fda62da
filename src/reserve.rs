//! A global allocator with a reserve, for programs that must not abort when memory runs out.
//!
//! The standard library aborts the process if a small `Vec`, `Box` or `String` gets no memory, and checking
//! each of them beforehand would cost more than they do. [`Reserve`] keeps a block aside. If a small request
//! fails, it gives the block back to the system, tries once more, and notes the shortage, which the next
//! check of the module `memory` or poll of `interrupt` reports. Invariant: the shortage is over only when the
//! block is there again.
//!
//! The system may refuse the second try, too: another thread has taken the block, or it is in the heap of
//! another thread. Then the request gets memory of a [`Pool`] that nothing else uses. It also lasts longer
//! than the block: in a thread that has no 64 MiB of address space for a heap of its own, and in a process that
//! had threads and ran out of memory, the GNU C library takes a page for each request.

mod pool;

use pool::Pool;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Enough for the small requests between two checks. It is never written, so that it takes no pages.
const BLOCK: Layout = match Layout::from_size_align(4 << 20, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("an alignment is a power of two"),
};

/// Larger requests fail as they do without a reserve: their callers check them.
const LARGEST: usize = 1 << 20;

static POOLS: Pools = Pools { small: Pool::new(), large: Pool::new() };
static KEPT: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static IS_SHORT: AtomicBool = AtomicBool::new(false);

/// One after the other in memory, so that one comparison tells whether a block is of either.
#[repr(C)]
struct Pools {
    small: Pool<32, { 128 << 10 }, { 64 << 10 }>,
    /// For vectors and hash tables that grow until the next check, and for what the other one has no room for.
    large: Pool<8, LARGEST, LARGEST>,
}

impl Pools {
    #[inline]
    fn has(&self, block: *mut u8) -> bool {
        block.addr().wrapping_sub(std::ptr::from_ref(self).addr()) < size_of::<Self>()
    }

    fn take(&self, layout: Layout) -> *mut u8 {
        let block = self.small.take(layout);
        if block.is_null() { self.large.take(layout) } else { block }
    }

    fn give_back(&self, block: *mut u8) {
        if self.small.has(block) {
            self.small.give_back(block);
        } else {
            self.large.give_back(block);
        }
    }
}

/// The allocator of the system, with a reserve from the first call of [`fill`] on.
///
/// ```
/// use compactwire::memory::{Reserve, fill_reserve};
///
/// #[global_allocator]
/// static ALLOCATOR: Reserve = Reserve;
///
/// assert!(fill_reserve());
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Reserve;

/// Sets the reserve aside, unless it is there. Returns whether it is.
pub fn fill() -> bool {
    if !KEPT.load(Ordering::Acquire).is_null() {
        return true;
    }
    // SAFETY: the size is not zero.
    let block = unsafe { System.alloc(BLOCK) };
    if block.is_null() {
        return false;
    }
    IS_SHORT.store(false, Ordering::Release);
    release(KEPT.swap(block, Ordering::AcqRel));
    true
}

/// Whether a small request has failed since the reserve was filled, and it cannot be filled now.
#[inline]
pub(crate) fn is_short() -> bool {
    IS_SHORT.load(Ordering::Relaxed) && !fill()
}

/// The stack of a thread, and the heap of its own that the GNU C library makes for it. Without the heap, each of
/// its requests takes a page; without memory for its thread-local data, that library aborts the process.
#[cfg(any(feature = "arrow", feature = "claims", feature = "compact"))]
const THREAD: Layout = match Layout::from_size_align(68 << 20, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("an alignment is a power of two"),
};

/// Whether there is memory for another thread.
#[cfg(any(feature = "arrow", feature = "claims", feature = "compact"))]
pub(crate) fn has_a_thread() -> bool {
    // SAFETY: the size is not zero; the block is freed once, with its layout.
    unsafe {
        // Otherwise the compiler removes the allocation.
        let block = std::hint::black_box(System.alloc(THREAD));
        if !block.is_null() {
            System.dealloc(block, THREAD);
        }
        !block.is_null() && !is_short()
    }
}

fn release(block: *mut u8) {
    if !block.is_null() {
        // SAFETY: `fill` allocated the block with this layout, and `swap` gave it to this call alone.
        unsafe { System.dealloc(block, BLOCK) }
    }
}

/// Tries a request of `size` bytes that failed once more, without the reserve; if that fails, too, `last`.
#[cold]
fn again(
    size: usize,
    request: impl FnOnce() -> *mut u8,
    last: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    if size > LARGEST {
        return null_mut();
    }
    IS_SHORT.store(true, Ordering::Release);
    release(KEPT.swap(null_mut(), Ordering::AcqRel));
    let found = request();
    if found.is_null() { last() } else { found }
}

/// A block of a pool for a request that the system refused.
///
/// # Safety
/// As for `GlobalAlloc::alloc_zeroed`.
#[cold]
unsafe fn zeroed_of_pool(layout: Layout) -> *mut u8 {
    let block = POOLS.take(layout);
    if !block.is_null() {
        // SAFETY: the block has this size.
        unsafe { block.write_bytes(0, layout.size()) };
    }
    block
}

/// Copies a block to another one, unless that is null.
///
/// # Safety
/// The sizes are those of the blocks.
#[cold]
unsafe fn moved(block: *mut u8, old: usize, new: *mut u8, size: usize, free: impl FnOnce()) {
    if !new.is_null() {
        // SAFETY: both blocks have so many bytes, and do not overlap.
        unsafe { block.copy_to_nonoverlapping(new, old.min(size)) };
        free();
    }
}

// SAFETY: each method passes its arguments on to `System`, under the same contract. A request that is
// repeated failed before, and so changed nothing. Blocks of the pools never reach `System`.
unsafe impl GlobalAlloc for Reserve {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: see above.
        let request = || unsafe { System.alloc(layout) };
        let found = request();
        if found.is_null() { again(layout.size(), request, || POOLS.take(layout)) } else { found }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: see above.
        let (request, last) =
            (|| unsafe { System.alloc_zeroed(layout) }, || unsafe { zeroed_of_pool(layout) });
        let found = request();
        if found.is_null() { again(layout.size(), request, last) } else { found }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: see above; the caller promises that `size` is valid with this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if POOLS.has(block) {
            // SAFETY: see above.
            unsafe {
                let new = self.alloc(wanted);
                moved(block, layout.size(), new, size, || POOLS.give_back(block));
                return new;
            }
        }
        // SAFETY: see above.
        let request = || unsafe { System.realloc(block, layout, size) };
        let last = || {
            let new = POOLS.take(wanted);
            // SAFETY: see above.
            unsafe { moved(block, layout.size(), new, size, || System.dealloc(block, layout)) };
            new
        };
        let found = request();
        if found.is_null() { again(size, request, last) } else { found }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if POOLS.has(block) {
            return POOLS.give_back(block);
        }
        // SAFETY: see above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_request_that_fails_is_tried_again_without_the_reserve_and_then_in_the_pool() {
        assert!(fill());
        let (mut tries, mut last) = (0, 0);
        let mut failing = |size| {
            let request = || {
                tries += 1;
                null_mut()
            };
            again(size, request, || {
                last += 1;
                null_mut()
            })
        };
        assert!(failing(LARGEST + 1).is_null());
        assert!(!KEPT.load(Ordering::Acquire).is_null());
        assert!(failing(LARGEST).is_null());
        assert!(KEPT.load(Ordering::Acquire).is_null());
        assert_eq!((tries, last), (1, 1));
        assert!(IS_SHORT.load(Ordering::Acquire));
        // There is memory: the shortage is over.
        assert!(!is_short());
        assert!(!KEPT.load(Ordering::Acquire).is_null());
        assert!(!IS_SHORT.load(Ordering::Acquire));
    }

    #[test]
    fn a_pool_has_a_block_for_each_request_that_is_tried_again() {
        let layout = Layout::from_size_align(LARGEST, 16).unwrap();
        let blocks: Vec<_> = (0..9).map(|_| POOLS.take(layout)).collect();
        assert!(blocks[..8].iter().all(|&block| POOLS.has(block) && !POOLS.small.has(block)));
        assert!(blocks[8].is_null());
        blocks[..8].iter().for_each(|&block| POOLS.give_back(block));
        assert_eq!(POOLS.take(layout), blocks[0]);
        POOLS.give_back(blocks[0]);
    }

    #[test]
    fn a_block_of_the_pool_can_grow_and_is_freed() {
        let layout = Layout::from_size_align(100, 8).unwrap();
        let block = POOLS.take(layout);
        // SAFETY: each block is used within its size, and freed once, with its layout.
        unsafe {
            block.write_bytes(7, 100);
            let grown = Reserve.realloc(block, layout, 1000);
            assert!(!POOLS.has(grown));
            assert!((0..100).all(|at| *grown.add(at) == 7));
            Reserve.dealloc(grown, Layout::from_size_align(1000, 8).unwrap());
            let zeroed = zeroed_of_pool(layout);
            assert_eq!(zeroed, block);
            assert!((0..100).all(|at| *zeroed.add(at) == 0));
            Reserve.dealloc(zeroed, layout);
        }
        assert_eq!(POOLS.take(layout), block);
        POOLS.give_back(block);
    }
}
