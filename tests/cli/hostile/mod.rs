//! Attempts to make the program take, lose or repeat what it must not.

mod other_registries;
mod quiet;
mod refused_holders;
mod saving;
mod texts;
mod txt_markers;
