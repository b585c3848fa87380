//! Timelines for the Perfetto UI (<https://ui.perfetto.dev>), in Chrome's trace event format. An SM
//! is a process, and a warp slot or context is a thread. One microsecond in the timeline is one
//! core cycle.

use std::fmt::Write;
use warploom_stats::trace::{Activity, Trace, TraceEvent};

/// The timeline as JSON, with one line per event.
pub fn perfetto(trace: &Trace) -> String {
    let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    let mut rows: Vec<&[TraceEvent]> = Vec::new();
    let mut events = trace.events.clone();
    events.sort_by_key(|event| (event.sm, event.row, event.at));
    for row in events.chunk_by(|a, b| (a.sm, a.row) == (b.sm, b.row)) {
        rows.push(row);
    }
    let mut lines = Vec::new();
    for row in &rows {
        let (sm, number) = (row[0].sm, row[0].row);
        if !lines
            .iter()
            .any(|line: &String| line.contains(&format!("\"SM {sm}\"")))
        {
            lines.push(format!(
                "{{\"ph\":\"M\",\"pid\":{sm},\"name\":\"process_name\",\"args\":{{\"name\":\"SM {sm}\"}}}}"
            ));
        }
        lines.push(format!(
            "{{\"ph\":\"M\",\"pid\":{sm},\"tid\":{number},\"name\":\"thread_name\",\
             \"args\":{{\"name\":\"warp {number}\"}}}}"
        ));
        slices(row, trace.end, &mut lines);
    }
    let _ = write!(text, "{}", lines.join(",\n"));
    text.push_str("\n]}\n");
    text
}

/// Writes a slice for each warp of a row, which contains a slice for each of its states.
fn slices(row: &[TraceEvent], end: u64, lines: &mut Vec<String>) {
    let ends = row.iter().skip(1).map(|next| next.at).chain([end]);
    let spans: Vec<_> = row.iter().zip(ends).collect();
    let same = |a: &(&TraceEvent, u64), b: &(&TraceEvent, u64)| {
        let warp =
            |of: &(&TraceEvent, u64)| (of.0.block, of.0.warp, of.0.activity == Activity::None);
        warp(a) == warp(b)
    };
    for warp in spans.chunk_by(same) {
        let (first, last) = (warp[0].0, warp[warp.len() - 1].1);
        if first.activity == Activity::None {
            continue;
        }
        let name = format!("block {}, warp {}", first.block, first.warp);
        lines.push(slice(first, &name, first.at, last));
        for (event, until) in warp {
            if let Some(name) = event.activity.name() {
                lines.push(slice(event, name, event.at, *until));
            }
        }
    }
}

fn slice(event: &TraceEvent, name: &str, from: u64, to: u64) -> String {
    let TraceEvent { sm, row, .. } = event;
    format!(
        "{{\"ph\":\"X\",\"pid\":{sm},\"tid\":{row},\"ts\":{from},\"dur\":{},\"name\":\"{name}\"}}",
        to - from
    )
}

#[cfg(test)]
mod tests {
    use super::perfetto;
    use warploom_stats::trace::{Activity, Trace, TraceEvent};

    fn event(at: u64, row: u16, activity: Activity) -> TraceEvent {
        TraceEvent {
            at,
            sm: 1,
            row,
            block: 7,
            warp: 2,
            activity,
        }
    }

    /// A warp runs for 5 cycles, waits for 10, and is switched out until the end. Names, nesting
    /// and times are checked.
    #[test]
    fn slices_nest_and_touch() {
        let trace = Trace {
            events: vec![
                event(10, 3, Activity::Runs),
                event(15, 3, Activity::WaitsForMemory),
                event(25, 3, Activity::Out),
                event(40, 3, Activity::None),
            ],
            end: 50,
        };
        let text = perfetto(&trace);
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let events = json["traceEvents"].as_array().expect("a list");
        let slices: Vec<_> = events
            .iter()
            .filter(|e| e["ph"] == "X")
            .map(|e| {
                let number = |key: &str| e[key].as_u64().unwrap_or_default();
                (
                    e["name"].as_str().unwrap_or_default(),
                    number("ts"),
                    number("dur"),
                )
            })
            .collect();
        assert_eq!(
            slices,
            [
                ("block 7, warp 2", 10, 30),
                ("runs", 10, 5),
                ("waits for memory", 15, 10),
                ("out", 25, 15),
            ]
        );
        assert!(events.iter().all(|e| e["pid"] == 1));
    }
}
