//! The suite of tests that every registry passes.
