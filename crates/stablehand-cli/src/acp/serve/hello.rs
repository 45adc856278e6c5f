//! What an editor is told at hello: what we can do, and how to log in.

use super::commands::Asked;
use super::worker::answer;
use super::{Door, House, aside, turn};
use crate::main_stablehand::PROGRAM;
use agent_client_protocol::Client;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentAuthCapabilities, AgentCapabilities, AuthMethod, AuthMethodAgent, AuthMethodTerminal,
    AuthenticateRequest, AuthenticateResponse, Error, Implementation, InitializeRequest,
    InitializeResponse, LogoutCapabilities, LogoutResponse, McpCapabilities, PromptCapabilities,
    SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities,
    SessionListCapabilities, SessionResumeCapabilities,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use std::sync::Arc;

/// The id of the one way to log in, for agents that have a login.
pub(in crate::acp) const LOGIN: &str = "agent-login";

impl Door {
    pub(super) fn hello(
        &self,
        request: &InitializeRequest,
        editor: ConnectionTo<Client>,
    ) -> InitializeResponse {
        let can = &request.client_capabilities;
        let notices = can.session.as_ref().is_some_and(|session| session.notices.is_some());
        let terminal_login = can.auth.terminal;
        self.house
            .get_or_init(|| Arc::new(House { place: Arc::clone(&self.place), editor, notices }));
        let form = self.choice.form_in_talk(self.agent);
        let (images, mcp) = (self.agent.takes_images(form), self.agent.takes_mcp(form));
        let name = self.agent.name();
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .delete(SessionDeleteCapabilities::new());
        let can_log_out = self.agent.row().manage.log_out.is_supported();
        let logout = can_log_out.then(LogoutCapabilities::new);
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().embedded_context(true).image(images))
            .mcp_capabilities(McpCapabilities::new().http(mcp.http).sse(mcp.sse))
            .session_capabilities(sessions)
            .auth(AgentAuthCapabilities::new().logout(logout));
        let info = Implementation::new(PROGRAM, env!("CARGO_PKG_VERSION"))
            .title(format!("Stablehand ({name})"));
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .auth_methods(self.ways_to_log_in(terminal_login))
            .agent_info(info)
    }

    /// Returns the ways to log in. An editor that is offered one may use it before it does anything
    /// else, so an agent that needs no login offers none.
    fn ways_to_log_in(&self, in_terminal: bool) -> Vec<AuthMethod> {
        if !self.agent.row().manage.has_login() {
            return Vec::new();
        }
        let name = self.agent.name();
        let title = format!("Log in to {name}");
        if in_terminal {
            let args = ["login", "--agent", name].map(str::to_owned).to_vec();
            return vec![AuthMethod::Terminal(AuthMethodTerminal::new(LOGIN, title).args(args))];
        }
        let how = format!("Run `stablehand login --agent {name}` in a terminal, then try again");
        vec![AuthMethod::Agent(AuthMethodAgent::new(LOGIN, title).description(how))]
    }

    pub(super) fn log_in(
        &self,
        request: &AuthenticateRequest,
        responder: Responder<AuthenticateResponse>,
    ) {
        if &*request.method_id.0 != LOGIN {
            let what = format!("there is no way to log in called `{}`", request.method_id.0);
            return answer(responder, Err(Error::invalid_params().data(what)));
        }
        let asked = self.asked();
        aside(responder, move || match asked.is_logged_in() {
            Some(false) => Err(Error::auth_required().data(format!(
                "run `stablehand login --agent {}` in a terminal, then try again",
                asked.agent.name()
            ))),
            _ => Ok(AuthenticateResponse::new()),
        });
    }

    pub(super) fn log_out(&self, responder: Responder<LogoutResponse>) {
        let asked = self.asked();
        aside(responder, move || match asked.log_out() {
            Ok(_) => Ok(LogoutResponse::new()),
            Err(why) => Err(turn::internal(why, serde_json::json!({}))),
        });
    }

    fn asked(&self) -> Asked {
        let here = std::env::current_dir().unwrap_or_default();
        Asked::new(self.agent, self.program.clone(), &self.env, &here)
    }
}
