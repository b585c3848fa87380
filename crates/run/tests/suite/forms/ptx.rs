//! Text of a test's module: inputs into registers, the tested code, results out of registers.

use crate::forms::job::{Job, Output};
use crate::forms::value::Kind;

impl Job {
    /// Text of the module.
    pub fn ptx(&self) -> String {
        let mut text = ".version 8.8\n.target sm_100\n.address_size 64\n".to_owned();
        text += &self.module;
        text += "\n.visible .entry form(.param .u64 %in_param, .param .u64 %out_param";
        for name in self.pointers() {
            text += &format!(", .param .u64 %{name}_param");
        }
        if !self.param.is_empty() {
            text += &format!(", .param .align 32 .b8 cells_param[{}]", self.param.len());
        }
        text += ")\n{\n";
        text += &self.prologue();
        text += &self.code;
        text += &self.epilogue();
        text += "ret;\n}\n";
        text
    }

    /// Names whose addresses or handles are parameters: buffers, then texture objects.
    fn pointers(&self) -> impl Iterator<Item = &str> {
        let buffers = self.buffers.iter().map(|buffer| &buffer.name);
        let objects = self.objects().map(|texture| &texture.memory.name);
        buffers.chain(objects).map(String::as_str)
    }

    fn prologue(&self) -> String {
        let mut text = PROLOGUE.to_owned();
        for name in self.pointers() {
            text += &format!(".reg .b64 {name};\nld.param.u64 {name}, [%{name}_param];\n");
        }
        for output in &self.outputs {
            if self.inputs.iter().all(|input| input.name != output.name) {
                text += &declare(&output.name, output.kind);
            }
        }
        for (index, input) in self.inputs.iter().enumerate() {
            let (name, place) = (&input.name, 8 * index * self.threads());
            text += &declare(name, input.kind);
            text += &match input.kind {
                Kind::Pred => {
                    format!("ld.global.b32 %word, [%in+{place}];\nsetp.ne.b32 {name}, %word, 0;\n")
                }
                kind => format!(
                    "ld.global.b{} {name}, [%in+{place}];\n",
                    kind.register_bits()
                ),
            };
        }
        text
    }

    fn epilogue(&self) -> String {
        let store = |(index, output): (usize, &Output)| {
            let (name, place) = (&output.name, 8 * index * self.threads());
            match output.kind {
                Kind::Pred => {
                    format!("selp.b32 %word, 1, 0, {name};\nst.global.b32 [%out+{place}], %word;\n")
                }
                kind => format!(
                    "st.global.b{} [%out+{place}], {name};\n",
                    kind.register_bits()
                ),
            }
        };
        self.outputs.iter().enumerate().map(store).collect()
    }
}

/// First code of the kernel. `%thread` is the number of the thread in the grid; `%in` and `%out`
/// are the addresses of its first input and result.
const PROLOGUE: &str = "\
.reg .b32 %word, %x, %y, %z, %thread, %size, %cta;
.reg .b64 %in, %out, %at;
mov.u32 %x, %ntid.x;
mov.u32 %y, %ntid.y;
mov.u32 %z, %tid.z;
mov.u32 %word, %tid.y;
mad.lo.u32 %thread, %z, %y, %word;
mov.u32 %word, %tid.x;
mad.lo.u32 %thread, %thread, %x, %word;
mul.lo.u32 %size, %x, %y;
mov.u32 %z, %ntid.z;
mul.lo.u32 %size, %size, %z;
mov.u32 %x, %nctaid.x;
mov.u32 %y, %nctaid.y;
mov.u32 %z, %ctaid.z;
mov.u32 %word, %ctaid.y;
mad.lo.u32 %cta, %z, %y, %word;
mov.u32 %word, %ctaid.x;
mad.lo.u32 %cta, %cta, %x, %word;
mad.lo.u32 %thread, %cta, %size, %thread;
mul.wide.u32 %at, %thread, 8;
ld.param.u64 %in, [%in_param];
ld.param.u64 %out, [%out_param];
add.u64 %in, %in, %at;
add.u64 %out, %out, %at;
";

fn declare(name: &str, kind: Kind) -> String {
    match kind {
        Kind::Pred => format!(".reg .pred {name};\n"),
        _ => format!(".reg .b{} {name};\n", kind.register_bits()),
    }
}
