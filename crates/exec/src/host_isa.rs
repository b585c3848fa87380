//! Which of the host's vector instructions the lanes' loops use: chosen when a launch is prepared.
//!
//! Lane loops are plain Rust that the compiler vectorises. Where it pays, an operation is compiled
//! twice: for what every x86-64 has, and for AVX2, FMA and BMI2 (what x86-64-v3 has for them).
//! Both give the same bits: no operation rounds otherwise, and a fused multiply-add that is put
//! together from other operations (`fma32`) is as exact as the instruction.

/// Vector instructions of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wide {
    /// What the program was compiled for.
    Plain,
    /// AVX2, FMA and BMI2 besides.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
}

/// Proof that the host has AVX2, FMA, BMI1 and BMI2: there is none elsewhere.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Avx2(());

impl Wide {
    /// The most that this host has.
    pub fn of_host() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("fma")
            && std::is_x86_feature_detected!("bmi1")
            && std::is_x86_feature_detected!("bmi2")
        {
            return Self::Avx2(Avx2(()));
        }
        Self::Plain
    }
}
