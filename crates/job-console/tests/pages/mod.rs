//! The pages as a browser gets them: markup, links, operations, the stream, and the files.

mod alerting;
mod applying;
mod backfilling;
mod bulk;
mod configuring;
mod creating;
mod dom;
mod equality;
mod files;
mod groups;
mod lateness;
mod links;
mod lists;
mod markup;
mod next_fires;
mod operating;
mod planning;
mod removing;
mod repairing;
mod runs;
mod streaming;
mod timeline;
mod transferring;
mod verifying;
mod world;
