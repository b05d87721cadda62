//! From an address to the calendars behind it (RFC 6764 and RFC 4791, section 6).

use std::time::Duration;

use http::{StatusCode, Uri};
use libdav::caldav::{FindCalendarHomeSet, FindCalendarHomeSetResponse};
use libdav::dav::{FindPropertyHrefs, Propfind, RequestError, WebDavClient};
use libdav::encoding::normalise_percent_encoded;
use libdav::requests::DavRequest;
use libdav::sd::{ContextUrl, DiscoverableService, find_context_url};
use libdav::{Depth, PropertyName, names};

use super::errors::{Intent, no_answer, refusal};
use super::settings::Settings;
use super::transport::{Transport, TransportError};
use crate::domain::ports::CalendarError;

const PRIVILEGES: PropertyName = PropertyName::new(names::DAV, "current-user-privilege-set");
/// DNS records of a host that has none can take long to not arrive.
const DNS_PATIENCE: Duration = Duration::from_secs(5);

/// A calendar on the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collection {
    /// Path, ending in a slash.
    pub href: String,
    pub name: String,
    pub writable: bool,
}

/// A server that answered, and what it has for this user.
#[derive(Clone)]
pub struct Server {
    pub client: WebDavClient<Transport>,
    pub collections: Vec<Collection>,
}

impl Server {
    /// Finds the user's calendars, starting from whatever the person typed.
    pub async fn discover(settings: &Settings) -> Result<Self, CalendarError> {
        let address = Address::parse(&settings.url)?;
        let mut client = WebDavClient::new(address.uri.clone(), Transport::new(settings)?);
        if address.by_host {
            client.base_url = by_dns(&client).await.unwrap_or(address.uri);
        }
        let (client, home) = find_home(client).await?;
        let server = Self { client, collections: Vec::new() };
        let mut collections = server.list(&home).await?;
        // An address of one calendar outside the home still names that calendar.
        let own = server.client.base_url.path().to_owned();
        if collections.is_empty() && own != home {
            collections = server.list(&own).await?;
        }
        Ok(Self { collections, ..server })
    }

    /// Sends a typed request; an answer other than success is read by [`refusal`].
    pub async fn run<R>(&self, request: &R, intent: Intent, id: &str) -> Result<R::Response, CalendarError>
    where
        R: DavRequest,
        R::ParseError: std::fmt::Display,
    {
        let (parts, body) = self.send(request, intent).await?;
        if !parts.status.is_success() {
            return Err(refusal(&parts, &body, intent, id));
        }
        request.parse_response(&parts, &body).map_err(|error| {
            let reason = format!("the server's answer cannot be read: {error}");
            match intent {
                Intent::Read => CalendarError::Unavailable { reason, retry_after: None },
                Intent::Write => CalendarError::NoAnswer { reason },
            }
        })
    }

    /// Sends a typed request and hands back whatever was answered.
    pub async fn send<R: DavRequest>(
        &self,
        request: &R,
        intent: Intent,
    ) -> Result<(http::response::Parts, Vec<u8>), CalendarError> {
        let request = request
            .prepare_request(self.client.base_url.clone())
            .map_err(|error| CalendarError::Refused { reason: format!("not a usable address: {error}") })?;
        self.raw(request, intent).await
    }

    pub async fn raw(
        &self,
        request: http::Request<String>,
        intent: Intent,
    ) -> Result<(http::response::Parts, Vec<u8>), CalendarError> {
        let (parts, body) = self
            .client
            .request_raw(request)
            .await
            .map_err(|error: RequestError<TransportError>| no_answer(&error, intent))?;
        Ok((parts, body.to_vec()))
    }

    /// Calendars that hold events, directly under `home` (or `home` itself).
    async fn list(&self, home: &str) -> Result<Vec<Collection>, CalendarError> {
        let request = Propfind::new(home).with_depth(Depth::One).with_properties(&[
            &names::RESOURCETYPE,
            &names::DISPLAY_NAME,
            &PRIVILEGES,
            &names::SUPPORTED_CALENDAR_COMPONENT_SET,
        ]);
        let answer = self.run(&request, Intent::Read, home).await?;
        let unreadable = |error: String| CalendarError::Unavailable {
            reason: format!("the list of calendars cannot be read: {error}"),
            retry_after: None,
        };
        let tree = answer.xml_tree().map_err(|error| unreadable(error.to_string()))?;
        let mut found = Vec::new();
        for response in tree.descendants().filter(|node| node.tag_name() == names::RESPONSE) {
            let of =
                |name: PropertyName<'static, 'static>| response.descendants().find(move |node| node.tag_name() == name);
            let is_calendar = of(names::RESOURCETYPE)
                .is_some_and(|kind| kind.descendants().any(|node| node.tag_name() == names::CALENDAR));
            let href = of(names::HREF).and_then(|node| node.text()).and_then(path_of);
            let (true, Some(href)) = (is_calendar, href) else { continue };
            let components: Vec<&str> = of(names::SUPPORTED_CALENDAR_COMPONENT_SET)
                .into_iter()
                .flat_map(|set| set.descendants().filter_map(|node| node.attribute("name")).collect::<Vec<_>>())
                .collect();
            if !components.is_empty() && !components.iter().any(|name| name.eq_ignore_ascii_case("VEVENT")) {
                continue;
            }
            let may_write = ["all", "write", "write-content", "bind"];
            // A server that does not tell is asked by writing.
            let writable = of(PRIVILEGES).is_none_or(|set| {
                let mut granted = set.descendants().filter(|node| node.is_element()).skip(1).peekable();
                granted.peek().is_none() || granted.any(|node| may_write.contains(&node.tag_name().name()))
            });
            let name = of(names::DISPLAY_NAME).and_then(|node| node.text()).map(str::trim).unwrap_or_default();
            let name = if name.is_empty() { last_part(&href).to_owned() } else { name.to_owned() };
            found.push(Collection { href, name, writable });
        }
        Ok(found)
    }
}

