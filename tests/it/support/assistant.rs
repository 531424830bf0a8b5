//! A client of `oomdoc mcp`, which exchanges one message per line over the process's standard streams.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Value, json};

pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A session whose initialisation is done.
pub struct Assistant {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
    /// The server's answer to `initialize`.
    pub greeting: Value,
    /// Notifications received so far.
    pub told: Vec<Value>,
}

/// The command with OOMDOC_HOME set to `home`.
pub fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command.arg("mcp").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).env("OOMDOC_HOME", home);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

impl Assistant {
    /// Starts the server and initialises the session.
    pub fn new(home: &Path, arguments: &[&str]) -> Outcome<Assistant> {
        Assistant::of(command(home, arguments))
    }

    pub fn of(mut command: Command) -> Outcome<Assistant> {
        let mut server = command.spawn()?;
        let input = server.stdin.take();
        let output = BufReader::new(server.stdout.take().ok_or("no output")?);
        let mut assistant = Assistant { server, input, output, asked: 0, greeting: Value::Null, told: Vec::new() };
        let about = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "tests", "version": "1" } });
        assistant.greeting = assistant.ask("initialize", about)?["result"].take();
        assistant.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(assistant)
    }

    /// Sends any JSON as a message.
    pub fn write(&mut self, bytes: &[u8]) -> Outcome {
        let input = self.input.as_mut().ok_or("the input is closed")?;
        input.write_all(bytes)?;
        Ok(input.flush()?)
    }

    pub fn send(&mut self, message: &Value) -> Outcome {
        self.write(format!("{message}\n").as_bytes())
    }

    /// Reads the next line, which must be a message.
    pub fn read(&mut self) -> Outcome<Value> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err("the server ended".into()),
            _ => serde_json::from_str(&line).map_err(|error| format!("{error}: {line}").into()),
        }
    }

    /// Sends a request and returns its id.
    pub fn begin(&mut self, method: &str, parameters: Value) -> Outcome<u64> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }))?;
        Ok(id)
    }

    pub fn ask(&mut self, method: &str, parameters: Value) -> Outcome<Value> {
        let id = self.begin(method, parameters)?;
        loop {
            let message = self.read()?;
            match message["id"] == id {
                true => return Ok(message),
                false => self.told.push(message),
            }
        }
    }

    /// Calls a tool and returns its answer.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Outcome<Value> {
        let mut answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))?;
        match answer["result"].take() {
            Value::Null => Err(format!("{tool}: {answer}").into()),
            result => Ok(result),
        }
    }

    /// Calls a tool that must succeed, and returns its result.
    pub fn result(&mut self, tool: &str, arguments: Value) -> Outcome<Value> {
        let mut answer = self.call(tool, arguments)?;
        if answer["isError"] == true {
            return Err(format!("{tool}: {}", answer["content"][0]["text"]).into());
        }
        Ok(answer["structuredContent"].take())
    }

    /// Calls a tool that must fail, and returns its error message.
    pub fn problem(&mut self, tool: &str, arguments: Value) -> Outcome<String> {
        let answer = self.call(tool, arguments)?;
        match (&answer["isError"], answer["content"][0]["text"].as_str()) {
            (Value::Bool(true), Some(text)) => Ok(text.to_owned()),
            _ => Err(format!("{tool} is content: {answer}").into()),
        }
    }

    /// Ends the session by closing standard input, as clients do. Returns the server's exit status and its remaining
    /// output.
    pub fn end(mut self) -> Outcome<(ExitStatus, String)> {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest)?;
        Ok((self.server.wait()?, rest))
    }

    /// Disappears without reading further. Returns the server's exit status after it tried to answer once more.
    pub fn vanish(self) -> Outcome<ExitStatus> {
        let Assistant { mut server, mut input, output, .. } = self;
        drop(output);
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        if let Some(input) = &mut input {
            // The server may have exited already.
            let _ = input.write_all(format!("{ping}\n").as_bytes());
        }
        Ok(server.wait()?)
    }
}

/// `oomdoc serve`, used with tokens.
pub struct Team {
    server: Child,
    address: String,
}

impl Team {
    pub fn new(home: &Path) -> Outcome<Team> {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("OOMDOC_HOME", home);
        let mut server = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        BufReader::new(server.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let address = line.trim().rsplit('/').next().unwrap_or_default().to_owned();
        Ok(Team { server, address })
    }

    /// Status and body of the answer to `POST /mcp`.
    pub fn post(&self, token: Option<&str>, host: Option<&str>, body: &str) -> Outcome<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address)?;
        let host = host.unwrap_or(&self.address);
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{token}\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        // A server that refuses the request need not read all of it.
        let _ = stream.write_all(body.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
        let status = head.split(' ').nth(1).ok_or("no status")?.parse()?;
        Ok((status, body.to_owned()))
    }

    /// Calls a method and returns its answer.
    pub fn ask(&self, token: &str, method: &str, parameters: Value) -> Outcome<Value> {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters });
        match self.post(Some(token), None, &message.to_string())? {
            (200, body) => Ok(serde_json::from_str(&body)?),
            (status, body) => Err(format!("{method}: {status} {body}").into()),
        }
    }

    /// Calls a tool and returns its answer.
    pub fn call(&self, token: &str, tool: &str, arguments: Value) -> Outcome<Value> {
        Ok(self.ask(token, "tools/call", json!({ "name": tool, "arguments": arguments }))?["result"].take())
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// All citations within `value`: a path, a line and the text of the line.
pub fn cites<'v>(value: &'v Value, found: &mut Vec<(&'v str, u64, &'v str)>) {
    match value {
        Value::Object(keys) => {
            if let (Some(path), Some(line), Some(text)) = (
                keys.get("path").and_then(Value::as_str),
                keys.get("line").and_then(Value::as_u64),
                keys.get("text").and_then(Value::as_str),
            ) {
                found.push((path, line, text));
            }
            keys.values().for_each(|value| cites(value, found));
        }
        Value::Array(all) => all.iter().for_each(|value| cites(value, found)),
        _ => {}
    }
}
