//! What the commands of Grok CLI 1.0.41 print.

use super::*;
use crate::manage::testing::{heard, printed};

const MODELS: &str = "You are not authenticated.\n\nDefault model: grok-4.6\n\nAvailable models:\n  \
                      * grok-4.6 (default)\n  - grok-4.5\n";

#[test]
fn the_login_by_the_first_line_of_the_models() {
    let ask = |text: &str| heard(login, &printed(text, "", 0));
    assert_eq!(ask(MODELS), Ok(Answer::Login(Login::no())));
    let key = MODELS.replace("not authenticated", "using XAI_API_KEY");
    assert_eq!(ask(&key), Ok(Answer::Login(Login::unknown("XAI_API_KEY is set, not tried"))));
    let account = ask("You are logged in with grok.com.\n");
    assert_eq!(account, Ok(Answer::Login(Login::yes(None, "grok.com"))));
    assert_eq!(ask("Hay\n"), Err(Trouble::Unreadable));
}

#[test]
fn its_models() {
    let model = |id: &str, default| Model { id: id.into(), name: None, default, current: false };
    let expected = vec![model("grok-4.6", true), model("grok-4.5", false)];
    assert_eq!(heard(models, &printed(MODELS, "", 0)), Ok(Answer::Models(expected)));
    assert_eq!(heard(models, &printed("", "", 0)), Err(Trouble::Unreadable));
}

#[test]
fn its_mcp_servers() {
    let text = "  barn: /bin/true (disabled)\n  hay: http://127.0.0.1:1/x\n";
    let Ok(Answer::Mcp(servers)) = heard(mcp, &printed(text, "", 0)) else { panic!("unread") };
    let told: Vec<_> = servers.iter().map(|it| (it.name.as_str(), it.state)).collect();
    assert_eq!(told, [("barn", McpState::Disabled), ("hay", McpState::Enabled)]);
    assert_eq!(servers[0].target.as_deref(), Some("/bin/true"));
    let none = "No MCP servers configured. Run `grok mcp add --help` to get started.\n";
    assert_eq!(heard(mcp, &printed(none, "", 0)), Ok(Answer::Mcp(Vec::new())));
}
