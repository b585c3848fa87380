//! Energy of a run as text.

use crate::chart::bar;
use crate::format::percent;
use std::fmt::Write;
use warploom_stats::energy::EnergyReport;

/// Width of a bar in characters.
const BAR_WIDTH: usize = 40;

/// Energy, power and their shares by component, the largest first.
pub(crate) fn energy(text: &mut String, energy: &EnergyReport) {
    let _ = writeln!(
        text,
        "energy ({}): {} in {}, {:.1} W in the mean, energy-delay {}\n  \
         {} of it is static, idle or constant",
        energy.preset,
        scaled(energy.joules, "J"),
        scaled(energy.seconds, "s"),
        energy.watts,
        scaled(energy.energy_delay, "Js"),
        percent(Some(energy.static_share)),
    );
    let mut parts: Vec<_> = energy.components.iter().collect();
    parts.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    let width = parts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, joules) in parts {
        let share = joules / energy.joules;
        let watts = joules / energy.seconds;
        let _ = writeln!(
            text,
            "  {name:width$} {watts:>8.2} W {:>6} {}",
            percent(Some(share)),
            bar(share.clamp(0.0, 1.0), BAR_WIDTH)
        );
    }
    text.push('\n');
}

/// A quantity with three digits and the SI prefix that leaves at most three before the point.
pub(crate) fn scaled(value: f64, unit: &str) -> String {
    let prefixes = [
        (1.0, ""),
        (1e-3, "m"),
        (1e-6, "u"),
        (1e-9, "n"),
        (1e-12, "p"),
    ];
    let fits = |(size, _): &&(f64, &str)| value.abs() >= *size;
    let (size, prefix) = prefixes.iter().find(fits).unwrap_or(&(1.0, ""));
    let value = value / size;
    let digits = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.digits$} {prefix}{unit}")
}

#[cfg(test)]
mod tests {
    use super::{energy, scaled};
    use std::collections::BTreeMap;
    use warploom_stats::energy::EnergyReport;

    #[test]
    fn quantities_have_three_digits_and_a_prefix() {
        assert_eq!(scaled(0.0, "J"), "0.00 J");
        assert_eq!(scaled(2.5, "J"), "2.50 J");
        assert_eq!(scaled(0.0123, "J"), "12.3 mJ");
        assert_eq!(scaled(1.237e-4, "s"), "124 us");
    }

    #[test]
    fn components_come_by_their_share() {
        let components = BTreeMap::from([("dram".to_owned(), 0.003), ("static".to_owned(), 0.001)]);
        let report = EnergyReport {
            preset: "mine".to_owned(),
            seconds: 2e-5,
            joules: 0.004,
            watts: 200.0,
            energy_delay: 8e-8,
            static_share: 0.25,
            components,
        };
        let mut text = String::new();
        energy(&mut text, &report);
        insta::assert_snapshot!(text);
    }
}
