//! The fake model as a client sees it: raw HTTP over a socket, every protocol, every fault.

use super::scene::{HELLO, PARALLEL_COMMANDS, SHELL_COMMAND, TOOLS_DONE, UNICODE};
use super::*;
use std::io::{Read, Write};
use std::time::Instant;

/// An answer as it came.
#[derive(Debug)]
struct Answer {
    status: u16,
    body: String,
    /// Whether the body came to its end.
    whole: bool,
}

impl Answer {
    fn json(&self) -> Value {
        assert!(self.whole, "{self:?}");
        serde_json::from_str(&self.body).unwrap()
    }

    /// The JSON of each server-sent event.
    fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]")
            .map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }
}

fn connect(llm: &FakeLlm) -> TcpStream {
    let stream = TcpStream::connect(llm.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream
}

fn send(stream: &mut TcpStream, method: &str, path: &str, body: &str) {
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
}

/// Reads one answer, byte by byte so that nothing of the next is taken.
fn receive(stream: &mut TcpStream) -> Answer {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return Answer { status: 0, body: String::new(), whole: false };
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let (body, whole) = match length {
        Some(length) => {
            let mut body = vec![0; length.parse().unwrap()];
            let whole = stream.read_exact(&mut body).is_ok();
            (body, whole)
        }
        None => chunks(stream),
    };
    Answer { status, body: String::from_utf8(body).unwrap(), whole }
}

/// A body in chunks, and whether it came to its end.
fn chunks(stream: &mut TcpStream) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            match stream.read(&mut byte) {
                Ok(1..) => line.push(byte[0]),
                _ => return (body, false),
            }
        }
        let size = usize::from_str_radix(String::from_utf8(line).unwrap().trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        if stream.read_exact(&mut chunk).is_err() {
            return (body, false);
        }
        body.extend_from_slice(&chunk[..size]);
        if size == 0 {
            return (body, true);
        }
    }
}

fn ask(llm: &FakeLlm, path: &str, body: &Value) -> Answer {
    let mut stream = connect(llm);
    send(&mut stream, "POST", path, &body.to_string());
    receive(&mut stream)
}

/// How a protocol asks, and how it is read: one row each.
struct Client {
    protocol: Protocol,
    path: fn(&str, bool) -> String,
    body: fn(&str, bool) -> Value,
    /// The request that follows the answer with a tool call.
    with_results: fn(Value) -> Value,
    text: fn(&[Value]) -> String,
    whole_text: fn(&Value) -> String,
    commands: fn(&[Value]) -> Vec<String>,
}

