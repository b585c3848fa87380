//! Every benchmark on every preset: what is measured is what the specification implies.

use std::sync::Mutex;
use warploom_config::{PRESETS, preset};
use warploom_microbench::{Answer, all};

#[test]
fn every_preset_does_what_its_specification_implies() {
    let wrong = Mutex::new(Vec::new());
    let next = Mutex::new(PRESETS.iter());
    let work = || {
        while let Some(row) = { next.lock().expect("no thread panics").next() } {
            let gpu = preset(row.name).unwrap_or_else(|errors| panic!("{errors}"));
            for benchmark in all() {
                let answer = benchmark
                    .measure(&gpu)
                    .unwrap_or_else(|trouble| panic!("{} {}: {trouble}", row.name, benchmark.name));
                let Answer::Figure(figure) = answer else {
                    continue;
                };
                if !figure.agrees() {
                    wrong.lock().expect("no thread panics").push(format!(
                        "{} {}: {figure:#?}",
                        row.name, benchmark.name
                    ));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let wrong = wrong.into_inner().expect("no thread panics");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
