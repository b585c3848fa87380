//! Policies that hold ready warps back at no cost in time.

/// Share of the speed of a run by which another one that is equally fast may differ.
const EQUAL: f64 = 0.02;

/// True if a policy that holds ready warps back costs no time: the run is no slower than the
/// fastest of those that differ from it only in the warp scheduler and its settings, and that no
/// policy bounds. `speedups` are those of the run over such runs; without any, it is not known.
pub fn holds_at_no_cost(speedups: impl IntoIterator<Item = f64>) -> bool {
    let is_equal = |speedup: f64| speedup >= 1.0 - EQUAL;
    let compared = speedups.into_iter().map(is_equal);
    compared.reduce(|all, is| all && is).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::holds_at_no_cost;

    #[test]
    fn a_run_that_is_no_slower_than_the_fastest_pays_nothing() {
        let of = |speedups: &[f64]| holds_at_no_cost(speedups.iter().copied());
        assert!(of(&[0.999]) && of(&[1.5]) && of(&[1.5, 0.981]));
        assert!(!of(&[]) && !of(&[0.97]) && !of(&[1.5, 0.97]) && !of(&[f64::NAN]));
    }
}
