//! A CalDAV server in memory: one user, several calendars, faults on request.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use super::exchange::{Asked, Reply, serve};

/// What happens to the next request with this method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// This answer instead of doing it.
    Status { status: u16, retry_after: Option<u32> },
    /// The line is cut before anything is done.
    CutBefore,
    /// It is done, and the line cut instead of answering.
    CutAfter,
    /// It is done, and answered with this status.
    DoneThen { status: u16 },
    /// It is done, and nothing is said.
    DoneThenSilence,
    /// Just before it, somebody else does this.
    Meanwhile(Elsewhere),
}

/// Another program's doing, straight on the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Elsewhere {
    Put { path: String, data: String },
    Delete { path: String },
    Move { from: String, to: String },
}

#[derive(Default)]
struct State {
    resources: BTreeMap<String, (u64, String)>,
    versions: u64,
    faults: VecDeque<(String, Fault)>,
    log: Vec<Asked>,
    ignores_if_none_match: bool,
    changes: Vec<String>,
    forgets_tokens: bool,
}

#[derive(Clone)]
pub struct CalDavServer {
    pub url: String,
    state: Arc<Mutex<State>>,
}

pub const WORK: &str = "/ann/calendars/work/";
pub const FAMILY: &str = "/ann/calendars/family/";
pub const SHARED: &str = "/ann/calendars/shared/";

impl CalDavServer {
    pub async fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        let url = serve(move |asked| {
            let shared = shared.clone();
            async move { shared.lock().unwrap().answer(asked) }
        })
        .await;
        Self { url, state }
    }

    pub fn ignore_if_none_match(&self) {
        self.state.lock().unwrap().ignores_if_none_match = true;
    }

    pub fn forget_tokens(&self) {
        self.state.lock().unwrap().forgets_tokens = true;
    }

    /// Arms `fault` for the next request with `method`; several are used up in order.
    pub fn fault(&self, method: &str, fault: Fault) {
        self.state.lock().unwrap().faults.push_back((method.to_owned(), fault));
    }

    pub fn elsewhere(&self, act: Elsewhere) {
        self.state.lock().unwrap().act(act);
    }

    /// Requests so far with this method.
    pub fn asked(&self, method: &str) -> Vec<Asked> {
        self.state.lock().unwrap().log.iter().filter(|asked| asked.method == method).cloned().collect()
    }

    /// Paths and data of everything stored.
    pub fn stored(&self) -> Vec<(String, String)> {
        let state = self.state.lock().unwrap();
        state.resources.iter().map(|(path, (_, data))| (path.clone(), data.clone())).collect()
    }
}

impl State {
    fn act(&mut self, act: Elsewhere) {
        match act {
            Elsewhere::Put { path, data } => self.store(&path, data),
            Elsewhere::Delete { path } => {
                self.resources.remove(&path);
                self.changes.push(path);
            }
            Elsewhere::Move { from, to } => {
                let (_, data) = self.resources.remove(&from).unwrap();
                self.changes.push(from);
                self.store(&to, data);
            }
        }
    }

    fn store(&mut self, path: &str, data: String) {
        self.versions += 1;
        self.resources.insert(path.to_owned(), (self.versions, data));
        self.changes.push(path.to_owned());
    }

    fn answer(&mut self, asked: Asked) -> Reply {
        self.log.push(asked.clone());
        let at = self.faults.iter().position(|(method, _)| *method == asked.method);
        let fault = at.and_then(|at| self.faults.remove(at)).map(|(_, fault)| fault);
        match fault {
            None => self.perform(&asked),
            Some(Fault::Status { status, retry_after }) => {
                let reply = Reply::status(status);
                retry_after.into_iter().fold(reply, |reply, seconds| reply.with("retry-after", seconds.to_string()))
            }
            Some(Fault::CutBefore) => Reply::Cut,
            Some(Fault::CutAfter) => {
                self.perform(&asked);
                Reply::Cut
            }
            Some(Fault::DoneThen { status }) => {
                self.perform(&asked);
                Reply::status(status)
            }
            Some(Fault::DoneThenSilence) => {
                self.perform(&asked);
                Reply::Silence
            }
            Some(Fault::Meanwhile(act)) => {
                self.act(act);
                self.perform(&asked)
            }
        }
    }

