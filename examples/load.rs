//! scratch
fn main() {
    for path in std::env::args().skip(1) {
        let t = std::time::Instant::now();
        match ovir::Model::inspect(&path, ovir::Depth::Inference) {
            Ok(i) => {
                let e: Vec<_> = i
                    .problems
                    .iter()
                    .filter(|p| p.severity == ovir::ir::Severity::Error)
                    .collect();
                if !e.is_empty() || std::env::var("V").is_ok() {
                    println!(
                        "{path}: {} errors, {} problems {:?}",
                        e.len(),
                        i.problems.len(),
                        t.elapsed()
                    );
                    for p in i
                        .problems
                        .iter()
                        .take(if std::env::var("V").is_ok() { 50 } else { 0 })
                    {
                        println!("   {:?} {}", p.severity, p.error);
                    }
                    for e in e.iter().take(5) {
                        println!("   {}", e.error);
                    }
                }
            }
            Err(e) => println!("{path}: {e}"),
        }
    }
}
