//! Faults, each with real processes: none may hang us, leave a process or lose a byte.
//!
//! By what goes wrong: how a run begins and ends, what the tree does, what the stream holds, who
//! reads us, and what happens to ourselves. That nobody is left is part of every test here: it is
//! what `finish` proves.

mod acp;
mod background;
mod consumers;
mod endings;
mod ourselves;
mod startup;
mod streams;
mod trees;