    fn perform(&mut self, asked: &Asked) -> Reply {
        let signed_in = asked.header("authorization") == Some("Basic YW5uOnNlY3JldA==");
        if !signed_in {
            return Reply::status(401).with("www-authenticate", "Basic realm=\"calendars\"");
        }
        match asked.method.as_str() {
            "PROPFIND" => propfind(asked),
            "GET" => match self.resources.get(&asked.path) {
                Some((version, data)) => {
                    Reply::status(200).with("etag", format!("\"v{version}\"")).body("text/calendar", data.clone())
                }
                None => Reply::status(404),
            },
            "PUT" => self.put(asked),
            "DELETE" => {
                let Some((version, _)) = self.resources.get(&asked.path) else { return Reply::status(404) };
                if asked.header("if-match").is_some_and(|wanted| wanted != format!("\"v{version}\"")) {
                    return Reply::status(412);
                }
                self.act(Elsewhere::Delete { path: asked.path.clone() });
                Reply::status(204)
            }
            "REPORT" => self.report(asked),
            _other => Reply::status(405),
        }
    }

    fn put(&mut self, asked: &Asked) -> Reply {
        if asked.path.starts_with(SHARED) {
            return Reply::status(403);
        }
        let standing = self.resources.get(&asked.path).map(|(version, _)| *version);
        if asked.header("if-none-match") == Some("*") && standing.is_some() && !self.ignores_if_none_match {
            return Reply::status(412);
        }
        if let Some(wanted) = asked.header("if-match")
            && standing.map(|version| format!("\"v{version}\"")).as_deref() != Some(wanted)
        {
            return Reply::status(412);
        }
        let folder = asked.path.rsplit_once('/').unwrap().0;
        let uid = uid(&asked.body);
        let taken = self
            .resources
            .iter()
            .any(|(path, (_, data))| *path != asked.path && path.starts_with(folder) && self::uid(data) == uid);
        if taken {
            return Reply::status(409).body(
                "application/xml",
                "<error xmlns=\"DAV:\"><C:no-uid-conflict xmlns:C=\"urn:ietf:params:xml:ns:caldav\"/></error>",
            );
        }
        self.store(&asked.path, asked.body.clone());
        Reply::status(if standing.is_some() { 204 } else { 201 })
    }

    fn report(&self, asked: &Asked) -> Reply {
        let body = &asked.body;
        if body.contains("sync-collection") {
            return self.changes_since(asked);
        }
        let wanted_uid = between(body, "text-match", "</");
        let hrefs: Vec<&str> =
            body.match_indices("href>").filter_map(|(at, _)| body[at + 5..].split('<').next()).collect();
        let mut responses = String::new();
        for (path, (version, data)) in self.resources.iter().filter(|(path, _)| path.starts_with(&asked.path)) {
            let by_uid = wanted_uid.is_none_or(|wanted| uid(data).as_deref().is_some_and(|uid| uid.contains(wanted)));
            let by_href = !body.contains("calendar-multiget") || hrefs.contains(&path.as_str());
            if by_uid && by_href {
                responses.push_str(&format!(
                    "<response><href>{path}</href><propstat><prop><getetag>\"v{version}\"</getetag>\
                     <C:calendar-data>{}</C:calendar-data></prop><status>HTTP/1.1 200 OK</status></propstat></response>",
                    data.replace('&', "&amp;").replace('<', "&lt;")
                ));
            }
        }
        multistatus(&responses)
    }

