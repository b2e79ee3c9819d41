//! The command line; see the module `cli` of the library.
fn main() {}
