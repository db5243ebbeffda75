//! A fake Pantheon in memory.

pub mod decode;
