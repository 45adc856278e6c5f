//! What to paste into an editor's settings.

use crate::choice::ChoiceArgs;
use crate::failure::Failure;

/// The editors whose settings we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Editor {
    /// Zed.
    Zed,
    /// The editors of JetBrains.
    Jetbrains,
    /// Neovim, with codecompanion.nvim or avante.nvim.
    Neovim,
}

/// Prints it.
pub(super) fn print(
    _editor: Editor,
    _choice: &ChoiceArgs,
    _through: Option<&str>,
) -> Result<u8, Failure> {
    Err(Failure::new("not there yet"))
}
