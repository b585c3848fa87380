//! Measures the peak memory use of this process.

use std::fs;

/// Resets the peak, where the operating system can (Linux: proc(5), `clear_refs`).
pub fn forget_peak() {
    // Elsewhere the peak is that of the whole process, which is at least the run's.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Peak of resident memory since `forget_peak`, in MiB. `None` where the operating system does not
/// report it.
pub fn peak_mib() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::{forget_peak, peak_mib};

    #[test]
    fn a_large_buffer_shows() {
        forget_peak();
        let Some(before) = peak_mib() else { return };
        let buffer = vec![1_u8; 64 << 20];
        assert!(peak_mib().unwrap() >= before + 32.0, "{}", buffer.len());
    }
}