pub fn last_part(href: &str) -> &str {
    href.trim_end_matches('/').rsplit('/').next().unwrap_or(href)
}

/// Path of an href, which may be a whole URL; reserved characters stay encoded.
fn path_of(href: &str) -> Option<String> {
    let uri: Uri = href.trim().parse().ok()?;
    Some(normalise_percent_encoded(uri.path()).ok()?.into_owned())
}

struct Address {
    uri: Uri,
    /// Only a host was given: its DNS records may name another.
    by_host: bool,
}

impl Address {
    fn parse(text: &str) -> Result<Self, CalendarError> {
        let refused = |reason: &str| CalendarError::Refused { reason: reason.to_owned() };
        let text = text.trim();
        let (text, by_host) = match text.split_once("://") {
            Some(("caldavs", rest)) => (format!("https://{rest}"), false),
            Some(("caldav", rest)) => (format!("http://{rest}"), false),
            Some(_) => (text.to_owned(), false),
            None => {
                let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
                (format!("https://{host}"), !host.contains('/'))
            }
        };
        let uri: Uri = text.parse().map_err(|_| refused("the address of the calendar server cannot be read"))?;
        let (Some(host), Some(scheme)) = (uri.host(), uri.scheme_str()) else {
            return Err(refused("the address of the calendar server has no host"));
        };
        match scheme {
            "https" => {}
            "http" if is_loopback(host) => {}
            "http" => return Err(refused("plain http would show the password to others; use https")),
            _other => return Err(refused("the address of the calendar server must begin with https")),
        }
        Ok(Self { uri, by_host })
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The server that the host's DNS records name, if they do.
async fn by_dns(client: &WebDavClient<Transport>) -> Option<Uri> {
    let search = find_context_url(client, DiscoverableService::CalDavs);
    match tokio::time::timeout(DNS_PATIENCE, search).await.ok()?.ok()? {
        ContextUrl::Found(uri) => Some(uri),
        ContextUrl::BaseUrl => Some(client.base_url.clone()),
        ContextUrl::NotAvailable | ContextUrl::NotFound => None,
    }
}

/// Principal, then its calendar home; by the well-known path where the address itself does not lead there.
async fn find_home(client: WebDavClient<Transport>) -> Result<(WebDavClient<Transport>, String), CalendarError> {
    if let Some(found) = home_from(&client).await? {
        return Ok(found);
    }
    let base = client.base_url.clone();
    if let Some(context) = well_known(&client).await {
        let moved = at(&client, &context)?;
        if let Some(found) = home_from(&moved).await? {
            return Ok(found);
        }
    }
    Ok((client, base.path().to_owned()))
}

async fn well_known(client: &WebDavClient<Transport>) -> Option<Uri> {
    let secure = client.base_url.scheme_str() == Some("https");
    let service = if secure { DiscoverableService::CalDavs } else { DiscoverableService::CalDav };
    let port = client.base_url.port_u16().unwrap_or(service.default_port());
    client.find_context_path(service, client.base_url.host()?, port).await.ok()?
}

async fn home_from(
    client: &WebDavClient<Transport>,
) -> Result<Option<(WebDavClient<Transport>, String)>, CalendarError> {
    let server = Server { client: client.clone(), collections: Vec::new() };
    let path = server.client.base_url.path().to_owned();
    let principal = FindPropertyHrefs::new(&path, &names::CURRENT_USER_PRINCIPAL);
    let principal = match server.run(&principal, Intent::Read, &path).await {
        Ok(found) => found.hrefs.into_iter().next(),
        Err(CalendarError::NotFound { .. } | CalendarError::Refused { .. }) => None,
        Err(other) => return Err(other),
    };
    let Some(principal) = principal else { return Ok(None) };
    let server = Server { client: at(client, &principal)?, collections: Vec::new() };
    let FindCalendarHomeSetResponse { home_sets } =
        server.run(&FindCalendarHomeSet::new(principal.path()), Intent::Read, principal.path()).await?;
    let Some(home) = home_sets.into_iter().next() else { return Ok(None) };
    let path = normalise_percent_encoded(home.path()).map_or_else(|_| home.path().to_owned(), |path| path.into_owned());
    Ok(Some((at(&server.client, &home)?, path)))
}

/// The client, going on where `uri` leads. The password follows only over TLS and within the provider's domain.
fn at(client: &WebDavClient<Transport>, uri: &Uri) -> Result<WebDavClient<Transport>, CalendarError> {
    let mut moved = client.clone();
    let (Some(host), Some(authority)) = (uri.host(), uri.authority()) else { return Ok(moved) };
    let known = client.base_url.host().unwrap_or_default();
    let domain = |host: &str| host.rsplit('.').take(2).map(str::to_lowercase).collect::<Vec<_>>();
    let same_place = client.base_url.authority() == Some(authority) && client.base_url.scheme() == uri.scheme();
    let same_host = host.eq_ignore_ascii_case(known) && uri.scheme() == client.base_url.scheme();
    let same_provider = uri.scheme_str() == Some("https") && domain(host) == domain(known);
    if !(same_place || same_host || same_provider) {
        return Err(CalendarError::Refused {
            reason: format!("the server sends its users on to {host}; give that address if you trust it"),
        });
    }
    moved.base_url = uri.clone();
    Ok(moved)
}

/// True for answers that mean "it stands there already" to a conditional request.
pub fn is_conflict(status: StatusCode) -> bool {
    matches!(status, StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT)
}
