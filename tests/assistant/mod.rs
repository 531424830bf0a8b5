//! `oomdoc mcp` as an assistant's client talks to it: a message a line, over the process' own standard streams.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Value, json};

pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A conversation that was begun.
pub struct Assistant {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
    /// What the server said when it was greeted.
    pub greeting: Value,
    /// What it told without being asked.
    pub told: Vec<Value>,
}

/// The command, with `home` for its own.
pub fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command.arg("mcp").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).env("OOMDOC_HOME", home);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

impl Assistant {
    /// Starts the server and greets it.
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

    /// Sends a message, whatever it is.
    pub fn write(&mut self, bytes: &[u8]) -> Outcome {
        let input = self.input.as_mut().ok_or("the input is closed")?;
        input.write_all(bytes)?;
        Ok(input.flush()?)
    }

    pub fn send(&mut self, message: &Value) -> Outcome {
        self.write(format!("{message}\n").as_bytes())
    }

    /// The next message; nothing but messages may stand there.
    pub fn read(&mut self) -> Outcome<Value> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err("the server ended".into()),
            _ => serde_json::from_str(&line).map_err(|error| format!("{error}: {line}").into()),
        }
    }

    /// Asks for something; the number by which the answer is known.
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

    /// What a tool answers.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Outcome<Value> {
        let mut answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))?;
        match answer["result"].take() {
            Value::Null => Err(format!("{tool}: {answer}").into()),
            result => Ok(result),
        }
    }

    /// The result of a tool that has one.
    pub fn result(&mut self, tool: &str, arguments: Value) -> Outcome<Value> {
        let mut answer = self.call(tool, arguments)?;
        if answer["isError"] == true {
            return Err(format!("{tool}: {}", answer["content"][0]["text"]).into());
        }
        Ok(answer["structuredContent"].take())
    }

    /// What a tool says went wrong.
    pub fn problem(&mut self, tool: &str, arguments: Value) -> Outcome<String> {
        let answer = self.call(tool, arguments)?;
        match (&answer["isError"], answer["content"][0]["text"].as_str()) {
            (Value::Bool(true), Some(text)) => Ok(text.to_owned()),
            _ => Err(format!("{tool} is content: {answer}").into()),
        }
    }

    /// Ends the conversation as clients do; how the server ended, and what it said at last.
    pub fn end(mut self) -> Outcome<(ExitStatus, String)> {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest)?;
        Ok((self.server.wait()?, rest))
    }

    /// Goes away without a word; how the server ended once it had something to say.
    pub fn vanish(self) -> Outcome<ExitStatus> {
        let Assistant { mut server, mut input, output, .. } = self;
        drop(output);
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        if let Some(input) = &mut input {
            // It may be gone already.
            let _ = input.write_all(format!("{ping}\n").as_bytes());
        }
        Ok(server.wait()?)
    }
}

/// `oomdoc serve`, to whoever has a token.
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

    /// The status and the body that `POST /mcp` answers.
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
        // Who refuses it need not read all of it.
        let _ = stream.write_all(body.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
        let status = head.split(' ').nth(1).ok_or("no status")?.parse()?;
        Ok((status, body.to_owned()))
    }

    /// What a method answers.
    pub fn ask(&self, token: &str, method: &str, parameters: Value) -> Outcome<Value> {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters });
        match self.post(Some(token), None, &message.to_string())? {
            (200, body) => Ok(serde_json::from_str(&body)?),
            (status, body) => Err(format!("{method}: {status} {body}").into()),
        }
    }

    /// What a tool answers.
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

/// Whatever cites in `value`: a path, a line and its words.
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
