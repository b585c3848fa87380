//! Links of PTX texts (`cuLink*`). NVIDIA's driver makes machine code of them; here the linked
//! module is a text with the declarations and definitions of all.

use crate::context::Context;
use crate::driver::target_of;
use crate::error::{Cuda, CudaError};

/// A link in progress.
#[derive(Default)]
pub(crate) struct Link {
    texts: Vec<String>,
    /// Linked text with a zero at its end.
    image: Vec<u8>,
}

/// Functions of CUDA's device runtime that a link may need. NVIDIA's library with them
/// (`libcudadevrt.a`) has machine code.
const DEVICE_RUNTIME: &str = include_str!("link/grid.ptx");

/// True for the archive of CUDA's device runtime, which is known by the name of its member.
fn is_device_runtime(bytes: &[u8]) -> bool {
    let name = b"cuda_device_runtime.o";
    bytes.starts_with(b"!<arch>\n") && bytes.windows(name.len()).any(|part| part == name)
}

/// Directives of which a module has one each, before all others.
const HEADER: [&str; 3] = [".version", ".target", ".address_size"];

/// Line with a directive of the header in a text, or none.
fn header_line<'t>(text: &'t str, directive: &str) -> Option<&'t str> {
    let mut lines = text.lines().map(str::trim_start);
    lines.find(|line| line.starts_with(directive))
}

/// Version of PTX that a text states.
fn version_of(text: &str) -> (u32, u32) {
    let line = header_line(text, ".version").unwrap_or("");
    let number = line.split_whitespace().nth(1).unwrap_or("");
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    (major.parse().unwrap_or(0), minor.parse().unwrap_or(0))
}

/// Joins the contents of several texts. Its version and its target are the newest of all.
fn join(texts: &[String]) -> String {
    let [first, _, ..] = texts else {
        return texts.first().cloned().unwrap_or_default();
    };
    let newest = texts.iter().max_by_key(|text| version_of(text));
    let target = texts.iter().max_by_key(|text| target_of(text));
    let sources = [newest, target, Some(first)].into_iter().zip(HEADER);
    let header = sources.filter_map(|(text, directive)| header_line(text?, directive));
    let is_header = |line: &&str| HEADER.iter().any(|own| line.trim_start().starts_with(own));
    let bodies = texts.iter().flat_map(|text| text.lines());
    let lines = header.chain(bodies.filter(|line| !is_header(line)));
    lines.flat_map(|line| [line, "\n"]).collect()
}

impl Context {
    /// Begins a link (`cuLinkCreate`).
    pub fn create_link(&mut self) -> u64 {
        let link = self.handle();
        self.links.insert(link, Link::default());
        link
    }

    /// Link with this handle.
    fn link(&mut self, link: u64) -> Cuda<&mut Link> {
        let own = self.links.get_mut(&link);
        own.ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// Adds a PTX text to a link.
    pub fn add_to_link(&mut self, link: u64, mut text: Vec<u8>) -> Cuda {
        text.retain(|byte| *byte != 0);
        let text = String::from_utf8(text).map_err(|_| CudaError::INVALID_PTX)?;
        self.link(link)?.texts.push(text);
        Ok(())
    }

    /// Adds a library of device code to a link. That of CUDA's device runtime is replaced by a text
    /// with its barrier of cooperative launches.
    ///
    /// # Errors
    /// Other libraries are not supported.
    pub fn add_library_to_link(&mut self, link: u64, bytes: &[u8]) -> Cuda {
        if !is_device_runtime(bytes) {
            return Err(self.unsupported("a link with a library of machine code"));
        }
        self.add_to_link(link, DEVICE_RUNTIME.into())
    }

    /// Links the texts that were added (`cuLinkComplete`). The result ends with a zero and stays in
    /// place until the link is destroyed or completed again.
    ///
    /// # Errors
    /// The link has no text.
    pub fn linked(&mut self, link: u64) -> Cuda<&[u8]> {
        let own = self.link(link)?;
        if own.texts.is_empty() {
            return Err(CudaError::INVALID_VALUE);
        }
        own.image = join(&own.texts).into_bytes();
        own.image.push(0);
        Ok(&own.image)
    }

    /// Ends a link (`cuLinkDestroy`).
    pub fn destroy_link(&mut self, link: u64) -> Cuda {
        let own = self.links.remove(&link);
        own.map(|_| ()).ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }
}

#[cfg(test)]
mod tests {
    use super::{DEVICE_RUNTIME, is_device_runtime, join};

    #[test]
    fn one_text_stays_as_it_is() {
        let text = "// a comment\n.version 7.0\n.target sm_70\n".to_owned();
        assert_eq!(join(std::slice::from_ref(&text)), text);
        assert_eq!(join(&[]), "");
    }

    #[test]
    fn the_device_runtime_is_known_by_its_member() {
        assert!(is_device_runtime(b"!<arch>\n cuda_device_runtime.o/ "));
        assert!(!is_device_runtime(b"!<arch>\n"));
        assert!(!is_device_runtime(DEVICE_RUNTIME.as_bytes()));
    }

    #[test]
    fn several_texts_have_one_header() {
        let caller = ".version 9.0\n.target sm_75\n.address_size 64\n.extern .func f;\n";
        let callee = "  .version 10.1\n.target sm_86, debug\n.address_size 64\n.func f { ret; }\n";
        let expected = ".version 10.1\n.target sm_86, debug\n.address_size 64\n.extern .func f;\n\
                        .func f { ret; }\n";
        assert_eq!(join(&[caller.to_owned(), callee.to_owned()]), expected);
    }
}
