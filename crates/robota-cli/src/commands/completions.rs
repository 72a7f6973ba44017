//! `robota completions` and `robota man`: files for shells and for `man`, made from the arguments
//! that the program accepts.

use std::path::Path;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;
use crate::{Exit, output};

/// Prints the completion script of a shell.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    // Into memory first: the function panics if it cannot write.
    clap_complete::generate(shell, &mut Cli::command(), "robota", &mut script);
    output::bytes(&script);
    Ok(Exit::Ok)
}

/// Prints the manual page of the program, or writes the pages of all its commands to a folder.
pub(crate) fn man(folder: Option<&Path>) -> anyhow::Result<Exit> {
    let program = Cli::command();
    match folder {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(program).render(&mut page)?;
            output::bytes(&page);
        }
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(program, folder))
                .with_context(|| format!("cannot write to {}", folder.display()))?;
            output::line(&format!("wrote the manual pages to {}", folder.display()));
        }
    }
    Ok(Exit::Ok)
}