    fn changes_since(&self, asked: &Asked) -> Reply {
        let token = between(&asked.body, "sync-token", "</").filter(|token| token.starts_with("t:"));
        if token.is_some() && self.forgets_tokens {
            return Reply::status(403).body("application/xml", "<error xmlns=\"DAV:\"><valid-sync-token/></error>");
        }
        let seen: usize = token.and_then(|token| token.strip_prefix("t:")?.parse().ok()).unwrap_or(0);
        let mut paths: Vec<&String> =
            self.changes[seen..].iter().filter(|path| path.starts_with(&asked.path)).collect();
        paths.sort();
        paths.dedup();
        let mut responses = String::new();
        for path in paths {
            match self.resources.get(path) {
                Some((version, _)) => responses.push_str(&format!(
                    "<response><href>{path}</href><propstat><prop><getetag>\"v{version}\"</getetag></prop>\
                     <status>HTTP/1.1 200 OK</status></propstat></response>"
                )),
                None => responses.push_str(&format!(
                    "<response><href>{path}</href><status>HTTP/1.1 404 Not Found</status></response>"
                )),
            }
        }
        multistatus(&format!("{responses}<sync-token>t:{}</sync-token>", self.changes.len()))
    }
}

fn propfind(asked: &Asked) -> Reply {
    let property = |path: &str, property: &str| {
        multistatus(&format!(
            "<response><href>{path}</href><propstat><prop>{property}</prop><status>HTTP/1.1 200 OK</status></propstat></response>"
        ))
    };
    match asked.path.as_str() {
        "/" => property("/", "<current-user-principal><href>/ann/</href></current-user-principal>"),
        "/ann/" => property("/ann/", "<C:calendar-home-set><href>/ann/calendars/</href></C:calendar-home-set>"),
        "/ann/calendars/" => {
            let mut responses = String::from(
                "<response><href>/ann/calendars/</href><propstat><prop><resourcetype><collection/></resourcetype></prop></propstat></response>",
            );
            for (href, name, privileges) in [
                (SHARED, "Shared", "<privilege><read/></privilege>"),
                (WORK, "Work", "<privilege><read/></privilege><privilege><write/></privilege>"),
                (FAMILY, "Family", ""),
            ] {
                responses.push_str(&format!(
                    "<response><href>{href}</href><propstat><prop><resourcetype><collection/><C:calendar/></resourcetype>\
                     <displayname>{name}</displayname><current-user-privilege-set>{privileges}</current-user-privilege-set>\
                     <C:supported-calendar-component-set><C:comp name=\"VEVENT\"/></C:supported-calendar-component-set>\
                     </prop><status>HTTP/1.1 200 OK</status></propstat></response>"
                ));
            }
            responses.push_str(
                "<response><href>/ann/calendars/tasks/</href><propstat><prop><resourcetype><collection/><C:calendar/></resourcetype>\
                 <displayname>Tasks</displayname><C:supported-calendar-component-set><C:comp name=\"VTODO\"/></C:supported-calendar-component-set>\
                 </prop><status>HTTP/1.1 200 OK</status></propstat></response>",
            );
            multistatus(&responses)
        }
        _other => Reply::status(404),
    }
}

fn multistatus(responses: &str) -> Reply {
    Reply::status(207).body(
        "application/xml; charset=utf-8",
        format!(
            "<?xml version=\"1.0\"?><multistatus xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\">{responses}</multistatus>"
        ),
    )
}

fn uid(data: &str) -> Option<String> {
    data.lines().find_map(|line| line.strip_prefix("UID:")).map(|uid| uid.trim().to_owned())
}

/// Text of the first element called `name`, whatever its prefix.
fn between<'a>(xml: &'a str, name: &str, end: &str) -> Option<&'a str> {
    let after = &xml[xml.find(name)? + name.len()..];
    let text = &after[after.find('>')? + 1..];
    text.split(end).next().map(str::trim)
}
