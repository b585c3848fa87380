//! Parser of `kernel`: code of many threads that depend on each other, with values for each thread.

use crate::forms::job::{Buffer, Input, Job, Output};
use crate::forms::texture::Bound;
use crate::forms::value::{Expect, Kind};
use warploom_base::Dim3;

/// Parses a kernel: the forms that it covers, then its lines with their numbers.
pub fn read(line: usize, covers: &str, lines: &[(usize, &str)]) -> Result<Job, String> {
    let covers: Vec<String> = covers
        .split(',')
        .map(|form| form.trim().to_owned())
        .collect();
    let mut job = Job {
        line,
        title: covers.join(", "),
        covers,
        grid: Dim3::new(1, 1, 1),
        block: Dim3::new(32, 1, 1),
        ..Job::default()
    };
    let mut in_module = false;
    for &(line, text) in lines {
        let (key, rest) = text.split_once(' ').unwrap_or((text, ""));
        let done = match key {
            "|" if in_module => {
                job.module += &format!("{rest}\n");
                Ok(())
            }
            "|" => {
                job.code += &format!("{rest}\n");
                Ok(())
            }
            "module" | "code" => {
                in_module = key == "module";
                Ok(())
            }
            _ => setting(&mut job, line, key, rest.trim()),
        };
        done.map_err(|error| format!("{line}: {error}"))?;
    }
    match job.covers.iter().find(|form| !names(&job, form)) {
        Some(form) => Err(format!("{line}: the code has no `{form}`")),
        None => Ok(job),
    }
}

/// True if the code contains a form as a whole word.
fn names(job: &Job, form: &str) -> bool {
    let words = |text: &str| text.split([' ', ';', '\n', '\t']).any(|word| word == form);
    words(&job.code) || words(&job.module)
}

fn setting(job: &mut Job, line: usize, key: &str, rest: &str) -> Result<(), String> {
    match key {
        "grid" => job.grid = dim(rest)?,
        "block" => job.block = dim(rest)?,
        "cluster" => job.cluster = Some(dim(rest)?),
        "shared" => {
            job.dynamic_shared = rest.parse().map_err(|_| format!("`{rest}` is no size"))?
        }
        "fault" => job.fault = Some(rest.to_owned()),
        "in" => {
            let (name, kind, values) = declaration(rest)?;
            let values = values.iter().map(|value| kind.literal(value));
            let values = values.collect::<Result<Vec<u64>, _>>()?;
            check_count(job, values.len())?;
            job.inputs.push(Input { name, kind, values });
        }
        "out" | "sorted" => {
            let (name, kind, values) = declaration(rest)?;
            let expect = values.iter().map(|value| Ok((line, kind.expect(value)?)));
            let expect = expect.collect::<Result<Vec<_>, String>>()?;
            check_count(job, expect.len())?;
            job.outputs.push(Output {
                name,
                kind,
                expect,
                sorted: key == "sorted",
            });
        }
        "mem" => {
            let (name, kind, values) = declaration(rest)?;
            let initial = values.iter().map(|value| kind.literal(value));
            job.buffers.push(Buffer {
                name,
                kind,
                initial: initial.collect::<Result<_, _>>()?,
                after: None,
            });
        }
        "texture" => job.textures.push(Bound::parse(rest)?),
        "after" => after(job, line, rest)?,
        _ => return Err(format!("unknown line `{key}`")),
    }
    Ok(())
}

fn after(job: &mut Job, line: usize, rest: &str) -> Result<(), String> {
    let (name, values) = rest.split_once('=').ok_or("`=` is missing")?;
    let textures = job.textures.iter_mut().map(|texture| &mut texture.memory);
    let mut all = job.buffers.iter_mut().chain(textures);
    let buffer = all.find(|buffer| buffer.name == name.trim());
    let buffer = buffer.ok_or(format!("no `mem {name}` and no `texture {name}`"))?;
    let values = list(values)?;
    if values.len() != buffer.initial.len() {
        return Err(format!(
            "{} values for {} elements",
            values.len(),
            buffer.initial.len()
        ));
    }
    let expect = values.iter().map(|value| buffer.kind.expect(value));
    let expect = expect.collect::<Result<Vec<Expect>, String>>()?;
    buffer.after = Some((line, expect));
    Ok(())
}

