//! Functions that execute instructions.

use crate::inst::{Exec, InstExec};

/// A function that executes the instruction of a machine, in the lanes of its mask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run(unsafe fn(&mut InstExec<'_, '_>) -> Exec);

impl Run {
    pub fn plain(function: fn(&mut InstExec<'_, '_>) -> Exec) -> Self {
        Self(function)
    }

    /// A function that needs features of the host.
    ///
    /// # Safety
    /// The host has the features that the function needs, and there is nothing else that makes it
    /// unsafe to call.
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

/// Calls a method of a [`InstExec`], which has to be `inline(always)`,
/// compiled for its launch's [`Wide`]. `fused` after the arguments adds one that says whether a
/// fused multiply-add is an instruction of the host.
macro_rules! widely {
    ($machine:ident.$method:ident($($arg:ident: $ty:ty),*)) => {
        widely!(@ $machine, $method, ($($arg: $ty),*), (), ())
    };
    ($machine:ident.$method:ident($($arg:ident: $ty:ty),*; fused)) => {
        widely!(@ $machine, $method, ($($arg: $ty),*), (cfg!(target_feature = "fma")), (true))
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
        match $machine.ctx.wide {
            Wide::Plain => plain($machine, $($arg),*),
            #[cfg(target_arch = "x86_64")]
            Wide::Avx2(_) => {
                #[expect(unsafe_code, reason = "the only way to call what needs a feature")]
                // SAFETY: that there is an `Avx2` proves that the host has what `avx2` enables.
                unsafe {
                    avx2($machine, $($arg),*)
                }
            }
        }
    }};
}
pub(crate) use widely;

/// The [`Run`] that does `$body` with a machine, compiled for a [`Wide`]. What
/// it calls has to be `inline(always)`. A second name says whether a fused multiply-add is an
/// instruction of the host.
macro_rules! run {
    ($wide:expr, |$machine:ident $(, $fused:ident)?| $body:expr) => {{
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
        match $wide {
            Wide::Plain => Run::plain(plain),
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "the only way to call what needs a feature")]
            // SAFETY: that there is an `Avx2` proves that the host has what `avx2` enables.
            Wide::Avx2(_) => unsafe { Run::featured(avx2) },
        }
    }};
}
pub(crate) use run;