const CLIENTS: [Client; 4] = [
    Client {
        protocol: Protocol::Messages,
        path: |scene, _| format!("/s/{scene}/v1/messages?beta=true"),
        body: |prompt, stream| {
            let schema = json!({"properties": {"command": {}}, "required": ["command"]});
            json!({
                "model": "m", "stream": stream,
                "tools": [{"name": "Bash", "input_schema": schema}],
                "messages": [{"role": "user", "content": [
                    {"type": "text", "text": "<system-reminder>be good</system-reminder>"},
                    {"type": "text", "text": prompt},
                ]}],
            })
        },
        with_results: |mut body| {
            let messages = body["messages"].as_array_mut().unwrap();
            messages.push(json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]}));
            messages.push(json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": "neigh"}]}));
            body
        },
        text: |events| strings(events, "/delta/text"),
        whole_text: |whole| strings(whole["content"].as_array().unwrap(), "/text"),
        commands: |events| {
            let inputs = events
                .iter()
                .filter_map(|event| event.pointer("/delta/partial_json").and_then(Value::as_str));
            inputs.map(command_in).collect()
        },
    },
    Client {
        protocol: Protocol::Responses,
        path: |scene, _| format!("/s/{scene}/v1/responses"),
        body: |prompt, stream| {
            let schema = json!({"properties": {"command": {"type": "string"}}});
            json!({
                "model": "m", "stream": stream,
                "tools": [{"type": "function", "name": "shell_command", "parameters": schema}],
                "input": [
                    {"type": "message", "role": "user", "content": [
                        {"type": "input_text", "text": "<environment_context>x</environment_context>"}]},
                    {"type": "message", "role": "user", "content": [
                        {"type": "input_text", "text": prompt}]},
                ],
            })
        },
        with_results: |mut body| {
            let input = body["input"].as_array_mut().unwrap();
            for call in ["a", "b"] {
                input.push(
                    json!({"type": "function_call", "call_id": call, "name": "shell_command"}),
                );
            }
            for call in ["a", "b"] {
                input.push(json!({"type": "function_call_output", "call_id": call, "output": ""}));
            }
            body
        },
        text: |events| {
            let deltas: Vec<Value> = events
                .iter()
                .filter(|event| event["type"] == "response.output_text.delta")
                .cloned()
                .collect();
            strings(&deltas, "/delta")
        },
        whole_text: |whole| strings(whole["output"].as_array().unwrap(), "/content/0/text"),
        commands: |events| {
            let done = events.iter().filter(|event| event["type"] == "response.output_item.done");
            done.filter_map(|event| event.pointer("/item/arguments")?.as_str())
                .map(command_in)
                .collect()
        },
    },
    Client {
        protocol: Protocol::Chat,
        path: |scene, _| format!("/s/{scene}/v1/chat/completions"),
        body: |prompt, stream| {
            let schema = json!({"properties": {"command": {}, "timeout": {}}});
            json!({
                "model": "m", "stream": stream,
                "tools": [{"type": "function", "function": {"name": "bash", "parameters": schema}}],
                "messages": [
                    {"role": "system", "content": "be good"},
                    {"role": "user", "content": prompt},
                ],
            })
        },
        with_results: |mut body| {
            let messages = body["messages"].as_array_mut().unwrap();
            messages.push(json!({"role": "assistant", "tool_calls": [{"id": "c"}]}));
            messages.push(json!({"role": "tool", "tool_call_id": "c", "content": "neigh"}));
            body
        },
        text: |events| strings(events, "/choices/0/delta/content"),
        whole_text: |whole| whole["choices"][0]["message"]["content"].as_str().unwrap().to_owned(),
        commands: |events| {
            let arguments = events.iter().filter_map(|event| {
                event.pointer("/choices/0/delta/tool_calls/0/function/arguments")?.as_str()
            });
            arguments.filter(|text| !text.is_empty()).map(command_in).collect()
        },
    },
    Client {
        protocol: Protocol::Gemini,
        path: |scene, stream| {
            let verb = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
            format!("/s/{scene}/v1beta/models/m:{verb}")
        },
        body: |prompt, _| {
            let schema = json!({"properties": {"command": {}, "description": {}}});
            json!({
                "tools": [{"functionDeclarations": [
                    {"name": "run_shell_command", "parametersJsonSchema": schema}]}],
                "contents": [{"role": "user", "parts": [{"text": prompt}]}],
            })
        },
        with_results: |mut body| {
            let contents = body["contents"].as_array_mut().unwrap();
            contents.push(json!({"role": "model", "parts": [{"functionCall": {"name": "x"}}]}));
            contents.push(json!({"role": "user", "parts": [{"functionResponse": {"name": "x"}}]}));
            body
        },
        text: |events| {
            let parts = events.iter().map(|event| event["candidates"][0]["content"].clone());
            strings(&parts.collect::<Vec<_>>(), "/parts/0/text")
        },
        whole_text: |whole| {
            whole["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap().to_owned()
        },
        commands: |events| {
            let parts = events.iter().flat_map(|event| {
                conversation::list(&event["candidates"][0]["content"], "parts").to_vec()
            });
            parts
                .filter_map(|part| part.pointer("/functionCall/args/command").cloned())
                .map(|command| command.as_str().unwrap().to_owned())
                .collect()
        },
    },
];

