//! Choice of the compute capability that a GPU reports by default.

use warploom_config::GpuSpec;

/// Maximum number of registers of a thread on Fermi and on the first Kepler GPUs. Later GPUs have
/// 255.
const FERMI_REGISTERS: u32 = 63;

/// Compute capability of a GPU as ten times the major number plus the minor number: the one that
/// the specification gives, or one derived from the register files, shared memory and warp slots
/// that the CUDA C++ Programming Guide lists for each capability.
pub fn capability(spec: &GpuSpec) -> u32 {
    let sm = &spec.sm;
    if spec.gpu.compute_capability > 0 {
        return spec.gpu.compute_capability;
    }
    if sm.max_registers_per_thread <= FERMI_REGISTERS {
        return if sm.max_threads > 1536 { 30 } else { 20 };
    }
    match (sm.max_threads, sm.shared_bytes >> 10) {
        (1024, _) => 75,
        (1536, _) => 86,
        (_, 228..) => 90,
        (_, 96) if sm.adaptive_l1d => 70,
        (_, 97..) => 70,
        (_, 96) => 61,
        (_, 64..) => 60,
        _ => 35,
    }
}

#[cfg(test)]
mod tests {
    use super::capability;
    use warploom_config::preset;

    #[test]
    fn presets_have_the_capability_of_their_machines() {
        for (name, expected) in [
            ("gtx480", 20),
            ("titan-kepler", 35),
            ("titanx-pascal", 61),
            ("qv100-volta", 70),
            ("rtx2060-turing", 75),
            ("rtx3070-ampere", 86),
            ("a100-ampere", 80),
            ("h100-hopper", 90),
            ("h200-hopper", 90),
            ("rtx5090-blackwell", 120),
        ] {
            let spec = preset(name).expect("a preset");
            assert_eq!(capability(&spec), expected, "{name}");
        }
    }
}
