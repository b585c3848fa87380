//! Conversion of words to options with values. The last value of an option wins, `-config FILE` is
//! replaced by the words of that file, and words that are no options are collected.

use super::lexer::{Word, words};
use super::number::whole;
use super::options::{Kind, OPTIONS, find, names};
use super::{DEFAULTS, Place, ReadFile};
use crate::read::Layers;
use crate::spec::ModelStyle;
use warploom_diag::{Diagnostic, Source, nearest};

/// Largest depth of included files; deeper ones include themselves.
const MAX_DEPTH: usize = 16;

/// Largest number of files; a configuration has a few.
const MAX_FILES: usize = 256;
const MAX_WORDS: usize = 1 << 16;

/// Largest number of unknown options for which a similar name is looked for.
const MAX_HINTS: usize = 100;

/// Value of an option.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub text: String,
    /// Place of the name of the option.
    pub key: Place,
    /// Place of the value, or of the name of a switch without a value.
    pub value: Place,
    /// Name under which it was given; `None` for a default.
    pub given_as: Option<String>,
}

/// Options with the sizes of an adaptive L1D.
pub(super) const ADAPTIVE: [&str; 2] = ["-gpgpu_shmem_option", "-gpgpu_unified_l1d_size"];

/// Size in bytes of a cache with the string `S:sets:line:ways,...`.
fn l1d_bytes(text: &str) -> Option<i64> {
    let (shape, _) = text.split_once(',')?;
    let mut numbers = shape
        .split(':')
        .skip(1)
        .map(|number| number.parse::<i64>().ok());
    let [sets, line, ways] = [numbers.next()??, numbers.next()??, numbers.next()??];
    sets.checked_mul(line)?.checked_mul(ways)?.checked_mul(4)?;
    Some(sets * line * ways)
}

/// Word that is no option, with the words after it.
#[derive(Clone, Debug)]
pub(super) struct Unknown {
    pub words: Vec<String>,
    pub place: Place,
    pub near: Option<&'static str>,
}

/// Values of options by row of the table.
pub(super) struct Settings {
    pub rows: Vec<Option<Setting>>,
    pub unknown: Vec<Unknown>,
}

impl Unknown {
    /// Guess of what was meant.
    pub fn text(&self) -> String {
        match self.near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "no option of GPGPU-Sim 3.2.2 or 4.2".to_owned(),
        }
    }
}

impl Settings {
    /// Value of an option; `None` if it has neither a value nor a default.
    pub fn get(&self, name: &str) -> Option<&Setting> {
        let row = find(name).unwrap_or_else(|| panic!("{name} is not in the table"));
        self.rows[row].as_ref()
    }

    /// Value of an option that has a default.
    pub fn of(&self, name: &str) -> &Setting {
        self.get(name)
            .unwrap_or_else(|| panic!("{name} has no default"))
    }

    /// Sizes of an adaptive L1D for a file without them, as of GPGPU-Sim 4.0.0, which has them in
    /// its source (`shader_core_config::max_cta`). L1D can grow to four times its configured size,
    /// and shared memory takes 0, 8, 16, 32, 64 KiB or its largest size.
    pub fn adaptive_sizes(&self) -> Option<[(&'static str, String); 2]> {
        let given = |name| self.get(name).is_some();
        let asked = self.get("-gpgpu_adaptive_cache_config")?;
        if whole(&asked.text) != Some(1) || ADAPTIVE.iter().any(|name| given(name)) {
            return None;
        }
        let shared = whole(&self.get("-gpgpu_shmem_size")?.text)? / 1024;
        let below = [0, 8, 16, 32, 64].into_iter();
        let options = below.filter(|kib| *kib < shared).chain([shared]);
        let options: Vec<String> = options.map(|kib| kib.to_string()).collect();
        let configured = l1d_bytes(&self.get("-gpgpu_cache:dl1")?.text)?;
        let unified = 4 * configured / 1024;
        Some([
            (ADAPTIVE[0], options.join(",")),
            (ADAPTIVE[1], unified.to_string()),
        ])
    }

    /// Adds the defaults of a version. They are in a text of their own, so that a problem with one
    /// of them has a place.
    pub fn fill_defaults(&mut self, layers: &mut Layers, style: ModelStyle) {
        let name = match style {
            ModelStyle::V3 => "GPGPU-Sim 3.2.2's defaults",
            ModelStyle::V4 => "GPGPU-Sim 4.2's defaults",
        };
        let source = DEFAULTS;
        let mut text = String::new();
        let adaptive = self.adaptive_sizes();
        for (row, slot) in OPTIONS.iter().zip(&mut self.rows) {
            let default = match style {
                ModelStyle::V3 => row.v3,
                ModelStyle::V4 => row.v4,
            };
            let Some(default) = default else { continue };
            let mut sizes = adaptive.iter().flatten();
            let size = sizes.find(|(name, _)| *name == row.name);
            let default = size.map_or(default, |(_, size)| size.as_str());
            let key = Place::new(source, text.len(), row.name.len());
            text.push_str(row.name);
            text.push(' ');
            let value = Place::new(source, text.len(), default.len());
            text.push_str(default);
            text.push('\n');
            slot.get_or_insert(Setting {
                text: default.to_owned(),
                key,
                value,
                given_as: None,
            });
        }
        layers.sources[DEFAULTS] = Source::new(name, text);
    }
}

/// Reads a file and the files that it includes.
pub(super) fn read(layers: &mut Layers, source: Source, files: &mut ReadFile<'_>) -> Settings {
    let settings = Settings {
        rows: vec![None; OPTIONS.len()],
        unknown: Vec::new(),
    };
    let mut reader = Reader {
        layers,
        files,
        settings,
        files_read: 0,
        words_read: 0,
        stopped: false,
    };
    reader.file(source, 0);
    reader.settings
}

struct Reader<'a, 'b> {
    layers: &'a mut Layers,
    files: &'a mut ReadFile<'b>,
    settings: Settings,
    files_read: usize,
    words_read: usize,
    /// True if too much was read, so that reading stopped.
    stopped: bool,
}

impl Reader<'_, '_> {
    fn file(&mut self, source: Source, depth: usize) {
        let (words, problem) = words(&source);
        let index = self.layers.sources.len();
        self.layers.sources.push(source);
        self.layers
            .problems
            .extend(problem.map(|problem| (index, problem)));
        self.files_read += 1;
        self.words_read += words.len();
        if self.words_read > MAX_WORDS || self.files_read > MAX_FILES {
            let place = Place::new(index, 0, 0);
            self.refuse(place, "too much to read", "give a file of options");
            self.stopped = true;
        }
        let mut rest = words.as_slice();
        while let Some((word, following)) = rest.split_first() {
            if self.stopped {
                return;
            }
            rest = match (word.text.as_str(), find(&word.text)) {
                ("-config", _) => self.include(index, word, following, depth),
                (_, Some(row)) => self.option(index, row, word, following),
                _ => self.unknown(index, word, following),
            };
        }
    }

