//! A program that needs all features, so that all packages are compiled.
