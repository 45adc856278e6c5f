//! What a face gives an agent beyond words: the real programs show images to their model and start
//! the servers of tools that a session has.

use crate::support::{for_main_agents, for_quick_agents};
use stablehand::agent::Form;
use stablehand::session::SessionSpec;
use stablehand_core::mcp::{McpServer, McpTransport};
use stablehand_core::speak::{Image, Prompt};
use stablehand_testkit::real::{Real, RealAgent};

for_main_agents!(a_server);
for_quick_agents!(an_image);

/// One pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A session in the protocol in which the agent takes images and servers.
fn session(real: &Real, scene: &str) -> SessionSpec {
    let login = (real.agent == RealAgent::Gemini).then(|| "gemini-api-key".to_owned());
    let session = real.session(scene).login(login);
    match real.agent {
        RealAgent::Gemini | RealAgent::OpenCode => session.form(Form::Acp),
        _ => session,
    }
}

fn an_image(real: &Real) {
    let image = Image { mime: "image/png".into(), data: PNG.into(), uri: None };
    let prompt = Prompt { text: "What is this?".into(), images: vec![image] };
    let session = session(real, "hello").prompt(prompt);
    let outcome = session.start().unwrap().wait().unwrap();
    assert!(outcome.is_success(), "{:?}\n{}", outcome.report, real.env.log_tail());
    let log = std::fs::read_to_string(&outcome.log).unwrap();
    assert!(log.contains(PNG) && !log.contains("left_out"), "it takes images");
    // OpenCode keeps images from a model that is not said to take any, as the fake one.
    if real.agent != RealAgent::OpenCode {
        let requests = real.llm.main_requests();
        assert!(requests.iter().any(|heard| heard.body.contains(PNG)), "the model has not seen it");
    }
}

fn a_server(real: &Real) {
    let mark = real.env.path("server-was-started");
    let transport = McpTransport::Stdio {
        command: "/bin/sh".into(),
        args: vec!["-c".into(), "printf %s \"$HAY\" > \"$0\"".into(), mark.display().to_string()],
        env: vec![("HAY".into(), "s3cret oats".into())],
    };
    let server = McpServer { name: "barn".into(), transport };
    // Some do not wait for their servers.
    let session = session(real, "slow").mcp_servers(vec![server]);
    let session = session.prompt("Say hello.").start().unwrap();
    let outcome = session.wait().unwrap();
    assert!(outcome.is_success(), "{:?}\n{}", outcome.report, real.env.log_tail());
    assert_eq!(std::fs::read_to_string(&mark).unwrap_or_default(), "s3cret oats");
    let log = std::fs::read_to_string(&outcome.log).unwrap();
    assert!(!log.contains("s3cret oats"));
}
