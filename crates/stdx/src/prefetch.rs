//! A hint to the CPU: memory that is going to be read soon. It changes nothing but time; on CPUs for which Rust has no
//! such hint it does nothing.

/// Bytes that the CPU fetches at once.
pub const CACHE_LINE: usize = 64;

/// Starts to fetch the cache line at `pointer`, which may be any address.
#[inline(always)]
#[cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the intrinsic takes a pointer; it does not read through it")
)]
pub fn prefetch<T>(pointer: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address, mapped or not, neither faults nor changes anything that a program can see.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(pointer.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = pointer;
}
