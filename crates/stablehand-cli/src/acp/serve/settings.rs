//! What can be chosen for a session: a mode and a model, as modes and as options.

use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};
use stablehand::agent::{Agent, Mode};
use stablehand::manage::Model;
use stablehand_core::record::SettingsChosen;

/// The name of the mode in which an agent is as it is.
pub(super) const AS_IT_IS: &str = "agent";

/// The ids of our options.
pub(super) const MODE: &str = "mode";
pub(super) const MODEL: &str = "model";

/// What is chosen, and from what.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    agent: Agent,
    pub(super) mode: Option<Mode>,
    pub(super) model: Option<String>,
    models: Vec<Model>,
}

/// The name and the meaning of a mode.
fn words(mode: Mode) -> (&'static str, &'static str) {
    match mode {
        Mode::Plan => ("Plan", "Make a plan, change nothing"),
        Mode::Ask => ("Ask", "Answer, change nothing"),
        Mode::Edit => ("Edit", "Change files without asking"),
    }
}

impl Settings {
    pub(super) fn new(agent: Agent, mode: Option<Mode>, model: Option<String>) -> Settings {
        Settings { agent, mode, model, models: Vec::new() }
    }

    /// What is chosen, by name.
    pub(super) fn chosen(&self) -> SettingsChosen {
        let mode = self.mode.map(|mode| mode.name().to_owned());
        SettingsChosen { mode, model: self.model.clone(), workspace: None }
    }

    /// The agent told its models.
    pub(super) fn offer(&mut self, models: Vec<Model>) {
        self.models = models;
    }

    /// Chooses a mode by its name; false where there is none of that name.
    pub(super) fn choose_mode(&mut self, name: &str) -> bool {
        let mode = match name {
            AS_IT_IS => None,
            name => match self.agent.modes().find(|mode| mode.name() == name) {
                Some(mode) => Some(mode),
                None => return false,
            },
        };
        self.mode = mode;
        true
    }

    /// The mode's name.
    pub(super) fn mode_name(&self) -> &'static str {
        self.mode.map_or(AS_IT_IS, Mode::name)
    }

    /// As modes; none where there is nothing to choose.
    pub(super) fn modes(&self) -> Option<SessionModeState> {
        let mut modes =
            vec![SessionMode::new(AS_IT_IS, "Agent").description("Do what is asked".to_owned())];
        for mode in self.agent.modes() {
            let (name, what) = words(mode);
            modes.push(SessionMode::new(mode.name(), name).description(what.to_owned()));
        }
        (modes.len() > 1).then(|| SessionModeState::new(self.mode_name(), modes))
    }

    /// As options.
    pub(super) fn options(&self) -> Vec<SessionConfigOption> {
        let mut options = Vec::new();
        if let Some(modes) = self.modes() {
            let choices: Vec<_> = modes
                .available_modes
                .into_iter()
                .map(|mode| {
                    SessionConfigSelectOption::new(mode.id.0, mode.name)
                        .description(mode.description)
                })
                .collect();
            let option = SessionConfigOption::select(MODE, "Mode", self.mode_name(), choices);
            options.push(option.category(SessionConfigOptionCategory::Mode));
        }
        let default = Model::in_use(&self.models).or(self.models.first());
        let chosen = self.model.clone().or_else(|| default.map(|model| model.id.clone()));
        if let Some(chosen) = chosen {
            let mut choices: Vec<_> = self
                .models
                .iter()
                .map(|model| {
                    let name = model.name.clone().unwrap_or_else(|| model.id.clone());
                    SessionConfigSelectOption::new(model.id.clone(), name)
                })
                .collect();
            if self.models.iter().all(|model| model.id != chosen) {
                choices.push(SessionConfigSelectOption::new(chosen.clone(), chosen.clone()));
            }
            let option = SessionConfigOption::select(MODEL, "Model", chosen, choices);
            options.push(option.category(SessionConfigOptionCategory::Model));
        }
        options
    }
}
