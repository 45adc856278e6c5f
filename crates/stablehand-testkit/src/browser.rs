//! A real browser without a window: Chromium, spoken to by its protocol for developers' tools.
//!
//! Owns the process and the conversation with it: JSON messages, each ended by a zero byte, over its
//! descriptors 3 and 4. So no port is opened and nobody else can talk to it. Pages are opened, moved
//! in by real mouse and key events, and asked by expressions. It notes what a page complains about
//! and what it asks the network for. Every wait has a bound, and the processes end with the value.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The names that the program may have.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// How long it may take to answer, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(40);

/// Starts the browser with its orders on descriptor 3 and its answers on 4.
const START: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<Value>,
    page: String,
    count: u64,
    complaints: Vec<String>,
    requests: Vec<String>,
    _profile: TempDir,
}

/// Where the program is; `STABLEHAND_CHROMIUM` names another.
pub fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("STABLEHAND_CHROMIUM") {
        return Some(PathBuf::from(named));
    }
    let path = std::env::var_os("PATH")?;
    let places = || std::env::split_paths(&path);
    NAMES.iter().find_map(|name| places().map(|place| place.join(name)).find(|file| file.is_file()))
}

impl Browser {
    /// Starts the program with a new, empty profile and a page of nothing.
    pub fn start(program: &Path) -> Browser {
        let profile = TempDir::with_prefix("stablehand-browser-").expect("a temporary folder");
        let mut data = std::ffi::OsString::from("--user-data-dir=");
        data.push(profile.path());
        let mut child = Command::new("/bin/sh")
            .args(["-c", START])
            .arg(program)
            .args([
                "--headless",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--hide-scrollbars",
            ])
            .arg(data)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("starting the browser");
        let orders = child.stdin.take().expect("its orders");
        let stdout = child.stdout.take().expect("its answers");
        let (send, answers) = channel();
        // It ends with the browser's end of the pipe.
        std::thread::spawn(move || {
            for message in BufReader::new(stdout).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { continue };
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Browser {
            child,
            orders,
            answers,
            page: String::new(),
            count: 0,
            complaints: Vec::new(),
            requests: Vec::new(),
            _profile: profile,
        };
        browser.attach();
        browser
    }

    fn attach(&mut self) {
        let made = self.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let target = &made["targetId"];
        let attached =
            self.call("Target.attachToTarget", &json!({ "targetId": target, "flatten": true }));
        let session = attached["sessionId"].as_str().expect("a session of the page");
        session.clone_into(&mut self.page);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
        self.size(1280, 720);
    }

    /// Gives an order and waits for its answer.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.count += 1;
        let mut order = json!({ "id": self.count, "method": method, "params": params });
        if !self.page.is_empty() {
            order["sessionId"] = self.page.as_str().into();
        }
        let mut bytes = serde_json::to_vec(&order).expect("an order as JSON");
        bytes.push(0);
        self.orders.write_all(&bytes).expect("the browser takes orders");
        let start = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(start.elapsed());
            let message = match self.answers.recv_timeout(left) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => panic!("no answer to {method} in {PATIENCE:?}"),
                Err(RecvTimeoutError::Disconnected) => panic!("the browser is gone at {method}"),
            };
            if message["id"] == self.count {
                assert!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    /// What the page does by itself.
    fn note(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => {
                self.complaints.push(params["exceptionDetails"].to_string());
            }
            "Log.entryAdded" => self.complaints.push(params["entry"]["text"].to_string()),
            "Runtime.consoleAPICalled" => self.complaints.push(params["args"].to_string()),
            "Network.requestWillBeSent" => {
                let url = params["request"]["url"].as_str().unwrap_or_default();
                self.requests.push(url.to_owned());
            }
            "Page.javascriptDialogOpening" => {
                self.complaints.push(format!("a dialog: {}", params["message"]));
            }
            _ => {}
        }
    }

    /// Opens a file and waits until it is there.
    pub fn open(&mut self, file: &Path) {
        let url = format!("file://{}", file.display());
        self.call("Page.navigate", &json!({ "url": url }));
        self.wait_for("the page", "document.readyState === 'complete'");
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", &params);
        let thrown = answer.get("exceptionDetails");
        assert!(thrown.is_none(), "{expression}: {thrown:?}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn wait_for(&mut self, what: &str, expression: &str) {
        let start = Instant::now();
        while self.eval(expression) != true {
            let said = &self.complaints;
            assert!(start.elapsed() < PATIENCE, "waited for {what}: {expression}; {said:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// How large the page is, in pixels.
    pub fn size(&mut self, width: u32, height: u32) {
        let params = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.call("Emulation.setDeviceMetricsOverride", &params);
    }

    /// Whether the reader likes it dark.
    pub fn dark(&mut self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let params = json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] });
        self.call("Emulation.setEmulatedMedia", &params);
    }

    /// Presses and releases a key, by its name in the browser: `a`, `Enter`, `ArrowLeft`.
    pub fn key(&mut self, key: &str) {
        let text = match key {
            "Enter" => "\r",
            key if key.chars().count() == 1 => key,
            _ => "",
        };
        for kind in ["keyDown", "keyUp"] {
            let mut params = json!({ "type": kind, "key": key });
            if kind == "keyDown" && !text.is_empty() {
                params["text"] = text.into();
            }
            self.call("Input.dispatchKeyEvent", &params);
        }
    }

    /// Types a text where the focus is.
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    /// Turns the wheel at a place; away from the person is negative.
    pub fn wheel(&mut self, x: f64, y: f64, by: f64) {
        let params = json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": by });
        self.call("Input.dispatchMouseEvent", &params);
    }

    /// Moves the mouse.
    pub fn hover(&mut self, x: f64, y: f64) {
        self.call("Input.dispatchMouseEvent", &json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    /// Drags from one place to another; the same place is a click.
    pub fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        let mut mouse = |kind: &str, (x, y): (f64, f64), buttons: u8| {
            let params = json!({
                "type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", &params);
        };
        mouse("mousePressed", from, 1);
        if from != to {
            mouse("mouseMoved", (f64::midpoint(from.0, to.0), f64::midpoint(from.1, to.1)), 1);
            mouse("mouseMoved", to, 1);
        }
        mouse("mouseReleased", to, 0);
    }

    /// Clicks.
    pub fn click(&mut self, x: f64, y: f64) {
        self.drag((x, y), (x, y));
    }

    /// What the page looks like, as a PNG.
    pub fn screenshot(&mut self) -> Vec<u8> {
        let shot = self.call("Page.captureScreenshot", &json!({ "format": "png" }));
        STANDARD.decode(shot["data"].as_str().unwrap_or_default()).expect("a picture in base64")
    }

    /// What the page complained about: exceptions, refused content, its own log.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// What the page asked for, itself included.
    pub fn requests(&self) -> &[String] {
        &self.requests
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.child.id().cast_signed());
        // Its own processes are all in its group; the profile goes when they have gone.
        let _gone_already = killpg(group, Signal::SIGKILL);
        let _reaped = self.child.wait();
    }
}
