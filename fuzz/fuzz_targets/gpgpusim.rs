//! Imports two arbitrary texts as a configuration of GPGPU-Sim and as the file of its network. The
//! import must not panic, its error messages must print, and an imported preset must resolve to the
//! machine that was imported.
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run gpgpusim --sanitizer none -- -max_total_time=600
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;
use warploom_config::gpgpusim::{Request, import};
use warploom_config::{Base, resolve};
use warploom_diag::Source;

fuzz_target!(|input: (&str, &str)| {
    let (options, network) = input;
    let request = Request {
        config: Source::new("gpgpusim.config", options),
        network: Some(Source::new("network.icnt", network)),
        name: "fuzzed".to_owned(),
        style: None,
    };
    // A file that includes itself exists, and no other one.
    let mut files = |_: &str, path: &str| match path {
        "self" => Ok(Source::new("gpgpusim.config", options)),
        _ => Err("no such file".to_owned()),
    };
    match import(request, &mut files) {
        Ok(imported) => {
            let text = Source::new("imported.toml", imported.toml);
            let again = resolve(&Base::Text(text), &[]);
            let again = again.unwrap_or_else(|errors| panic!("{errors}"));
            assert!(again == imported.spec, "the preset is another machine");
        }
        Err(errors) => assert!(!errors.to_string().is_empty()),
    }
});
