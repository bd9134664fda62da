//! Asserts the promised bound of memory: while a target runs, its heap grows by at most [`FACTOR`] bytes per
//! byte of input and [`ALLOWANCE`] bytes. Time is bounded by `-timeout`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes of heap per byte of input.
const FACTOR: usize = 256;
/// Bytes of heap for an input of any size: the tables of the compressors, and the limits of decompression and
/// expansion in the targets. Inputs have a few KiB, so a larger allowance would hide quadratic growth.
const ALLOWANCE: usize = 2 << 20;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static INPUT: AtomicUsize = AtomicUsize::new(0);

/// Counts the bytes in use, and the most since the last reset.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn grown(bytes: usize) {
    PEAK.fetch_max(LIVE.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller upholds the contract of the trait.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        grown(new_size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, new_size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Counts a text that the target has written as input, since it will be read.
#[allow(dead_code, reason = "not every target reads what it writes")]
pub fn add_input(size: usize) {
    INPUT.fetch_add(size, Relaxed);
}

/// Runs a target and asserts the bound for an input of `size` bytes.
pub fn run(size: usize, target: impl FnOnce()) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    INPUT.store(size, Relaxed);
    target();
    let grown = PEAK.load(Relaxed).saturating_sub(before);
    let size = INPUT.load(Relaxed);
    assert!(grown <= FACTOR * size + ALLOWANCE, "{grown} bytes of heap for {size} bytes of input");
}
