//! Programs that go on from a checkpoint: they print what they print without an interruption, with
//! the same result, and a program that makes other calls is refused.

use super::compiled::{compiled, started};
use super::{built, example, folder};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};
use warploom_app::Settings;

/// Machines on which programs are saved.
const GPUS: [&str; 2] = ["gtx480", "qv100-volta"];

/// Programs of the other tests: memory of all kinds, graphs with streams and events, textures,
/// pools, kernels that print, cooperative launches, and copies that nobody waits for. In none of
/// them do several threads make calls at once.
const PROGRAMS: [&str; 7] = [
    "memory", "graph", "texture", "pool", "system", "grid", "transfer",
];

/// A program in a folder of its own.
struct Program {
    folder: tempfile::TempDir,
    path: std::path::PathBuf,
    gpu: &'static str,
}

/// How a program has ended.
struct Ended {
    status: Option<i32>,
    out: String,
    err: String,
    /// The result without what differs from run to run.
    result: Option<Value>,
}

impl Program {
    /// A program of the other tests.
    fn of(name: &str, gpu: &'static str) -> Self {
        Self {
            folder: folder(),
            path: built(13).join(name),
            gpu,
        }
    }

    /// The program of this folder.
    fn own(gpu: &'static str) -> Self {
        let folder = folder();
        let path = compiled(folder.path(), "checkpoints/program.c");
        Self { folder, path, gpu }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn start(&self, arguments: &[&str], settings: Settings) -> Child {
        let settings = Settings {
            gpu: self.gpu.to_owned(),
            quiet: true,
            stats: Some("result.json".into()),
            ..settings
        };
        let _ = std::fs::remove_file(self.file("result.json"));
        started(self.folder.path(), &self.path, arguments, &settings)
    }

    fn run(&self, arguments: &[&str], settings: Settings) -> Ended {
        let child = self.start(arguments, settings);
        let output = child.wait_with_output().expect("it ends");
        Ended {
            status: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            result: self.result(),
        }
    }

    fn result(&self) -> Option<Value> {
        let text = std::fs::read_to_string(self.file("result.json")).ok()?;
        let mut result: Value = serde_json::from_str(&text).expect("whole");
        let fields = result.as_object_mut().expect("a table");
        for changing in [
            "wall_seconds",
            "cycles_per_second",
            "warp_instructions_per_second",
        ] {
            fields.remove(changing).expect(changing);
        }
        Some(result)
    }

    /// Checks that the program goes on from its checkpoint as it went without an interruption.
    fn goes_on(&self, arguments: &[&str], straight: &Ended, threads: usize) {
        let resumed = Settings {
            threads,
            ..resumed()
        };
        let ended = self.run(arguments, resumed);
        assert_eq!(ended.status, straight.status, "{}", ended.err);
        assert_eq!(ended.out, straight.out);
        assert_eq!(ended.err, straight.err);
        assert_eq!(ended.result, straight.result);
    }
}

fn saves() -> Settings {
    Settings {
        checkpoint: Some("program.ckpt".into()),
        ..Settings::default()
    }
}

fn resumed() -> Settings {
    Settings {
        resume: Some("program.ckpt".into()),
        ..Settings::default()
    }
}

/// The program of this folder, with a checkpoint of its middle, and how it ends without one.
fn saved_half_way() -> (Program, Ended) {
    let program = Program::own("gtx480");
    let straight = program.run(&[], Settings::default());
    let cut = Settings {
        max_cycles: Some(cycles(&straight) / 2),
        ..saves()
    };
    program.run(&[], cut);
    (program, straight)
}

fn cycles(ended: &Ended) -> u64 {
    let result = ended.result.as_ref().expect("a result");
    result["totals"]["cycles"].as_u64().expect("timed")
}

/// Each program is cut at several cycles: within launches, between them, and while several run.
#[test]
fn programs_go_on_from_any_cycle() {
    for (at, name) in PROGRAMS.into_iter().enumerate() {
        let program = Program::of(name, GPUS[at % GPUS.len()]);
        let straight = program.run(&[], Settings::default());
        assert_eq!(straight.status, Some(0), "{name}: {}", straight.err);
        let all = cycles(&straight);
        for part in 1..4 {
            let cut = Settings {
                max_cycles: Some(all * part / 4),
                ..saves()
            };
            // How the program ends when its calls fail is its own affair.
            program.run(&[], cut);
            program.goes_on(&[], &straight, 1 + part as usize % 2);
            std::fs::remove_file(program.file("program.ckpt")).expect("it was there");
        }
    }
}

/// The example of a sampled program, with 142 launches, is cut in the middle.
#[test]
fn the_example_goes_on() {
    for gpu in GPUS {
        let folder = folder();
        let path = folder.path().join("cg");
        if example::built("conjugate-gradient/cg.cu", &path).is_none() {
            return;
        }
        let program = Program { folder, path, gpu };
        let arguments = ["32", "20"];
        let straight = program.run(&arguments, Settings::default());
        assert_eq!(straight.status, Some(0), "{}", straight.err);
        let cut = Settings {
            max_cycles: Some(cycles(&straight) / 2),
            ..saves()
        };
        program.run(&arguments, cut);
        program.goes_on(&arguments, &straight, 1);
    }
}

/// The program is killed, and goes on from the last checkpoint that it has written.
#[test]
fn a_killed_program_goes_on() {
    for gpu in GPUS {
        let program = Program::own(gpu);
        let straight = program.run(&[], Settings::default());
        assert_eq!(straight.status, Some(0), "{}", straight.out);
        std::fs::write(program.file("wait"), "").expect("written");
        let every = Settings {
            checkpoint_every: Some(cycles(&straight) / 11),
            ..saves()
        };
        let mut child = program.start(&[], every);
        until_half(&mut child);
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        std::fs::remove_file(program.file("wait")).expect("it was there");
        assert_eq!(program.result(), None);
        program.goes_on(&[], &straight, 1);
    }
}

/// Reads what the program prints until it is half done.
fn until_half(child: &mut Child) {
    let out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut lines = out.lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "half"), "it ends before");
}

