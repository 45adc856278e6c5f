//! A small face: the sessions of a `Host` over HTTP, for curl. `tiny_face [PORT] [LOGS]`.
//!
//! GET /sessions · POST /sessions?agent=claude[&program=PATH] (body: the prompt) ·
//! GET /sessions/KEY/events (`Last-Event-ID` or ?after=CURSOR) · POST /sessions/KEY/prompt ·
//! POST /sessions/KEY/cancel · POST /sessions/KEY/approvals/ID (body: allow or deny)
//!
//! A program that reaches the port can start programs; requests of web pages are turned away.

use stablehand::host::{Filter, OpenError, SubscribeError, Summary};
use stablehand::{Actor, Agent, Answer, From, Host, Policy, Session, SessionKey, Subscription};
use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

enum Reply {
    Text(String),
    Events(Subscription),
}

fn main() -> Result<(), Box<dyn Error>> {
    stablehand::init();
    let mut args = std::env::args().skip(1);
    let port: u16 = args.next().map_or(Ok(8080), |port| port.parse())?;
    let host = Host::new(args.next().unwrap_or_else(|| "logs".to_owned()));
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    writeln!(io::stdout(), "http://{}", listener.local_addr()?)?;
    for stream in listener.incoming() {
        let (host, stream) = (host.clone(), stream?);
        std::thread::spawn(move || serve(&host, &stream));
    }
    Ok(())
}

fn serve(host: &Host, mut stream: &TcpStream) -> io::Result<()> {
    let (status, text) = match reply(host, stream) {
        Ok(Reply::Events(mut frames)) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")?;
            return frames
                .try_for_each(|it| write!(stream, "id: {}\ndata: {}\n\n", it.cursor, it.json()));
        }
        Ok(Reply::Text(text)) => (200, text),
        Err(no) if no.is::<OpenError>() || no.is::<SubscribeError>() => (404, no.to_string()),
        Err(no) => (400, stablehand::error_chain(&*no)),
    };
    write!(stream, "HTTP/1.1 {status} Done\r\nContent-Length: {}\r\n\r\n{text}\n", text.len() + 1)
}

fn reply(host: &Host, stream: &TcpStream) -> Result<Reply, Box<dyn Error>> {
    let mut reader = BufReader::new(stream.take(1 << 20));
    let (mut first, mut body, mut length, mut last) = (String::new(), String::new(), 0, None);
    reader.read_line(&mut first)?;
    for header in reader.by_ref().lines() {
        let header = header?;
        let Some((name, value)) = header.split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse()?,
            "last-event-id" => last = Some(value.trim().to_owned()),
            "origin" => return Err("web pages are not served".into()),
            _ => {}
        }
    }
    reader.take(length).read_to_string(&mut body)?;
    let mut words = first.split_whitespace();
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let text = match (method, parts.as_slice()) {
        ("GET", ["sessions"]) => {
            let rows: Vec<String> =
                host.list(&Filter::default()).iter().map(Summary::json).collect();
            format!("[{}]", rows.join(",\n"))
        }
        ("POST", ["sessions"]) => start(host, query, &body)?.to_string(),
        ("GET", ["sessions", key, "events"]) => {
            let after = last.as_deref().or_else(|| argument(query, "after"));
            let from = after.map_or(Ok(From::Start), |text| text.parse().map(From::After))?;
            return Ok(Reply::Events(host.subscribe(key.parse()?, from)?));
        }
        ("POST", ["sessions", key, "prompt"]) => {
            host.prompt(open(host, key)?, body, person())?.to_string()
        }
        ("POST", ["sessions", key, "cancel"]) => {
            host.cancel(open(host, key)?, person())?;
            "cancelled".to_owned()
        }
        ("POST", ["sessions", key, "approvals", id]) => {
            let answer = match body.trim() {
                "allow" => Answer::Allow,
                "deny" => Answer::Deny { message: "a person said no".to_owned() },
                _ => return Err("the answers are allow and deny".into()),
            };
            host.answer(open(host, key)?, id, answer, person())?;
            "answered".to_owned()
        }
        _ => return Err(format!("there is no {method} {path}").into()),
    };
    Ok(Reply::Text(text))
}

fn start(host: &Host, query: &str, prompt: &str) -> Result<SessionKey, Box<dyn Error>> {
    let agent = argument(query, "agent").and_then(Agent::by_name).ok_or("name an agent")?;
    let mut spec = Session::builder(agent).prompt(prompt).conversation();
    if let Some(program) = argument(query, "program") {
        spec = spec.program(program);
    }
    Ok(host.start(spec.policy(Policy::Ask).actor(person()))?)
}

fn open(host: &Host, key: &str) -> Result<SessionKey, Box<dyn Error>> {
    let key = key.parse()?;
    Ok(host.open(key).map(|()| key)?)
}

fn argument<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn person() -> Actor {
    Actor::person("tiny-face")
}
