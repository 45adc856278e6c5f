//! The fold of events that every face shows.