/// The simulation waits for the program when the signal comes.
#[test]
fn a_program_that_a_signal_ends_between_launches_goes_on() {
    for gpu in GPUS {
        let program = Program::own(gpu);
        let straight = program.run(&[], Settings::default());
        std::fs::write(program.file("wait"), "").expect("written");
        let mut child = program.start(&[], saves());
        until_half(&mut child);
        let kill = format!("kill -TERM {}", child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.expect("a shell").success());
        let mut told = String::new();
        let mut err = child.stderr.take().expect("a pipe");
        err.read_to_string(&mut told).expect("text");
        assert_eq!(child.wait().expect("it ends").code(), Some(130), "{told}");
        assert_eq!(told, "warploom: INTERRUPTED between launches\n");
        std::fs::remove_file(program.file("wait")).expect("it was there");
        program.goes_on(&[], &straight, 2);
    }
}

/// A program that makes other calls than before is refused, with the first of them.
#[test]
fn other_programs_are_refused() {
    let (program, _) = saved_half_way();
    for (what, told) in [
        ("data", "a copy to the device, has other arguments or data"),
        ("launch", "a launch, has other arguments or data"),
        (
            "fill",
            " is an operation in a stream and was the wait for a stream",
        ),
        ("shorter", " is the end of the program and was a launch"),
    ] {
        let ended = program.run(&[what], resumed());
        assert_eq!(ended.status, Some(2), "{what}: {}", ended.err);
        let begin = "warploom: cannot go on from program.ckpt: the program or its input differs \
                     from that of the checkpoint: call ";
        assert!(ended.err.starts_with(begin), "{what}: {}", ended.err);
        assert!(ended.err.contains(told), "{what}: {}", ended.err);
        assert!(ended.err.contains("; give the same "), "{}", ended.err);
        assert_eq!(ended.result, None);
    }
    let other = Program {
        gpu: "qv100-volta",
        ..program
    };
    let ended = other.run(&[], resumed());
    assert_eq!(ended.status, Some(2), "{}", ended.err);
    let told = "others differ, as for another `--gpu`; give the same values";
    assert!(ended.err.contains(told), "{}", ended.err);
}

#[test]
fn other_files_and_what_cannot_be_saved_are_refused() {
    let program = Program::own("gtx480");
    let cut = Settings {
        max_cycles: Some(20_000),
        ..saves()
    };
    program.run(&[], cut);
    let bytes = std::fs::read(program.file("program.ckpt")).expect("a checkpoint");
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    let half = &bytes[..bytes.len() / 2];
    for (bytes, reason) in [
        (
            &b"no checkpoint"[..],
            "the file is no checkpoint of Warploom",
        ),
        (half, "the checkpoint is cut off"),
        (&damaged, "the checkpoint is damaged"),
    ] {
        std::fs::write(program.file("program.ckpt"), bytes).expect("written");
        let ended = program.run(&[], resumed());
        assert!(ended.err.contains(reason), "{}", ended.err);
        assert_eq!(ended.result, None);
    }
    std::fs::remove_file(program.file("program.ckpt")).expect("it was there");
    let ended = program.run(&[], resumed());
    assert!(ended.err.contains("there is no such file"), "{}", ended.err);
    let sampled = Settings {
        sample_error: Some(0.02),
        ..saves()
    };
    let ended = program.run(&[], sampled);
    let told = "warploom: a sampled program cannot be saved in checkpoints; leave it out\n";
    assert_eq!((ended.status, ended.err.as_str()), (Some(2), told));
}

/// A fork goes on with another policy, and the program has the results that it has to have.
#[test]
fn a_program_is_forked() {
    let (program, straight) = saved_half_way();
    let fork = Settings {
        set: vec!["sm.warp_scheduler=rrr".to_owned()],
        fork: true,
        ..resumed()
    };
    let ended = program.run(&[], fork);
    assert_eq!(ended.status, Some(0), "{}", ended.err);
    let result = ended.result.expect("a result");
    assert_eq!(result["fork"]["cycle"], cycles(&straight) / 2);
    let rounds = |out: &str| out.split(" after ").next().map(str::to_owned);
    assert_eq!(rounds(&ended.out), rounds(&straight.out));
}
