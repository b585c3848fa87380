//! Control of the host's data caches.

/// Prefetches the first cache line of `value` into the host's first-level cache. Worthwhile for a
/// value that is read some hundred instructions later; has no other effect.
#[inline(always)]
pub fn fetch_ahead<T: ?Sized>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the only way to call what needs a feature")]
    // SAFETY: every x86-64 has SSE, and fetching what a reference points to changes nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