fn strings(values: &[Value], pointer: &str) -> String {
    values.iter().filter_map(|value| value.pointer(pointer)?.as_str()).collect()
}

fn command_in(arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    arguments["command"].as_str().unwrap().to_owned()
}

impl Client {
    fn ask(&self, llm: &FakeLlm, scene: &str, stream: bool) -> Answer {
        ask(llm, &(self.path)(scene, stream), &(self.body)("feed the pony", stream))
    }
}

#[test]
fn a_text_comes_whole_in_every_protocol_streamed_or_not() {
    let llm = FakeLlm::start();
    for client in CLIENTS {
        for (scene, text) in [("hello", HELLO), ("unicode", UNICODE)] {
            let streamed = client.ask(&llm, scene, true);
            assert!(streamed.whole && streamed.status == 200, "{streamed:?}");
            assert_eq!((client.text)(&streamed.events()), text, "{:?}", client.protocol);
            let whole = client.ask(&llm, scene, false);
            assert_eq!((client.whole_text)(&whole.json()), text, "{:?}", client.protocol);
        }
    }
    let requests = llm.main_requests();
    assert_eq!(requests.len(), 16);
    assert!(requests.iter().all(|heard| heard.prompt() == "feed the pony"));
    assert!(requests.iter().all(|heard| heard.conversation.as_ref().unwrap().model == "m"));
}

#[test]
fn tools_are_asked_for_once_and_then_the_text_comes() {
    let llm = FakeLlm::start();
    for client in CLIENTS {
        let one = client.ask(&llm, "shell", true);
        assert_eq!((client.commands)(&one.events()), [SHELL_COMMAND], "{:?}", client.protocol);
        let two = client.ask(&llm, "parallel", true);
        assert_eq!((client.commands)(&two.events()), PARALLEL_COMMANDS, "{:?}", client.protocol);
        let next = (client.with_results)((client.body)("feed the pony", true));
        let last = ask(&llm, &(client.path)("parallel", true), &next);
        assert_eq!((client.text)(&last.events()), TOOLS_DONE, "{:?}", client.protocol);
        assert_eq!(llm.main_requests().last().unwrap().conversation.as_ref().unwrap().rounds, 1);
    }
}

#[test]
fn errors_have_the_shape_of_the_protocol() {
    let llm = FakeLlm::start();
    for client in CLIENTS {
        for status in [400, 401, 429, 500, 529] {
            let answer = client.ask(&llm, &status.to_string(), true);
            assert_eq!(answer.status, status);
            assert!(answer.json()["error"]["message"].is_string(), "{answer:?}");
        }
    }
    let gemini = CLIENTS[3].ask(&llm, "429", true).json();
    assert_eq!(gemini["error"]["status"], "RESOURCE_EXHAUSTED");
    let anthropic = CLIENTS[0].ask(&llm, "401", false).json();
    assert_eq!(anthropic["error"]["type"], "authentication_error");
}

#[test]
fn a_flaky_service_fails_twice_and_then_answers() {
    let llm = FakeLlm::start();
    let statuses: Vec<u16> = (0..4).map(|_| CLIENTS[0].ask(&llm, "flaky", true).status).collect();
    assert_eq!(statuses, [500, 500, 200, 200]);
}

#[test]
fn a_cut_answer_has_a_beginning_and_no_end() {
    let llm = FakeLlm::start();
    for client in CLIENTS {
        let answer = client.ask(&llm, "cut", true);
        assert!(!answer.whole && answer.status == 200);
        let text = (client.text)(&answer.events());
        assert!(text.starts_with("This answer"), "{text}");
    }
}

