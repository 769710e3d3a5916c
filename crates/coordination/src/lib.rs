//! What one instance must do for one job: decisions only.
