//! The rows of written logs.
