//! Machines that run cases: a GPU or Warploom. Several cases share a module, because a GPU's driver
//! takes far longer to load a module than to run it. A form that is refused is removed from the
//! module of the others.

use anyhow::{Error, Result};

use super::case::{Case, module};

/// Loads a module and runs its kernels.
pub trait Machine {
    /// Compiles a module, which replaces the previous one.
    fn load(&mut self, text: &str) -> Result<()>;

    /// Runs kernel `k{number}` of the module and returns the bytes of all results.
    fn run(&mut self, number: usize, case: &Case, input: &[u8]) -> Result<Vec<u8>>;
}

/// A case and the bytes of its operands.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub case: &'a Case,
    pub input: &'a [u8],
}

/// Results of each job, or the reason why there are none.
pub fn answers(
    machine: &mut dyn Machine,
    jobs: &[Job<'_>],
    version: &str,
) -> Vec<Result<Vec<u8>, String>> {
    let cases: Vec<&Case> = jobs.iter().map(|job| job.case).collect();
    let (text, starts) = module(&cases, version);
    match machine.load(&text) {
        Ok(()) => {
            let all = jobs.iter().enumerate();
            all.map(|(number, job)| {
                let result = machine.run(number, job.case, job.input);
                result.map_err(|error| short(&error))
            })
            .collect()
        }
        Err(error) if jobs.len() <= 1 => jobs.iter().map(|_| Err(short(&error))).collect(),
        Err(error) => apart(machine, jobs, version, &blamed(&short_all(&error), &starts)),
    }
}

/// Runs blamed jobs one by one, and the others together. If it is unknown which job is to blame,
/// runs each half.
fn apart(
    machine: &mut dyn Machine,
    jobs: &[Job<'_>],
    version: &str,
    blamed: &[bool],
) -> Vec<Result<Vec<u8>, String>> {
    let all = blamed.iter().all(|&is| is);
    if all || !blamed.contains(&true) {
        let (first, second) = jobs.split_at(jobs.len() / 2);
        let mut results = answers(machine, first, version);
        results.extend(answers(machine, second, version));
        return results;
    }
    let good = jobs.iter().zip(blamed).filter(|(_, blamed)| !**blamed);
    let good: Vec<Job<'_>> = good.map(|(job, _)| *job).collect();
    let mut good = answers(machine, &good, version).into_iter();
    let mut results = Vec::new();
    for (job, &blamed) in jobs.iter().zip(blamed) {
        if blamed {
            results.extend(answers(machine, &[*job], version))
        } else {
            results.extend(good.next())
        }
    }
    results
}

/// Which kernels, by their first lines, contain the lines that a message names.
fn blamed(message: &str, starts: &[usize]) -> Vec<bool> {
    let mut blamed = vec![false; starts.len()];
    for line in lines_named(message) {
        let kernel = starts.partition_point(|&start| start <= line);
        if let Some(blamed) = kernel.checked_sub(1).and_then(|k| blamed.get_mut(k)) {
            *blamed = true;
        }
    }
    blamed
}

/// Line numbers in messages of NVIDIA's assembler (`line 7;`) and of Warploom (`module.ptx:7:3`).
fn lines_named(message: &str) -> impl Iterator<Item = usize> {
    let numbers = |mark| {
        message.split(mark).skip(1).filter_map(|rest: &str| {
            let digits = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            rest[..digits].parse().ok()
        })
    };
    numbers("line ").chain(numbers("module.ptx:"))
}

fn short_all(error: &Error) -> String {
    format!("{error:#}")
}

/// The first line of a message that contains an error, without the place.
fn short(error: &Error) -> String {
    let all = short_all(error);
    let line = all
        .lines()
        .find(|line| line.contains("error"))
        .or(all.lines().next());
    let line = line.unwrap_or_default();
    let said = line.split_once("error").map_or(line, |(_, said)| said);
    said.trim_start_matches([' ', ':']).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use anyhow::{Result, ensure};

    use super::super::case::Case;
    use super::super::table::cases;
    use super::{Job, Machine, answers, blamed};

    /// A machine that refuses modules with a certain word, and names its line or does not.
    struct Picky {
        word: &'static str,
        says_where: bool,
        loads: usize,
    }

    impl Machine for Picky {
        fn load(&mut self, text: &str) -> Result<()> {
            self.loads += 1;
            let found = text.lines().position(|line| line.starts_with(self.word));
            let place = found.map_or(0, |line| line + 1);
            let shown = if self.says_where { place } else { 0 };
            ensure!(
                place == 0,
                "ptxas a, line {shown}; error : no {}",
                self.word
            );
            Ok(())
        }

        fn run(&mut self, number: usize, _: &Case, _: &[u8]) -> Result<Vec<u8>> {
            Ok(vec![number as u8])
        }
    }

    #[test]
    fn a_refused_form_leaves_the_others_alone() {
        let cases = cases();
        let wanted = cases.iter().filter(|case| case.name.starts_with("add.u"));
        let wanted: Vec<&Case> = wanted.chain(&cases[..5]).collect();
        let job = |case| Job { case, input: &[] };
        let jobs: Vec<Job<'_>> = wanted.into_iter().map(job).collect();
        for (says_where, most) in [(true, 3), (false, 2 * jobs.len())] {
            let mut machine = Picky {
                word: "add.u32 d0",
                says_where,
                loads: 0,
            };
            let results = answers(&mut machine, &jobs, "7.8");
            assert_eq!(results.len(), jobs.len());
            for (job, result) in jobs.iter().zip(&results) {
                let expected = job.case.name == "add.u32";
                assert_eq!(result.is_err(), expected, "{}: {result:?}", job.case.name);
            }
            assert!(machine.loads <= most, "{}", machine.loads);
        }
    }

    #[test]
    fn lines_are_those_of_both_assemblers() {
        let message = "ptxas application ptx input, line 12; error\n --> module.ptx:31:4\nline 2";
        assert_eq!(blamed(message, &[10, 20, 30]), [true, false, true]);
    }
}
