//! Snapshots of small graphs.
