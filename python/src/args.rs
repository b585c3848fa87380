//! Arguments of launches: Python's values as the kernel's parameters take them.

use crate::ptx_module::type_name;
use crate::run::Pointer;
use half::f16;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat};
use warploom_ir::{Param, ParamKind};
use warploom_run::{Arg, DevicePtr};

/// Length in bytes up to which messages show a value.
const LONGEST_SHOWN: usize = 60;

/// Converts the arguments of a kernel. The error names the argument, its parameter and the remedy.
pub fn convert(
    kernel: &str,
    params: &[Param],
    values: &[Bound<'_, PyAny>],
) -> Result<Vec<Arg>, String> {
    if params.len() != values.len() {
        let each = params
            .iter()
            .map(|p| format!("{} ({})", p.name, type_name(p.kind)));
        let declared = each.collect::<Vec<_>>().join(", ");
        return Err(format!(
            "kernel `{kernel}` takes {} arguments, {} were given; it declares: {declared}",
            params.len(),
            values.len()
        ));
    }
    let pairs = params.iter().zip(values).enumerate();
    pairs
        .map(|(at, (param, value))| {
            one(param, value).map_err(|why| {
                let place = format!("argument {} of kernel `{kernel}`", at + 1);
                format!(
                    "{place} (parameter `{}`, {}): {why}",
                    param.name,
                    type_name(param.kind)
                )
            })
        })
        .collect()
}

/// Converts an argument for its parameter.
fn one(param: &Param, value: &Bound<'_, PyAny>) -> Result<Arg, String> {
    if let Ok(pointer) = value.cast::<Pointer>() {
        return Ok(Arg::Pointer(DevicePtr(pointer.get().0)));
    }
    if value.is_none() {
        return Ok(Arg::Bytes(vec![0; param.bytes as usize]));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return by_value(param, bytes.as_bytes());
    }
    match param.kind {
        ParamKind::Int { bytes, signed } => match integer(value) {
            Some(number) => whole(number, bytes, signed),
            None => untyped(param, value),
        },
        ParamKind::F16 => Ok(Arg::Bytes(
            f16::from_f64(real(value)?).to_le_bytes().to_vec(),
        )),
        ParamKind::F32 => Ok(Arg::F32(real(value)? as f32)),
        ParamKind::F64 => Ok(Arg::F64(real(value)?)),
        ParamKind::Bytes => Err(format!(
            "it is passed by value: give {} bytes, for example from `struct.pack`",
            param.bytes
        )),
    }
}

fn by_value(param: &Param, bytes: &[u8]) -> Result<Arg, String> {
    if bytes.len() == param.bytes as usize {
        return Ok(Arg::Bytes(bytes.to_vec()));
    }
    Err(format!(
        "{} bytes were given and {} are needed",
        bytes.len(),
        param.bytes
    ))
}

/// A float for a parameter that is declared as an integer or as untyped bits (`.b32`), as some
/// compilers declare floats.
fn untyped(param: &Param, value: &Bound<'_, PyAny>) -> Result<Arg, String> {
    let number = real(value)?;
    match (value.cast::<PyFloat>().is_ok(), param.bytes) {
        (_, 4) => Ok(Arg::F32(number as f32)),
        (true, 8) => Ok(Arg::F64(number)),
        _ => Err(format!("{} does not fit; give an integer", shown(value))),
    }
}

/// Value of an integer, such as Python's and numpy's.
fn integer(value: &Bound<'_, PyAny>) -> Option<i128> {
    let index = value.call_method0("__index__").ok()?;
    index.extract().ok()
}

fn real(value: &Bound<'_, PyAny>) -> Result<f64, String> {
    let number = value
        .call_method0("__float__")
        .and_then(|number| number.extract());
    number.map_err(|_| format!(
            "{} is neither a number nor an array; pass `numpy.asarray(value)` for a list or a tensor",
            shown(value)
        ))
}

/// Text of a value in messages. A long one is replaced by its type.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map(|text| text.to_string());
    match text {
        Ok(text) if text.len() <= LONGEST_SHOWN && !text.contains('\n') => text,
        _ => format!("a value of type `{}`", value.get_type()),
    }
}

/// An integer of this width. PTX does not reliably distinguish signed from unsigned parameters, so
/// a number fits if either can represent it.
fn whole(number: i128, bytes: u8, signed: bool) -> Result<Arg, String> {
    let bits = u32::from(bytes) * 8;
    let (least, most) = (-(1_i128 << (bits - 1)), (1_i128 << bits) - 1);
    if (least..=most).contains(&number) {
        return Ok(Arg::Bytes(
            number.to_le_bytes()[..usize::from(bytes)].to_vec(),
        ));
    }
    let sign = if signed { "signed" } else { "unsigned" };
    Err(format!(
        "{number} does not fit {bits} bits ({sign}); give a number from {least} to {most}"
    ))
}
