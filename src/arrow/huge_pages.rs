//! Huge pages for the large buffers of a result, on Linux.
//!
//! The kernel provides memory when it is first written, 4 KiB at a time by default. Each time costs as much as
//! writing some texts: for a plain encoding of a large column, almost half of the time. With huge pages it happens
//! once for 2 MiB. Linux gives them on request (`transparent_hugepage` is `madvise` on most systems); numpy asks
//! for them in the same way.

/// Smaller buffers are left to the allocator, which often has pages for them that were written before.
#[cfg(target_os = "linux")]
const LEAST: usize = 4 << 20;

/// The size of a huge page on most systems. Only whole ones are asked for, so that no memory is provided beside the
/// buffer.
#[cfg(target_os = "linux")]
const HUGE: usize = 2 << 20;

/// Asks for huge pages for a buffer of `size` bytes that will be filled. Nothing but the time depends on it.
#[cfg(target_os = "linux")]
pub(super) fn request(start: *const u8, size: usize) {
    use rustix::mm::{Advice, madvise};

    let skipped = start.align_offset(HUGE);
    if size < LEAST || skipped >= size {
        return;
    }
    let (start, size) = (start.wrapping_add(skipped), (size - skipped) / HUGE * HUGE);
    // A kernel without huge pages refuses, and gives the memory as usual.
    // SAFETY: the advice changes neither the content nor the protection of memory.
    let _ = unsafe { madvise(start.cast_mut().cast(), size, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
pub(super) fn request(_: *const u8, _: usize) {}
