//! Elements that kernels access in buffers, as far as the caller knows them, and what is told where
//! a buffer has others.

use super::element::Element;
use super::plan::{ArgPlan, LaunchPlan, Plan};
use std::collections::BTreeSet;

/// Elements that a kernel accesses in a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Name of the kernel.
    pub kernel: String,
    /// Type of an element.
    pub element: Element,
    /// Name of this type in PTX, such as `b32`.
    pub ptx_type: &'static str,
    /// True if all accesses are vectors of elements.
    pub is_vector: bool,
}

impl Access {
    /// True if a buffer of such elements has the size that the kernel accesses. Vectors over
    /// smaller elements are accesses to several of these at a time.
    #[must_use]
    pub fn has_size_of(&self, element: Element) -> bool {
        let is_part = element.bytes() < self.element.bytes();
        element.bytes() == self.element.bytes() || (is_part && self.is_vector)
    }

    fn told(&self) -> String {
        let kernel = warploom_names::shortened(&self.kernel, warploom_names::WIDTH);
        format!("`{kernel}` accesses {} there", self.ptx_type)
    }
}

impl Plan {
    /// Adds to each buffer what kernels access in it. `known` tells it for a kernel's parameter:
    /// name of the kernel, and number of the parameter from 0.
    pub fn add_accesses(&mut self, mut known: impl FnMut(&str, usize) -> Option<Access>) {
        for launch in &self.launches {
            for (at, (arg, _)) in launch.args.iter().enumerate() {
                let ArgPlan::Buffer(name) = arg else { continue };
                let mut buffers = self.buffers.iter_mut();
                let Some(buffer) = buffers.find(|buffer| buffer.name == *name) else {
                    continue;
                };
                let access = known(&launch.kernel.0, at);
                let new = access.filter(|access| !buffer.accesses.contains(access));
                buffer.accesses.extend(new);
            }
        }
    }
}

/// The clause on a buffer with elements of type `given`, where a kernel accesses another size.
pub(super) fn misread(buffer: &str, given: Element, access: &Access) -> String {
    format!(
        "; buffer `{buffer}` has elements of type {}, and {}",
        given.name(),
        access.told()
    )
}

/// Names of the buffers on which the contents of `buffer` may depend: those of launches that take
/// it, and of earlier launches that take one of these.
pub(super) fn influences<'a>(plan: &'a Plan, buffer: &'a str) -> BTreeSet<&'a str> {
    let mut known = BTreeSet::from([buffer]);
    for launch in plan.launches.iter().rev() {
        let taken = taken(launch);
        if taken.iter().any(|name| known.contains(name)) {
            known.extend(taken);
        }
    }
    known
}

/// Names of the buffers that a launch takes as arguments or in structures.
fn taken(launch: &LaunchPlan) -> Vec<&str> {
    let parts = launch.args.iter().flat_map(|(arg, _)| match arg {
        ArgPlan::Struct(members) => members.as_slice(),
        other => std::slice::from_ref(other),
    });
    let names = parts.filter_map(|part| match part {
        ArgPlan::Buffer(name) => Some(name.as_str()),
        _ => None,
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::Access;
    use crate::launch_file::{Element, LaunchFile, Limits, parse};
    use crate::{Device, HostAction, HostProgram};
    use warploom_diag::Source;

    fn access(element: Element, ptx_type: &'static str) -> Access {
        Access {
            kernel: "k".to_owned(),
            element,
            ptx_type,
            is_vector: false,
        }
    }

    const MODULE: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
        .visible .entry k(.param .u64 p, .param .u64 q) { ret; }\n\
        .visible .entry pair(.param .align 8 .b8 p[16]) { ret; }\n";

    /// Detail of the check that all elements of `out`, which are 0, have a value. Kernels access
    /// u32 in all buffers, of which `wide` and `far` are i64.
    fn checked(launches: &[(&str, &str)], value: u32) -> String {
        let limits = Limits {
            shared_bytes: 49_152,
            registers_per_thread: 63,
        };
        let buffers = [
            ("out", "u32"),
            ("link", "u32"),
            ("wide", "i64"),
            ("far", "i64"),
        ];
        let mut text = "module = \"k.ptx\"\n".to_owned();
        for (name, ty) in buffers {
            text += &format!("[[buffer]]\nname = \"{name}\"\ntype = \"{ty}\"\nshape = 4\n");
        }
        for (kernel, args) in launches {
            text += &format!(
                "[[launch]]\nkernel = \"{kernel}\"\ngrid = 1\nblock = 1\nargs = [{args}]\n"
            );
        }
        text += &format!("[[expect]]\nbuffer = \"out\"\nconstant = {value}\n");
        let source = Source::new("run.toml", text);
        let mut plan = parse(&source).unwrap();
        plan.add_accesses(|kernel, _| (kernel == "k").then(|| access(Element::U32, "u32")));
        let file = LaunchFile::new(source, plan, "".into(), Source::new("k.ptx", MODULE)).unwrap();
        let mut program = file.program(limits).unwrap();
        let mut device = Device::new(1 << 30, 0);
        while program.next(&mut device).unwrap() != HostAction::Done {}
        program.checks(&device).unwrap().remove(0).detail
    }

    #[test]
    fn a_failed_check_names_buffers_that_the_kernel_misreads() {
        let told = "; buffer `wide` has elements of type i64, and `k` accesses u32 there";
        let own = [("k", "\"wide\", \"out\"")];
        let failed = "4 of 4 differ, first at 0: 0 instead of 1";
        assert_eq!(checked(&own, 1), failed.to_owned() + told);
        assert_eq!(checked(&own, 0), "4 values");
        // What an earlier launch read may be the reason, too; that of a later one is none.
        let chain = [
            ("k", "\"wide\", \"link\""),
            ("pair", "{ struct = [\"link\", \"out\"] }"),
            ("k", "\"far\", \"link\""),
        ];
        assert_eq!(checked(&chain, 1), failed.to_owned() + told);
        let apart = [("k", "\"link\", \"out\""), ("k", "\"wide\", \"far\"")];
        assert_eq!(checked(&apart, 1), failed);
    }
}