#[test]
fn a_stalled_answer_says_no_more_and_the_server_ends_all_the_same() {
    let llm = FakeLlm::start();
    for (scene, status) in [("stall", 200), ("stall-headers", 0)] {
        let mut stream = connect(&llm);
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let body = (CLIENTS[0].body)("feed the pony", true).to_string();
        send(&mut stream, "POST", &(CLIENTS[0].path)(scene, true), &body);
        let answer = receive(&mut stream);
        assert_eq!((answer.status, answer.whole), (status, false));
    }
    let mut silent = connect(&llm);
    let body = (CLIENTS[0].body)("feed the pony", true).to_string();
    send(&mut silent, "POST", &(CLIENTS[0].path)("stall-headers", true), &body);
    let before = Instant::now();
    drop(llm);
    assert!(before.elapsed() < Duration::from_secs(2), "{:?}", before.elapsed());
}

#[test]
fn slow_answers_take_their_time() {
    let llm = FakeLlm::start();
    let before = Instant::now();
    assert!(CLIENTS[2].ask(&llm, "slow", true).whole);
    assert!(before.elapsed() > Duration::from_secs(1));
}

#[test]
fn a_megabyte_is_echoed_by_its_hash() {
    let llm = FakeLlm::start();
    let prompt = "0123456789abcdef".repeat(1 << 16);
    for client in CLIENTS {
        let answer = ask(&llm, &(client.path)("echo", true), &(client.body)(&prompt, true));
        let text = (client.text)(&answer.events());
        assert_eq!(text, echo_of(&prompt));
        assert!(text.ends_with("of 1048576 bytes"), "{text}");
    }
}

#[test]
fn side_requests_are_answered_beside_the_scene() {
    let llm = FakeLlm::start();
    let title = json!({"model": "m", "messages": [{"role": "user", "content": "a title"}]});
    let answer = ask(&llm, "/s/stall/v1/chat/completions", &title).json();
    assert_eq!(answer["choices"][0]["message"]["content"], SIDE_TEXT);
    let schema = json!({"type": "object", "properties": {"choice": {"enum": ["flash"]}}});
    let route = json!({
        "contents": [{"role": "user", "parts": [{"text": "which?"}]}],
        "generationConfig": {"responseJsonSchema": schema},
    });
    let answer = ask(&llm, "/s/shell/v1beta/models/m:generateContent", &route).json();
    let text = answer["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), json!({"choice": "flash"}));
    assert_eq!(llm.main_requests().len(), 0);
    assert_eq!(llm.requests().len(), 2);
}

#[test]
fn one_connection_takes_many_requests_whole_or_in_chunks() {
    let llm = FakeLlm::start();
    let mut stream = connect(&llm);
    send(&mut stream, "HEAD", "/s/hello", "");
    assert_eq!(receive(&mut stream).status, 200);
    send(&mut stream, "GET", "/s/hello/v1/models", "");
    assert_eq!(receive(&mut stream).json()["data"][0]["id"], "fake-model");
    send(&mut stream, "POST", "/s/hello/v1/messages/count_tokens", "{}");
    assert_eq!(receive(&mut stream).json()["input_tokens"], 1);
    send(&mut stream, "GET", "/s/hello/nowhere", "");
    assert_eq!(receive(&mut stream).status, 404);
    send(&mut stream, "POST", "/s/no-such-scene/v1/messages", "{}");
    assert_eq!(receive(&mut stream).status, 404);
    let body = (CLIENTS[0].body)("feed the pony", false).to_string();
    let (first, second) = body.split_at(10);
    let head = "POST /s/hello/v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunked = format!(
        "{head}{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
        first.len(),
        second.len()
    );
    stream.write_all(chunked.as_bytes()).unwrap();
    assert_eq!((CLIENTS[0].whole_text)(&receive(&mut stream).json()), HELLO);
}

#[test]
fn what_is_no_request_ends_the_connection_and_nothing_else() {
    let llm = FakeLlm::start();
    let mut stream = connect(&llm);
    stream.write_all(b"\x16\x03\x01 no tls here\r\n\r\n").unwrap();
    assert_eq!(receive(&mut stream).status, 0);
    assert_eq!(CLIENTS[1].ask(&llm, "hello", true).status, 200);
}
