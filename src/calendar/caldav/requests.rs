//! Requests that libdav has no type for: events by time range or UID with their data, and the calendars of a home.

use http::{Method, Request, Uri};
use libdav::caldav::{GetCalendarResources, GetCalendarResourcesResponse};
use libdav::dav::{WebDavError, make_relative_url};
use libdav::requests::{DavRequest, ParseResponseError, xml_content_type_header};
use libdav::xmlutils::XmlNode;
use libdav::{PropertyName, names};

const PROP_FILTER: PropertyName = PropertyName::new(names::CALDAV, "prop-filter");
const TEXT_MATCH: PropertyName = PropertyName::new(names::CALDAV, "text-match");

/// Which events of a calendar.
pub enum Wanted<'a> {
    /// With a date in this range; both as `YYYYMMDDTHHMMSSZ`.
    Between { start: &'a str, end: &'a str },
    /// With exactly this UID (servers match a part; the caller compares).
    Uid(&'a str),
}

/// A `calendar-query` that answers with the data itself.
pub struct EventQuery<'a> {
    pub collection: &'a str,
    pub wanted: Wanted<'a>,
}

impl DavRequest for EventQuery<'_> {
    type Response = GetCalendarResourcesResponse;
    type ParseError = ParseResponseError;
    type Error<E> = WebDavError<E>;

    fn prepare_request(&self, base_url: Uri) -> Result<Request<String>, http::Error> {
        let condition = match &self.wanted {
            Wanted::Between { start, end } => {
                XmlNode::new(&names::TIME_RANGE).with_attributes(vec![("start", start), ("end", end)])
            }
            Wanted::Uid(uid) => XmlNode::new(&PROP_FILTER).with_attributes(vec![("name", "UID")]).with_children(vec![
                XmlNode::new(&TEXT_MATCH).with_attributes(vec![("collation", "i;octet")]).with_text(uid),
            ]),
        };
        let event =
            XmlNode::new(&names::COMP_FILTER).with_attributes(vec![("name", "VEVENT")]).with_children(vec![condition]);
        let calendar =
            XmlNode::new(&names::COMP_FILTER).with_attributes(vec![("name", "VCALENDAR")]).with_children(vec![event]);
        let query = XmlNode::new(&names::CALENDAR_QUERY).with_children(vec![
            XmlNode::new(&names::PROP)
                .with_children(vec![XmlNode::new(&names::GETETAG), XmlNode::new(&names::CALENDAR_DATA)]),
            XmlNode::new(&names::FILTER).with_children(vec![calendar]),
        ]);
        let (name, value) = xml_content_type_header();
        Request::builder()
            .method(Method::from_bytes(b"REPORT")?)
            .uri(make_relative_url(base_url, self.collection)?)
            .header("Depth", "1")
            .header(name, value)
            .body(query.render_node())
    }

    fn parse_response(
        &self,
        parts: &http::response::Parts,
        body: &[u8],
    ) -> Result<GetCalendarResourcesResponse, ParseResponseError> {
        GetCalendarResources::new(self.collection).parse_response(parts, body)
    }
}
