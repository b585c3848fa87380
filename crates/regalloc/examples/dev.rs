use std::time::Instant;
use warploom_diag::*;
use warploom_regalloc::*;
fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        let source = Source::new(path.clone(), text);
        let (module, d) = warploom_ptx::parse(&source);
        if d.has_errors() { println!("{path}: bad"); continue; }
        for kernel in kernels(&module) {
            let t = Instant::now();
            let d = match demand(&module, kernel, &Options::default()) {
                Ok(d) => d,
                Err(e) => { println!("{}", e.render(&source, Style::Plain)); continue; }
            };
            let el = t.elapsed();
            print!("{kernel:30} pressure {} max {} min {} preds {} {:?} ", d.pressure, d.max_registers, d.min_registers, d.predicates, el);
            let mut chk = std::time::Duration::ZERO; let mut worst = std::time::Duration::ZERO;
            for r in d.min_registers..=d.max_registers {
                let o = Options { registers: Some(r), ..Options::default() };
                let t = Instant::now();
                match allocate_kernel(&module, kernel, &o) {
                    Ok(a) => {
                        worst = worst.max(t.elapsed());
                        assert!(a.report.registers <= r);
                        let text = warploom_ptx::print(&a.module);
                        let s2 = Source::new("out.ptx", text.as_str());
                        if let Err(e) = warploom_ptx::load(&s2) { println!("{}", e.render(&s2, Style::Plain)); std::fs::write("/tmp/bad.ptx", &text).unwrap(); return; }
                        let (m2, _) = warploom_ptx::parse(&s2);
                        let t = Instant::now();
                        for (f, steps) in &a.steps {
                            let claim = checker::Claim { original: &module, allocated: &m2, function: f, steps, block: [1;3], limit: Some(r)};
                            if let Err(e) = checker::check(&claim) { println!("{kernel} {r} CHECK {e}"); std::fs::write("/tmp/bad.ptx", &text).unwrap(); return; }
                        }
                        chk = chk.max(t.elapsed());
                        if r == d.min_registers + (d.max_registers-d.min_registers)/2 { print!(" mid: r{} l{} o{} st {} ld {} rounds {}", r, a.report.added.local.count, a.report.added.others.count, a.report.added.store_bytes, a.report.added.load_bytes, a.report.rounds); }
                    }
                    Err(e) => { println!("{r}: {}", e.render(&source, Style::Plain)); }
                }
            }
            println!(" worst {worst:?} check {chk:?}");
        }
    }
}
