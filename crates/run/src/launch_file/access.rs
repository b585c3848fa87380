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

    /// True if the elements may be what the kernel accesses. The types of half a word, and those
    /// that PTX calls bits, are integers or floats.
    fn may_be(&self, element: Element) -> bool {
        let is_open = self.ptx_type.starts_with('b') || self.element.bytes() < 4;
        let is_kind = is_open || element.is_float() == self.element.is_float();
        self.has_size_of(element) && is_kind
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

/// Remedy for a file whose elements have another type than the buffer is declared with.
pub(super) fn remedy(declared: Element, file: Element, accesses: &[Access]) -> String {
    let save = |element: Element| {
        let (name, numpy) = (element.name(), element.numpy());
        format!("save {name} with NumPy's `.astype(\"{numpy}\")`")
    };
    let may_be = |element| accesses.iter().all(|access| access.may_be(element));
    let told: Vec<String> = accesses.iter().map(Access::told).collect();
    let told = told.join(", and ");
    match (may_be(declared), may_be(file), accesses) {
        (true, true, _) => format!(
            "{}; or leave `type` out, if the kernel reads {}",
            save(declared),
            file.name()
        ),
        (true, false, _) => format!("{told}: {}", save(declared)),
        (false, true, _) => format!("{told}: leave `type` out"),
        (false, false, [Access { element, .. }]) => {
            format!(
                "{told}: write `type = \"{}\"`, and {}",
                element.name(),
                save(*element)
            )
        }
        (false, false, _) => format!("{told}: use a buffer for each type"),
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
    use super::{Access, remedy};
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

    #[test]
    fn a_remedy_says_what_kernels_access() {
        use Element::{F32, F64, I32, I64, U16, U32, U64};
        let save = "save i32 with NumPy's `.astype(\"int32\")`";
        let open = |file: &str| format!("{save}; or leave `type` out, if the kernel reads {file}");
        assert_eq!(remedy(I32, I64, &[]), open("i64"));
        let of = |file, element, ptx_type| remedy(I32, file, &[access(element, ptx_type)]);
        assert_eq!(
            of(I64, U32, "u32"),
            format!("`k` accesses u32 there: {save}")
        );
        assert_eq!(
            of(I64, U64, "b64"),
            "`k` accesses b64 there: leave `type` out"
        );
        assert_eq!(
            of(F32, F32, "f32"),
            "`k` accesses f32 there: leave `type` out"
        );
        // Bits may be integers or floats.
        assert_eq!(of(F32, U32, "b32"), open("f32"));
        assert_eq!(
            of(F64, U16, "u16"),
            "`k` accesses u16 there: write `type = \"u16\"`, and save u16 with NumPy's \
             `.astype(\"uint16\")`"
        );
        let both = [access(U32, "u32"), access(U64, "u64")];
        assert_eq!(
            remedy(I32, I64, &both),
            "`k` accesses u32 there, and `k` accesses u64 there: use a buffer for each type"
        );
    }
}
