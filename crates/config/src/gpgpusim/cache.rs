//! Cache strings (docs/model/formats.md, Cache strings). FIFO and PORT may be left out; the number
//! of fields tells the versions apart. Meanings follow `cache_config::init` of GPGPU-Sim 4.2.

use super::convert::Draft;
use super::emit::OriginKind;
use super::number::whole;
use super::report::Class;
use crate::value::Raw;

const FORM: &str = "write kind:sets:line:ways,replacement:write:allocation:write miss:index,\
                    mshr:entries:merge,queue:fifo,port; `none` is no cache";

/// String of an absent cache.
const NOTHING: &str = "N:1:128:1,L:R:m:N:L,A:1:1,1";

const REPLACEMENT: &[(&str, &str)] = &[("L", "lru"), ("F", "fifo")];
const WRITE: &[(&str, &str)] = &[
    ("R", "read-only"),
    ("B", "write-back"),
    ("T", "write-through"),
    ("E", "write-evict"),
    ("L", "local-back-global-evict"),
];
const ALLOCATE: &[(&str, &str)] = &[("m", "on-miss"), ("f", "on-fill"), ("s", "streaming")];
const WRITE_MISS: &[(&str, &str)] = &[
    ("N", "none"),
    ("W", "write-and-read"),
    ("F", "fetch-on-write"),
    ("L", "lazy-fetch-on-read"),
];
const INDEX: &[(&str, &str)] = &[
    ("L", "linear"),
    ("H", "fermi-hash"),
    ("X", "xor"),
    ("P", "ipoly"),
    ("C", "linear"),
];
const MSHR: &[(&str, &str)] = &[
    ("A", "associative"),
    ("S", "sector-associative"),
    ("F", "texture-fifo"),
    ("T", "sector-texture-fifo"),
];

