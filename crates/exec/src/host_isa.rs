//! Choice of the host's vector instructions for the loops over lanes, made when a launch is
//! prepared.
//!
//! Loops over lanes are plain Rust code that the compiler vectorises. Some operations are compiled
//! twice: for the baseline of x86-64, and with AVX2, FMA and BMI2 (a part of x86-64-v3). Both
//! versions give the same bits: no operation rounds differently, and a fused multiply-add that is
//! composed of other operations (`fma32`) is as exact as the instruction.

/// Set of vector instructions of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VectorIsa {
    /// The instructions for which the simulator was compiled.
    Baseline,
    /// In addition AVX2, FMA and BMI2.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
}

/// Proof that the host has AVX2, FMA, BMI1 and BMI2. A value exists only on such hosts.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Avx2(());

impl VectorIsa {
    /// Largest set that this host supports.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("fma")
            && std::is_x86_feature_detected!("bmi1")
            && std::is_x86_feature_detected!("bmi2")
        {
            return Self::Avx2(Avx2(()));
        }
        Self::Baseline
    }
}
