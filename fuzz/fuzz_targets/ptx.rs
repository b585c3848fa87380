//! Parses arbitrary bytes as PTX. Parsing, checking, printing and rendering diagnostics must not
//! panic. A module that parses without an error must be the same after it was printed and parsed
//! again.
//!
//! Every input that has failed belongs into `crates/ptx/tests/fuzzed`, which `cargo test` replays.
//! On the stable toolchain:
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run ptx --sanitizer none -- -dict=ptx.dict -max_total_time=600
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;
use warploom_diag::{Source, Style};
use warploom_ptx::{check, parse, print};

fuzz_target!(|data: &[u8]| {
    let Ok(source) = Source::from_bytes("fuzzed", data.to_vec()) else { return };
    let (module, mut diagnostics) = parse(&source);
    if !diagnostics.has_errors() {
        let printed = Source::new("printed", print(&module));
        let (again, complaints) = parse(&printed);
        assert!(!complaints.has_errors(), "{}", complaints.render(&printed, Style::Plain));
        assert!(again == module, "printing changed the tree");
        diagnostics.append(check(&module));
    }
    diagnostics.render(&source, Style::Plain);
});
