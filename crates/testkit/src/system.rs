//! System simulation: whole schedulers on the embedded registry under a paused clock, with faults at the four seams.
