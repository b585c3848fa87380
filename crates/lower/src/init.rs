//! Initial values of variables (PTX ISA, "Initializers"): bytes, and places for addresses.

use crate::error::{Res, invalid, unsupported};
use crate::literal::literal_bits;
use crate::module::Symbols;
use warploom_ir::Relocation;
use warploom_ptx::ast::{Constant, Initializer, Spanned, Variable};

/// Length of the outermost list of an initial value.
pub(crate) fn outer_length(variable: &Variable) -> u64 {
    match &variable.init {
        Some(Initializer::List(list)) => list.len() as u64,
        _ => 0,
    }
}

/// Bytes of the initial value, without zeros at the end of arrays, and addresses in them.
pub(crate) fn initialise(
    variable: &Variable,
    symbols: &Symbols,
) -> Res<(Vec<u8>, Vec<Relocation>)> {
    let mut image = Image {
        variable,
        symbols,
        bytes: Vec::new(),
        relocations: Vec::new(),
    };
    let mut extents: Vec<u64> = variable
        .dims
        .iter()
        .map(|dim| dim.unwrap_or_else(|| outer_length(variable)))
        .collect();
    if variable.vector > 1 {
        extents.push(u64::from(variable.vector));
    }
    if let Some(init) = &variable.init {
        image.fill(init, &extents, 0)?;
    }
    Ok((image.bytes, image.relocations))
}

/// Longest initial value in bytes.
const MAX_IMAGE: u64 = 256 << 20;

struct Image<'a, 'm> {
    variable: &'a Variable,
    symbols: &'a Symbols<'m>,
    bytes: Vec<u8>,
    relocations: Vec<Relocation>,
}

impl Image<'_, '_> {
    /// Writes a value with dimensions `extents` from byte `at` on.
    fn fill(&mut self, init: &Initializer, extents: &[u64], at: u64) -> Res<()> {
        match (init, extents) {
            (Initializer::Value(value), _) => self.value(value, at),
            (Initializer::Fields(_), _) => {
                let name = &self.variable.name;
                let message = format!("`{}` is no texture or sampler reference", name.node);
                Err(invalid("initializer-kind", name.span, message))
            }
            (Initializer::List(list), []) => match &list[..] {
                [one] => self.fill(one, &[], at),
                _ => Err(self.too_many(list.len(), 1)),
            },
            (Initializer::List(list), [extent, inner @ ..]) => {
                if list.len() as u64 > *extent {
                    return Err(self.too_many(list.len(), *extent));
                }
                let element = u64::from(self.variable.ty.bytes());
                let stride = inner.iter().fold(element, |all, n| all.saturating_mul(*n));
                for (nth, part) in list.iter().enumerate() {
                    let at = at.saturating_add(stride.saturating_mul(nth as u64));
                    self.fill(part, inner, at)?;
                }
                Ok(())
            }
        }
    }

    fn value(&mut self, value: &Spanned<Constant>, at: u64) -> Res<()> {
        if at >= MAX_IMAGE {
            return Err(unsupported(value.span, "initial values beyond 256 MiB"));
        }
        let size = self.variable.ty.bytes() as usize;
        match &value.node {
            Constant::Symbol { name, offset, .. } => {
                self.address(name, *offset, 0, size as u8, at, value)
            }
            Constant::MaskedSymbol {
                mask, name, offset, ..
            } => {
                let shift = mask.trailing_zeros();
                if mask.checked_shr(shift) != Some(0xFF) || shift % 8 != 0 {
                    let message = format!("mask {mask:#x} does not select one byte");
                    return Err(invalid("bad-mask", value.span, message));
                }
                self.address(name, *offset, shift as u8, 1, at, value)
            }
            literal => {
                let bits = literal_bits(literal, self.variable.ty, value.span)?;
                self.write(at, &bits.to_le_bytes()[..size.min(8)]);
                Ok(())
            }
        }
    }

    fn address(
        &mut self,
        name: &str,
        addend: i64,
        shift: u8,
        size: u8,
        at: u64,
        value: &Spanned<Constant>,
    ) -> Res<()> {
        self.write(at, &[0; 8][..usize::from(size).min(8)]);
        if let Some(&(global, _)) = self.symbols.global_names.get(name) {
            self.relocations.push(Relocation {
                at,
                bytes: size,
                global,
                addend,
                shift,
            });
            return Ok(());
        }
        if let Some(function) = self.symbols.function_address(name) {
            let address = function.wrapping_add_signed(addend) >> shift;
            self.write(at, &address.to_le_bytes()[..usize::from(size).min(8)]);
            return Ok(());
        }
        if self.symbols.by_name.contains_key(name) {
            // A function that another file defines has no address and cannot be called.
            return Ok(());
        }
        let message = format!("`{name}` is no variable in global or constant memory");
        Err(invalid("undefined-name", value.span, message))
    }

    fn write(&mut self, at: u64, bytes: &[u8]) {
        let (start, end) = (at as usize, at as usize + bytes.len());
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[start..end].copy_from_slice(bytes);
    }

    fn too_many(&self, found: usize, extent: u64) -> Box<warploom_diag::Diagnostic> {
        let name = &self.variable.name;
        let message = format!("`{}` is given {found} values where {extent} fit", name.node);
        invalid("initializer-length", name.span, message)
    }
}