/// Fields of a parsed cache string.
#[derive(Clone, Debug, PartialEq)]
struct Cache {
    sectored: bool,
    numbers: [(&'static str, i64); 8],
    names: [(&'static str, &'static str); 6],
    /// True if the set index is GPGPU-Sim's empty hook.
    custom_index: bool,
}

impl Draft {
    pub(super) fn caches(&mut self) {
        let caches = [
            ("l1d", "-gpgpu_cache:dl1"),
            ("l1i", "-gpgpu_cache:il1"),
            ("l1c", "-gpgpu_const_cache:l1"),
            ("l1t", "-gpgpu_tex_cache:l1"),
            ("l2", "-gpgpu_cache:dl2"),
        ];
        for (name, option) in caches {
            self.cache(name, option);
        }
    }

    fn cache(&mut self, name: &str, option: &str) {
        let setting = self.settings.of(option).clone();
        let enabled = setting.text != "none";
        let text = if enabled { &setting.text } else { NOTHING };
        let mut cache = match parse(text) {
            Ok(cache) => cache,
            Err(reason) => return self.refuse(&setting, format!("`{option}`: {reason}"), FORM),
        };
        if name == "l1t" && !enabled {
            cache.numbers[6].1 = 1;
            cache.names[5].1 = "texture-fifo";
        }
        let key = |field: &str| format!("{name}.{field}");
        self.put(&key("enabled"), Raw::Bool(enabled), &setting, option);
        self.put(
            &key("sectored"),
            Raw::Bool(cache.sectored),
            &setting,
            option,
        );
        for (field, number) in cache.numbers {
            self.put(&key(field), Raw::Int(Some(number)), &setting, option);
        }
        for (field, choice) in cache.names {
            self.put(&key(field), Raw::Text(choice.to_owned()), &setting, option);
        }
        if cache.custom_index {
            let text = "the custom index is an empty hook; sets are chosen by the address's bits";
            self.outcome(option, Class::NotModelled, text);
        }
        if name != "l1d" {
            let none = Raw::Int(Some(0));
            self.own(
                &key("write_ratio_percent"),
                none,
                OriginKind::Source,
                "for L1D only",
            );
        }
    }
}

/// Fields of a cache string; those that it leaves out have their defaults.
struct Fields<'a> {
    kind: &'a str,
    sets: &'a str,
    line: &'a str,
    ways: &'a str,
    replacement: &'a str,
    write: &'a str,
    allocate: &'a str,
    write_miss: &'a str,
    index: &'a str,
    kind_of_mshr: &'a str,
    entries: &'a str,
    merge: &'a str,
    miss_queue: &'a str,
    fifo: &'a str,
    port: &'a str,
}

/// Splits a cache string into its fields.
fn split(text: &str) -> Result<Fields<'_>, String> {
    let groups: Vec<Vec<&str>> = text
        .split(',')
        .map(|group| group.split(':').map(str::trim).collect())
        .collect();
    let (shape, policies, mshr, queue, port) = match &groups[..] {
        [shape, policies, mshr, queue] => (shape, policies, mshr, queue, None),
        [shape, policies, mshr, queue, port] => (shape, policies, mshr, queue, Some(port)),
        _ => {
            return Err(format!(
                "4 or 5 groups belong between commas, not {}",
                groups.len()
            ));
        }
    };
    let (kind, sets, line, ways) = match shape[..] {
        [sets, line, ways] => ("N", sets, line, ways),
        [kind, sets, line, ways] => (kind, sets, line, ways),
        _ => return Err(fields("first", shape.len(), "3 or 4")),
    };
    let (replacement, write, allocate, write_miss, index) = match policies[..] {
        [replacement, write, allocate, miss] => (replacement, write, allocate, miss, "L"),
        [replacement, write, allocate, miss, index] => (replacement, write, allocate, miss, index),
        _ => return Err(fields("second", policies.len(), "4 or 5")),
    };
    let [kind_of_mshr, entries, merge] = mshr[..] else {
        return Err(fields("third", mshr.len(), "3"));
    };
    let (miss_queue, fifo) = match queue[..] {
        [queue] => (queue, "0"),
        [queue, fifo] => (queue, fifo),
        _ => return Err(fields("fourth", queue.len(), "1 or 2")),
    };
    let port = match port.map(|port| &port[..]) {
        None => "0",
        Some([port]) => port,
        Some(port) => return Err(fields("fifth", port.len(), "1")),
    };
    Ok(Fields {
        kind,
        sets,
        line,
        ways,
        replacement,
        write,
        allocate,
        write_miss,
        index,
        kind_of_mshr,
        entries,
        merge,
        miss_queue,
        fifo,
        port,
    })
}

/// Parses a cache string.
fn parse(text: &str) -> Result<Cache, String> {
    let Fields {
        kind,
        sets,
        line,
        ways,
        replacement,
        write,
        allocate,
        write_miss,
        index,
        kind_of_mshr,
        entries,
        merge,
        miss_queue,
        fifo,
        port,
    } = split(text)?;
    let sectored = match kind {
        "N" => false,
        "S" => true,
        _ => {
            return Err(format!(
                "`{kind}` is no kind of cache: N normal, S sectored"
            ));
        }
    };
    let line_bytes = number(line, "a line's size")?;
    let port_bytes = match number(port, "the port's width")? {
        0 => line_bytes,
        width => width,
    };
    Ok(Cache {
        sectored,
        numbers: [
            ("sets", number(sets, "a number of sets")?),
            ("line_bytes", line_bytes),
            ("ways", number(ways, "a number of ways")?),
            ("mshr_entries", number(entries, "a number of MSHRs")?),
            ("mshr_merge", number(merge, "a number of merged requests")?),
            ("miss_queue", number(miss_queue, "the miss queue's length")?),
            ("result_fifo", number(fifo, "the result FIFO's length")?),
            ("port_bytes", port_bytes),
        ],
        names: [
            (
                "replacement",
                letter(replacement, REPLACEMENT, "replacement")?,
            ),
            ("write", letter(write, WRITE, "write policy")?),
            ("allocate", letter(allocate, ALLOCATE, "allocation")?),
            (
                "write_allocate",
                letter(write_miss, WRITE_MISS, "write allocation")?,
            ),
            ("index", letter(index, INDEX, "set index")?),
            ("mshr", letter(kind_of_mshr, MSHR, "kind of MSHR")?),
        ],
        custom_index: index == "C",
    })
}