fn check_count(job: &Job, found: usize) -> Result<(), String> {
    let threads = (job.grid.count() * job.block.count()) as usize;
    if found == threads {
        Ok(())
    } else {
        Err(format!("{found} values for {threads} threads"))
    }
}

/// Parses a declaration `name:type = values`.
fn declaration(text: &str) -> Result<(String, Kind, Vec<String>), String> {
    let (head, values) = text.split_once('=').ok_or("`=` is missing")?;
    let (name, ty) = head
        .trim()
        .split_once(':')
        .ok_or("`:` and a type are missing")?;
    Ok((name.to_owned(), Kind::parse(ty)?, list(values)?))
}

/// Parses extents such as `8`, `4x2` or `4x2x2`.
fn dim(text: &str) -> Result<Dim3, String> {
    let parts: Result<Vec<u32>, _> = text.split('x').map(str::parse).collect();
    match parts.as_deref() {
        Ok([x]) => Ok(Dim3::new(*x, 1, 1)),
        Ok([x, y]) => Ok(Dim3::new(*x, *y, 1)),
        Ok([x, y, z]) => Ok(Dim3::new(*x, *y, *z)),
        _ => Err(format!("`{text}` is no extent")),
    }
}

/// Parses values separated by spaces: `7*32` is 32 times 7, `0..31` is all from 0 to 31, `0..62/2`
/// is every second, and `(0 1)*16` repeats the group 16 times.
pub fn list(text: &str) -> Result<Vec<String>, String> {
    let (mut values, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        let (group, tail) = match rest.strip_prefix('(') {
            Some(inner) => {
                let (inner, tail) = inner
                    .rsplit_once(')')
                    .map_or(Err("`)` is missing"), |_| closing(inner))?;
                (list(inner)?, tail)
            }
            None => {
                let end = rest.find([' ', '*']).unwrap_or(rest.len());
                (range(&rest[..end])?, &rest[end..])
            }
        };
        let (times, tail) = match tail.strip_prefix('*') {
            Some(tail) => {
                let end = tail.find(' ').unwrap_or(tail.len());
                let times: usize = tail[..end]
                    .parse()
                    .map_err(|_| format!("bad count in `{text}`"))?;
                (times, &tail[end..])
            }
            None => (1, tail),
        };
        for _ in 0..times {
            values.extend_from_slice(&group);
        }
        rest = tail.trim_start();
    }
    Ok(values)
}

/// Splits at the parenthesis that closes the group.
fn closing(text: &str) -> Result<(&str, &str), &'static str> {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 {
            return Ok((&text[..at], &text[at + 1..]));
        }
    }
    Err("`)` is missing")
}

fn range(text: &str) -> Result<Vec<String>, String> {
    let Some((first, rest)) = text.split_once("..") else {
        return Ok(vec![text.to_owned()]);
    };
    let (last, step) = rest.split_once('/').unwrap_or((rest, "1"));
    let number = |text: &str| {
        text.parse::<i64>()
            .map_err(|_| format!("`{text}` is no number"))
    };
    let (first, last, step) = (number(first)?, number(last)?, number(step)?);
    let count = (last - first).abs() / step;
    let sign = (last - first).signum() * step;
    Ok((0..=count)
        .map(|index| (first + sign * index).to_string())
        .collect())
}

#[test]
fn lists_are_written_out() {
    let values = |text: &str| list(text).map(|values| values.join(" "));
    assert_eq!(values("7*3 1.5").as_deref(), Ok("7 7 7 1.5"));
    assert_eq!(values("0..3 6..0/3").as_deref(), Ok("0 1 2 3 6 3 0"));
    assert_eq!(
        values("(0 (1 2)*2)*2 9").as_deref(),
        Ok("0 1 2 1 2 0 1 2 1 2 9")
    );
    assert!(list("(1").is_err() && list("1..x").is_err());
}
