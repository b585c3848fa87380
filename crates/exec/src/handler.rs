//! Functions that execute instructions.

use crate::inst::{Exec, InstExec};

/// A function that executes an instruction in the lanes of its mask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handler(unsafe fn(&mut InstExec<'_, '_>) -> Exec);

impl Handler {
    pub fn plain(function: fn(&mut InstExec<'_, '_>) -> Exec) -> Self {
        Self(function)
    }

    /// Wraps a function that needs features of the host.
    ///
    /// # Safety
    /// The host must have the features that the function needs, and the function must be safe to
    /// call otherwise.
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the only way to call what needs a feature")]
    pub unsafe fn featured(function: unsafe fn(&mut InstExec<'_, '_>) -> Exec) -> Self {
        Self(function)
    }

    #[inline(always)]
    pub fn call(self, machine: &mut InstExec<'_, '_>) -> Exec {
        #[expect(unsafe_code, reason = "the only way to call what needs a feature")]
        // SAFETY: it is a safe function, or its maker has vouched for the features.
        unsafe {
            (self.0)(machine)
        }
    }
}

/// Calls an `inline(always)` method of an [`InstExec`] in a version compiled for the vector
/// instructions of the launch. With `fused` after the arguments, the method receives a further
/// argument that states whether the host has an instruction for a fused multiply-add.
macro_rules! vectorized {
    ($machine:ident.$method:ident($($arg:ident: $ty:ty),*)) => {
        vectorized!(@ $machine, $method, ($($arg: $ty),*), (), ())
    };
    ($machine:ident.$method:ident($($arg:ident: $ty:ty),*; fused)) => {
        vectorized!(@ $machine, $method, ($($arg: $ty),*), (cfg!(target_feature = "fma")), (true))
    };
    (@ $machine:ident, $method:ident, ($($arg:ident: $ty:ty),*), ($($fused:expr)?),
        ($($yes:expr)?)) => {{
        #[inline(never)]
        fn plain(machine: &mut InstExec<'_, '_>, $($arg: $ty),*) -> Exec {
            machine.$method($($arg,)* $($fused)?)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
        fn avx2(machine: &mut InstExec<'_, '_>, $($arg: $ty),*) -> Exec {
            machine.$method($($arg,)* $($yes)?)
        }
        match $machine.ctx.isa {
            VectorIsa::Baseline => plain($machine, $($arg),*),
            #[cfg(target_arch = "x86_64")]
            VectorIsa::Avx2(_) => {
                #[expect(unsafe_code, reason = "the only way to call what needs a feature")]
                // SAFETY: that there is an `Avx2` proves that the host has what `avx2` enables.
                unsafe {
                    avx2($machine, $($arg),*)
                }
            }
        }
    }};
}
pub(crate) use vectorized;

/// Creates the handler that executes `$body`, in a version compiled for the given vector
/// instructions. The functions that it calls must be `inline(always)`. An optional second name is
/// bound to whether the host has an instruction for a fused multiply-add.
macro_rules! handler {
    ($isa:expr, |$machine:ident $(, $fused:ident)?| $body:expr) => {{
        fn plain($machine: &mut InstExec<'_, '_>) -> Exec {
            $(let $fused = cfg!(target_feature = "fma");)?
            $body
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
        fn avx2($machine: &mut InstExec<'_, '_>) -> Exec {
            $(let $fused = true;)?
            $body
        }
        match $isa {
            VectorIsa::Baseline => Handler::plain(plain),
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "the only way to call what needs a feature")]
            // SAFETY: that there is an `Avx2` proves that the host has what `avx2` enables.
            VectorIsa::Avx2(_) => unsafe { Handler::featured(avx2) },
        }
    }};
}
pub(crate) use handler;
