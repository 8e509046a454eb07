//! Chromium by its debugging pipe: JSON messages that end in a zero byte, on file descriptors 3 and 4.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Nothing a page does here takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The browser of this machine, if it has one.
pub fn find() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("GCNPROOF_BROWSER") {
        return Some(path.into());
    }
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
}

/// A running browser with one page.
pub struct Browser {
    child: Child,
    input: File,
    messages: Receiver<Value>,
    last: u64,
    session: Option<String>,
    /// Everything that happened, in order.
    pub events: Vec<Value>,
    _folder: tempfile::TempDir,
}

impl Browser {
    pub fn start(program: &Path) -> Browser {
        let folder = tempfile::tempdir().unwrap();
        let pipes = ["in", "out"].map(|name| folder.path().join(name));
        assert!(Command::new("mkfifo").args(&pipes).status().unwrap().success());
        let child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<\"$PIPE_IN\" 4>\"$PIPE_OUT\""])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe", "--window-size=1200,900"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .arg("about:blank")
            .envs([("PIPE_IN", &pipes[0]), ("PIPE_OUT", &pipes[1])])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The shell opens them in this order, and each side waits for the other.
        let input = OpenOptions::new().write(true).open(&pipes[0]).unwrap();
        let output = File::open(&pipes[1]).unwrap();
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0).map_while(Result::ok) {
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    break;
                }
            }
        });
        let mut browser =
            Browser { child, input, messages, last: 0, session: None, events: Vec::new(), _folder: folder };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_string);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Asks for something and waits for the answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.input.write_all(message.to_string().as_bytes()).unwrap();
        self.input.write_all(&[0]).unwrap();
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect("the browser answers in time");
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    /// Opens a page and waits until it is loaded. Returns how long that took.
    pub fn open(&mut self, page: &Path) -> Duration {
        self.open_at(page, "")
    }

    /// The same at a place of the page, such as `#node=7`.
    pub fn open_at(&mut self, page: &Path, place: &str) -> Duration {
        let start = Instant::now();
        self.events.clear();
        // From one place of a page to another nothing is loaded: start from elsewhere.
        self.navigate("about:blank");
        self.events.clear();
        self.navigate(&format!("file://{}{place}", page.canonicalize().unwrap().display()));
        start.elapsed()
    }

    fn navigate(&mut self, url: &str) {
        self.events.retain(|event| event["method"] != "Page.loadEventFired");
        self.call("Page.navigate", json!({ "url": url }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.messages.recv_timeout(PATIENCE).expect("the page loads in time");
            self.events.push(event);
        }
    }

    /// Pretends to be a screen of this width, in light or dark colours, or a sheet of paper.
    pub fn pretend(&mut self, width: u32, scheme: &str, medium: &str) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "media": medium, "features": features }));
    }

    /// The page on A4, as the bytes of a PDF file in base 64.
    pub fn pdf(&mut self) -> String {
        let paper = json!({ "paperWidth": 8.27, "paperHeight": 11.69 });
        self.call("Page.printToPDF", paper)["data"].as_str().unwrap().to_string()
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let answer = self
            .call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true, "awaitPromise": true }));
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Errors on the console, uncaught exceptions, and refused requests.
    pub fn complaints(&self) -> Vec<&Value> {
        let wrong = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Network.loadingFailed") => true,
            Some("Runtime.consoleAPICalled") => event["params"]["type"] == "error",
            Some("Log.entryAdded") => event["params"]["entry"]["level"] == "error",
            _ => false,
        };
        self.events.iter().filter(wrong).collect()
    }

    /// The addresses that were asked for.
    pub fn requests(&self) -> Vec<String> {
        let asked = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        asked.map(|event| event["params"]["request"]["url"].as_str().unwrap_or_default().to_string()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
