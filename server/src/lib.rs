//! A fake Pantheon in memory.
