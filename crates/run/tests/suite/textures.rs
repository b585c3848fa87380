//! Tests of textures on the timed machine: through a reference of the module and through an object.

use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::preset;
use warploom_run::{
    AddressMode, Arg, ChannelKind, Check, Device, DeviceError, DevicePtr, HostAction, HostError,
    HostProgram, Launch, Options, Session, Texture,
};

const PTX: &str = "
.version 7.0
.target sm_50
.address_size 64
.global .texref tref;
.visible .entry both(.param .u64 out, .param .u64 object) {
    .reg .b32 %r<4>; .reg .f32 %f<10>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [object];
    mov.u32 %r1, %tid.x;
    tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [tref, {%r1}];
    tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%rd2, {%r1}];
    add.f32 %f8, %f0, %f4;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    st.global.f32 [%rd4], %f8;
    ret;
}";

fn row(base: DevicePtr) -> Texture {
    Texture {
        base: base.0,
        width: 64,
        height: 1,
        depth: 1,
        layers: 1,
        pitch: 256,
        channels: 1,
        channel_bits: 32,
        kind: ChannelKind::Float,
        normalized: false,
        address: [AddressMode::Clamp; 3],
        linear: false,
    }
}

#[derive(Default)]
struct Program {
    out: Option<DevicePtr>,
}

impl HostProgram for Program {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if self.out.is_some() {
            return Ok(HostAction::Done);
        }
        let module = device.load_ptx("both.ptx", PTX)?;
        let ramp: Vec<f32> = (0..64).map(|i| i as f32).collect();
        let hundreds: Vec<f32> = (0..64).map(|i| 100.0 * i as f32).collect();
        let (a, b) = (device.alloc_slice(&ramp)?, device.alloc_slice(&hundreds)?);
        let out = device.alloc(256)?;
        device.bind_texture(module, "tref", row(a))?;
        let unknown = device.bind_texture(module, "tex", row(a));
        assert!(
            matches!(unknown, Err(DeviceError::UnknownVariable { .. })),
            "{unknown:?}"
        );
        let object = device.texture_object(row(b));
        self.out = Some(out);
        let args = vec![Arg::Pointer(out), Arg::U64(object)];
        let (grid, block) = (Dim3::linear(1), Dim3::linear(64));
        Ok(HostAction::Launch(Launch::new(
            module, "both", grid, block, args,
        )))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        let out = self.out.expect("launched");
        let values: Vec<f32> = device.read_vec(out, 64)?;
        let passed = values
            .iter()
            .enumerate()
            .all(|(i, v)| *v == 101.0 * i as f32);
        Ok(vec![Check {
            name: "sums".into(),
            passed,
            detail: format!("{values:?}"),
            compared: 64,
        }])
    }
}

#[test]
fn references_and_objects_read_what_was_bound() {
    let session = Session::new(
        preset("gtx480").expect("a built-in preset"),
        Options::default(),
    );
    let run = session.run(&mut Program::default(), &mut |_| ControlFlow::Continue(()));
    let report = run.expect("a sound program");
    assert!(
        report.succeeded() && report.checks.len() == 1,
        "{:?}",
        report.checks
    );
    let statistics = &report.totals.figures.statistics;
    assert_eq!(
        statistics["l1t.accesses.miss.texture_read"], 4,
        "two lines a texture"
    );
}