    fn include<'w>(
        &mut self,
        index: usize,
        word: &Word,
        following: &'w [Word],
        depth: usize,
    ) -> &'w [Word] {
        let place = Place::of(index, word);
        let Some((path, following)) = following.split_first() else {
            self.refuse(place, "`-config` without a file", "name the file after it");
            return following;
        };
        let place = Place::of(index, path);
        if depth == MAX_DEPTH {
            self.refuse(
                place,
                "files that include each other",
                "remove this `-config`",
            );
            return following;
        }
        let from = self.layers.sources[index].name().to_owned();
        match (self.files)(&from, &path.text) {
            Ok(source) => self.file(source, depth + 1),
            Err(reason) => self.refuse(place, &reason, "paths are relative to this file"),
        }
        following
    }

    fn option<'w>(
        &mut self,
        index: usize,
        row: usize,
        word: &Word,
        following: &'w [Word],
    ) -> &'w [Word] {
        let kind = OPTIONS[row].kind;
        let key = Place::of(index, word);
        let number = |word: &Word| whole(&word.text).is_some();
        let (text, value, rest) = match (kind, following.split_first()) {
            (Kind::Flag, Some((first, rest))) if number(first) => {
                (first.text.clone(), Place::of(index, first), rest)
            }
            (Kind::Flag, _) => ("1".to_owned(), key, following),
            (_, Some((first, rest))) if find(&first.text).is_none() => {
                (first.text.clone(), Place::of(index, first), rest)
            }
            _ => {
                let reason = format!("`{}` without a value", word.text);
                self.refuse(key, &reason, "write the value after it");
                return following;
            }
        };
        let problem = match kind {
            Kind::Flag if !matches!(whole(&text), Some(0 | 1)) => Some("write 0 or 1"),
            Kind::Int if whole(&text).is_none() => {
                Some("write a whole number: decimal, 0x hexadecimal, or octal after a 0")
            }
            _ => None,
        };
        if let Some(help) = problem {
            let reason = format!("`{text}` is no value of `{}`", word.text);
            self.refuse(value, &reason, help);
            return rest;
        }
        self.settings.rows[row] = Some(Setting {
            text,
            key,
            value,
            given_as: Some(word.text.clone()),
        });
        rest
    }

    /// Collects a word that is no option, with the words after it up to the next option.
    fn unknown<'w>(&mut self, index: usize, word: &Word, following: &'w [Word]) -> &'w [Word] {
        let ends = |next: &Word| {
            let mut chars = next.text.chars();
            chars.next() == Some('-') && chars.next().is_some_and(char::is_alphabetic)
        };
        let count = following.iter().position(ends).unwrap_or(following.len());
        let (own, rest) = following.split_at(count);
        let all = std::iter::once(word).chain(own);
        let words = all.map(|word| word.text.clone()).collect();
        let hint = self.settings.unknown.len() < MAX_HINTS;
        self.settings.unknown.push(Unknown {
            words,
            place: Place::of(index, word),
            near: hint.then(|| near(&word.text)).flatten(),
        });
        rest
    }

    fn refuse(&mut self, place: Place, reason: &str, help: &str) {
        let problem = Diagnostic::error("bad-option", place.span, reason).help(help);
        self.layers.problems.push((place.source, problem));
    }
}

/// Finds the option that was probably meant.
fn near(name: &str) -> Option<&'static str> {
    let bounded = name.starts_with('-') && name.len() < 80;
    bounded.then(|| nearest(name, names())).flatten()
}
