//! Warp schedulers that are written in Python, for teaching: the simulation calls the interpreter
//! in every cycle in which a scheduler could issue.

use crate::live::StopFlag;
use pyo3::prelude::*;
use pyo3::types::PyList;
use warploom_base::WarpSlot;
use warploom_policy::{Make, WarpMask, WarpScheduler, WarpView, warps_of};
use warploom_state::{Io, State, StateError};

/// View of an SM that a scheduler in Python has in one cycle. Warps are numbers of slots.
#[pyclass(frozen)]
struct View {
    own: WarpMask,
    live: WarpMask,
    waiting: WarpMask,
    long_wait: WarpMask,
    /// Slots from the oldest warp to the youngest.
    by_age: Vec<u16>,
}

#[pymethods]
impl View {
    /// Slots of the scheduler's own warps.
    #[getter]
    fn own(&self) -> Vec<u16> {
        slots(self.own)
    }

    /// Slots of the warps of the SM that have not exited.
    #[getter]
    fn live(&self) -> Vec<u16> {
        slots(self.live)
    }

    /// Warps that wait at a barrier, for a fence or for an atomic.
    #[getter]
    fn waiting(&self) -> Vec<u16> {
        slots(self.waiting)
    }

    /// Warps whose next instruction needs the result of an outstanding load.
    #[getter]
    fn long_wait(&self) -> Vec<u16> {
        slots(self.long_wait)
    }

    /// The scheduler's own warps that have not exited, from the oldest to the youngest.
    #[getter]
    fn by_age(&self) -> Vec<u16> {
        self.by_age.clone()
    }
}

fn slots(mask: WarpMask) -> Vec<u16> {
    warps_of(mask).map(|slot| slot.0).collect()
}

/// Scheduler that asks an object of Python. After an exception the run stops.
struct PythonScheduler {
    object: Option<Py<PyAny>>,
    tells_issue: bool,
    tells_start: bool,
    tells_exit: bool,
    stop: StopFlag,
}

/// Function that calls `class` for each scheduler of each SM.
pub fn make_scheduler(class: Py<PyAny>, stop: StopFlag) -> Make<dyn WarpScheduler> {
    Make::new(move |_| {
        Python::attach(|py| -> Box<dyn WarpScheduler> {
            let object = class.call0(py).map_err(|error| stop.fail(error)).ok();
            let has = |name: &str| {
                let object = object.as_ref().map(|object| object.bind(py));
                object.is_some_and(|object| object.hasattr(name).unwrap_or(false))
            };
            Box::new(PythonScheduler {
                tells_issue: has("on_issue"),
                tells_start: has("on_start"),
                tells_exit: has("on_exit"),
                object,
                stop: stop.clone(),
            })
        })
    })
}

impl PythonScheduler {
    /// Answer of the object's method `pick`.
    fn ask(&self, view: &WarpView<'_>, ready: WarpMask) -> PyResult<Option<u16>> {
        let Some(object) = &self.object else {
            return Ok(None);
        };
        let seen = View {
            own: view.own,
            live: view.live,
            waiting: view.waiting,
            long_wait: view.long_wait,
            by_age: by_age(view),
        };
        Python::attach(|py| {
            let ready = PyList::new(py, slots(ready))?;
            object.call_method1(py, "pick", (seen, ready))?.extract(py)
        })
    }

    fn tell(&self, method: &str, slot: WarpSlot) {
        let Some(object) = &self.object else {
            return;
        };
        let told = Python::attach(|py| object.call_method1(py, method, (slot.0,)).map(drop));
        if let Err(error) = told {
            self.stop.fail(error);
        }
    }
}

/// The scheduler's own warps, oldest first.
fn by_age(view: &WarpView<'_>) -> Vec<u16> {
    let mut left = view.own & view.live;
    let oldest = std::iter::from_fn(|| {
        let slot = view.oldest(left)?;
        left &= !(1 << slot.index());
        Some(slot.0)
    });
    oldest.collect()
}

/// The state of an object in Python is not known.
impl State for PythonScheduler {
    fn state(&mut self, _: &mut Io<'_>) -> Result<(), StateError> {
        Err(StateError::Unsaved("a policy in Python"))
    }
}

impl WarpScheduler for PythonScheduler {
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        let chosen = match self.ask(view, ready) {
            Ok(None) => return None,
            Ok(Some(slot)) => slot,
            Err(error) => {
                self.stop.fail(error);
                return warps_of(ready).next();
            }
        };
        let found = warps_of(ready).find(|slot| slot.0 == chosen);
        if found.is_none() {
            let message = format!("`pick` returned {chosen}, which is not one of the ready warps");
            self.stop
                .fail(pyo3::exceptions::PyValueError::new_err(message));
        }
        found.or_else(|| warps_of(ready).next())
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        if self.tells_issue {
            self.tell("on_issue", slot);
        }
    }

    fn on_start(&mut self, slot: WarpSlot) {
        if self.tells_start {
            self.tell("on_start", slot);
        }
    }

    fn on_exit(&mut self, slot: WarpSlot) {
        if self.tells_exit {
            self.tell("on_exit", slot);
        }
    }
}
