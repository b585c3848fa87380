//! Tests of messages for programs that cannot run under `warploom app`. They are made from a
//! program that can.

use crate::support::{output, refusal, warploom_in};
use std::path::Path;

/// A program of our own, built by CUDA 12's compiler.
const PROGRAM: &[u8] = include_bytes!("../../../cudart/tests/programs/12/device");
/// Name of the library that it loads.
const NEEDED: &[u8] = b"libcudart.so.12\0";
/// First bytes of a fat binary.
const FAT_BINARY: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
const MACHINE_CODE: u8 = 2;

fn find(bytes: &[u8], what: &[u8]) -> usize {
    let found = bytes.windows(what.len()).position(|part| part == what);
    found.expect("the program has it")
}

/// Eight bytes of a file as a number.
fn number(file: &[u8], at: usize) -> usize {
    let bytes = file[at..].first_chunk().expect("the file goes on");
    u64::from_le_bytes(*bytes) as usize
}

/// Message of the command about a changed program, without the file's name.
fn told(change: impl FnOnce(&mut Vec<u8>)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut file = PROGRAM.to_vec();
    change(&mut file);
    std::fs::write(folder.path().join("program"), file).unwrap();
    let message = refusal(folder.path(), 2, &["app", "--", "./program"]);
    let (_, reason) = message
        .split_once("./program cannot run under Warploom: ")
        .unwrap_or_else(|| panic!("{message}"));
    reason.to_owned()
}

fn needs(file: &mut [u8], name: &[u8]) {
    let at = find(file, NEEDED);
    file[at..at + name.len()].copy_from_slice(name);
}

#[test]
fn a_program_of_another_release_is_told_which_there_are() {
    let message = told(|file| needs(file, b"libcudart.so.10\0"));
    assert!(message.contains("it needs libcudart.so.10"), "{message}");
    assert!(message.contains("libcudart.so.12"), "{message}");
}

#[test]
fn a_program_for_32_bits_or_another_processor_is_told() {
    let message = told(|file| file[4] = 1);
    assert!(message.contains("32-bit"), "{message}");
    let message = told(|file| file[18] = 183);
    assert!(message.contains("not built for x86-64"), "{message}");
}

#[test]
fn a_program_without_ptx_is_told_how_to_get_some() {
    let message = told(|file| {
        let starts = file.windows(4).enumerate();
        let starts = starts.filter(|(_, part)| *part == FAT_BINARY);
        let starts: Vec<usize> = starts.map(|(at, _)| at).collect();
        assert!(!starts.is_empty(), "the program has a fat binary");
        for start in starts {
            let header = u16::from_le_bytes([file[start + 6], file[start + 7]]);
            let mut at = start + usize::from(header);
            let end = at + number(file, start + 8);
            while at < end {
                file[at] = MACHINE_CODE;
                // Bytes of the entry's own header, then of its padded payload.
                at += (number(file, at + 4) & 0xffff_ffff) + number(file, at + 8);
            }
        }
    });
    assert!(message.contains("PTX"), "{message}");
    assert!(message.contains("sm_"), "{message}");
}

#[test]
fn a_program_without_the_runtime_is_told_of() {
    // The program starts whether or not our library exists.
    let ran = warploom_in(Path::new("."), &["app", "--", "true"]);
    assert!(
        ran.err.contains("does not load CUDA's runtime itself"),
        "{}",
        ran.err
    );
    let ran = warploom_in(Path::new("."), &["app", "--quiet", "--", "true"]);
    assert!(!ran.err.contains("does not load"), "{}", ran.err);
}

#[test]
fn checkpoints_are_checked_before_the_program_starts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("text.ckpt"), "no checkpoint").unwrap();
    for (options, reason) in [
        (["--resume", "text.ckpt"], "the file is no checkpoint"),
        (["--fork", "none.ckpt"], "there is no such file"),
        (
            ["--checkpoint", "none/a.ckpt"],
            "cannot write the checkpoint",
        ),
    ] {
        let args = [&["app", "--quiet"], &options[..], &["--", "true"]].concat();
        let message = refusal(folder, 2, &args);
        assert!(message.contains(reason), "{message}");
        assert!(message.contains(options[1]), "{message}");
    }
    let args = ["app", "--functional", "--resume", "text.ckpt", "--", "true"];
    let message = refusal(folder, 2, &args);
    assert!(message.contains("--functional"), "{message}");
}

#[test]
fn a_program_that_is_not_there_is_told() {
    let message = refusal(Path::new("."), 2, &["app", "--", "./no-such-program"]);
    assert!(
        message.contains("there is no program ./no-such-program"),
        "{message}"
    );
    let ran = warploom_in(Path::new("."), &["app"]);
    assert_eq!(ran.status, 2, "{}", ran.err);
    assert!(output(&["app", "--help"]).contains("nvcc -cudart shared"));
}
