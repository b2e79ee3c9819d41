//! What costs time, through the library's front door.
//!
//! ```text
//! cargo bench
//! cargo bench -- gather --max-time 10
//! ```
//!
//! Models of one operation are evaluated in both ways: layer by layer (`Evaluator`) and `Compiled`.
//! `benches/versus.py` compares with other runtimes.

mod calls;
mod floats;
mod movement;
mod operation;
mod reading;

use std::time::Duration;

fn main() {
    // Medians are steady long before a hundred samples of the slow ones are taken.
    divan::Divan::default()
        .max_time(Duration::from_secs(2))
        .config_with_args()
        .main();
}
