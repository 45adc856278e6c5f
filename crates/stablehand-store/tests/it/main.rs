//! The index against real files and real processes: what is in it after which change of the logs,
//! after which damage, and with how many at once.

mod child;
mod damage;
mod fill;
mod grows;
mod many;
mod odd;
mod query;
mod support;
mod torn;
