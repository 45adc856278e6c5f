//! Log records.
