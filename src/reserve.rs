//! A global allocator with a reserve, for programs that must not abort when memory runs out.
//!
//! The standard library aborts the process if a small `Vec`, `Box` or `String` gets no memory, and checking
//! each of them beforehand would cost more than they do. [`Reserve`] keeps a block aside. If a small request
//! fails, it gives the block back to the system, tries once more, and notes the shortage, which the next
//! check of the module `memory` or poll of `interrupt` reports. Invariant: the shortage is over only when the
//! block is there again.

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

static KEPT: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static IS_SHORT: AtomicBool = AtomicBool::new(false);

/// The allocator of the system, with a reserve from the first call of [`fill`] on.
///
/// ```
/// use compactwire::memory::Reserve;
///
/// #[global_allocator]
/// static ALLOCATOR: Reserve = Reserve;
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

fn release(block: *mut u8) {
    if !block.is_null() {
        // SAFETY: `fill` allocated the block with this layout, and `swap` gave it to this call alone.
        unsafe { System.dealloc(block, BLOCK) }
    }
}

/// Tries a request of `size` bytes that failed once more, without the reserve.
#[cold]
fn again(size: usize, request: impl FnOnce() -> *mut u8) -> *mut u8 {
    if size > LARGEST {
        return null_mut();
    }
    IS_SHORT.store(true, Ordering::Release);
    release(KEPT.swap(null_mut(), Ordering::AcqRel));
    request()
}

// SAFETY: each method passes its arguments on to `System`, under the same contract. A request that is
// repeated failed before, and so changed nothing.
unsafe impl GlobalAlloc for Reserve {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: see above.
        let request = || unsafe { System.alloc(layout) };
        let found = request();
        if found.is_null() { again(layout.size(), request) } else { found }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: see above.
        let request = || unsafe { System.alloc_zeroed(layout) };
        let found = request();
        if found.is_null() { again(layout.size(), request) } else { found }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: see above.
        let request = || unsafe { System.realloc(block, layout, size) };
        let found = request();
        if found.is_null() { again(size, request) } else { found }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: see above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_request_that_fails_is_tried_again_without_the_reserve() {
        assert!(fill());
        let mut tries = 0;
        let mut failing = |size| {
            again(size, || {
                tries += 1;
                null_mut()
            })
        };
        assert!(failing(LARGEST + 1).is_null());
        assert!(!KEPT.load(Ordering::Acquire).is_null());
        assert!(failing(LARGEST).is_null());
        assert!(KEPT.load(Ordering::Acquire).is_null());
        assert_eq!(tries, 1);
        assert!(IS_SHORT.load(Ordering::Acquire));
        // There is memory: the shortage is over.
        assert!(!is_short());
        assert!(!KEPT.load(Ordering::Acquire).is_null());
        assert!(!IS_SHORT.load(Ordering::Acquire));
    }
}