fn fields(group: &str, found: usize, wanted: &str) -> String {
    format!("{wanted} fields belong into the {group} group, not {found}")
}

fn number(text: &str, what: &str) -> Result<i64, String> {
    let number = whole(text).filter(|number| *number >= 0);
    number.ok_or_else(|| format!("`{text}` is not {what}"))
}

fn letter(
    text: &str,
    table: &'static [(&'static str, &'static str)],
    what: &str,
) -> Result<&'static str, String> {
    let found = table.iter().find(|(letter, _)| *letter == text);
    found.map(|(_, name)| *name).ok_or_else(|| {
        let known: Vec<_> = table
            .iter()
            .map(|(letter, name)| format!("{letter} {name}"))
            .collect();
        format!("`{text}` is no {what}: {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::{Cache, parse};

    fn field(cache: &Cache, name: &str) -> String {
        let number = cache.numbers.iter().find(|(field, _)| *field == name);
        let choice = cache.names.iter().find(|(field, _)| *field == name);
        match (number, choice) {
            (Some((_, number)), _) => number.to_string(),
            (_, Some((_, choice))) => (*choice).to_owned(),
            _ => panic!("no field {name}"),
        }
    }

    /// The same cache in the forms of 3.2.2, 3.2.3 and 4.x.
    #[test]
    fn the_three_forms_are_told_by_their_fields() {
        let old = parse("64:128:8,L:B:m:W,A:32:4,4:0,32").unwrap();
        assert_eq!(parse("64:128:8,L:B:m:W:L,A:32:4,4:0,32").unwrap(), old);
        assert_eq!(parse("N:64:128:8,L:B:m:W:L,A:32:4,4:0,32").unwrap(), old);
        let fields = [
            "sets",
            "ways",
            "write",
            "write_allocate",
            "index",
            "miss_queue",
            "port_bytes",
        ];
        let values = fields.map(|name| field(&old, name));
        assert_eq!(
            values,
            [
                "64",
                "8",
                "write-back",
                "write-and-read",
                "linear",
                "4",
                "32"
            ]
        );
        assert!(parse("S:64:128:8,L:B:m:W:L,A:32:4,4").unwrap().sectored);
    }

    #[test]
    fn what_is_left_out_at_the_end_is_the_line_and_no_fifo() {
        let cache = parse("4:128:24,L:R:m:N,F:128:4,128:2").unwrap();
        assert_eq!(field(&cache, "result_fifo"), "2");
        assert_eq!(field(&cache, "port_bytes"), "128");
        let cache = parse("4:128:4,L:R:f:N,A:2:32,4").unwrap();
        assert_eq!(field(&cache, "result_fifo"), "0");
        assert_eq!(
            field(
                &parse("N:4:64:4,L:R:f:N:L,A:2:32,4:0,0").unwrap(),
                "port_bytes"
            ),
            "64"
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("", "groups"),
            ("1:2:3,L:R:m:N,A:1:1", "groups"),
            ("1:2,L:R:m:N,A:1:1,1", "first"),
            ("1:2:3,L:R:m,A:1:1,1", "second"),
            ("1:2:3,L:R:m:N,A:1,1", "third"),
            ("1:2:3,L:R:m:N,A:1:1,1:2:3", "fourth"),
            ("1:2:3,L:R:m:N,A:1:1,1,2:3", "fifth"),
            ("Q:1:2:3,L:R:m:N,A:1:1,1", "kind of cache"),
            ("1:-2:3,L:R:m:N,A:1:1,1", "line"),
            ("1:2:3,l:R:m:N,A:1:1,1", "replacement"),
            ("1:2:3,L:R:m:N:Z,A:1:1,1", "set index"),
        ] {
            let reason = parse(text).unwrap_err();
            assert!(reason.contains(part), "{text}: {reason}");
        }
    }
}
