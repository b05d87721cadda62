//! Delivery status notifications (RFC 3464) as data: which recipient of which of our mails was not reached.
//!
//! Only the structured parts are read. What a bounce says in words, and a bounce without the Message-ID of the mail that
//! it is about, change nothing.

use crate::domain::mail::Bounce;
use crate::mail::message::parse;

/// One per recipient that was given up, in a report of type delivery-status. Delays are no bounces.
pub fn bounces_in(bytes: &[u8]) -> Vec<Bounce> {
    let Some(mail) = parse(bytes) else { return Vec::new() };
    let content_type = mail.header("Content-Type").unwrap_or_default().to_ascii_lowercase();
    if !content_type.starts_with("multipart/report") || !content_type.contains("delivery-status") {
        return Vec::new();
    }
    let original = mail.parts().find_map(|part| match part.kind.as_str() {
        "message/rfc822"
        | "text/rfc822-headers"
        | "message/rfc822-headers"
        | "message/global"
        | "message/global-headers" => parse(part.raw)?.message_id(),
        _ => None,
    });
    let Some(original) = original else { return Vec::new() };
    mail.parts()
        .filter(|part| matches!(part.kind.as_str(), "message/delivery-status" | "message/global-delivery-status"))
        .flat_map(|part| recipients(&String::from_utf8_lossy(part.raw), &original))
        .collect()
}

/// Groups of fields separated by empty lines: the first tells of the message, the others of one recipient each.
fn recipients(report: &str, original: &str) -> Vec<Bounce> {
    let unfolded = report.replace("\r\n", "\n").replace("\n ", " ").replace("\n\t", " ");
    unfolded
        .split("\n\n")
        .filter_map(|group| {
            let field = |name: &str| {
                group.lines().find_map(|line| {
                    let (key, value) = line.split_once(':')?;
                    key.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
                })
            };
            let action = field("Action")?.to_ascii_lowercase();
            if action != "failed" {
                return None;
            }
            // Where mail is forwarded, the original recipient is the one we wrote to.
            let recipient = typed(&field("Original-Recipient").or_else(|| field("Final-Recipient"))?);
            Some(Bounce {
                original_message_id: original.to_owned(),
                recipient,
                action,
                status: field("Status").unwrap_or_default(),
                diagnostic: field("Diagnostic-Code").map(|text| typed(&text)).unwrap_or_default(),
            })
        })
        .collect()
}

/// `rfc822; a@b` without its type.
fn typed(value: &str) -> String {
    value.split_once(';').map_or(value, |(_, rest)| rest).trim().trim_matches(['<', '>']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(status: &str, returned: &str) -> Vec<u8> {
        format!(
            "From: Mail Delivery System <mailer-daemon@example.test>\r\nTo: ana@example.test\r\n\
             Subject: Undelivered Mail\r\nMIME-Version: 1.0\r\n\
             Content-Type: multipart/report; report-type=delivery-status;\r\n boundary=\"b\"\r\n\r\n\
             --b\r\nContent-Type: text/plain\r\n\r\nPlease resend to x@evil.test\r\n\
             --b\r\nContent-Type: message/delivery-status\r\n\r\n{status}\r\n\
             {returned}--b--\r\n"
        )
        .into_bytes()
    }

    const STATUS: &str = "Reporting-MTA: dns; mx.example.test\r\n\r\n\
        Final-Recipient: rfc822; a@example.test\r\nAction: failed\r\nStatus: 5.1.1\r\n\
        Diagnostic-Code: smtp; 550 5.1.1 no such\r\n user\r\n\r\n\
        Final-Recipient: rfc822; b@example.test\r\nAction: delayed\r\nStatus: 4.4.1\r\n";
    const HEADERS: &str =
        "--b\r\nContent-Type: text/rfc822-headers\r\n\r\nMessage-ID: <m1@example.test>\r\nSubject: s\r\n\r\n";
    const WHOLE: &str =
        "--b\r\nContent-Type: message/rfc822\r\n\r\nMessage-ID: <m1@example.test>\r\nSubject: s\r\n\r\nbody\r\n";

    #[test]
    fn case_c26_each_failed_recipient_is_named_with_our_id() {
        for returned in [HEADERS, WHOLE] {
            let bounces = bounces_in(&report(STATUS, returned));
            assert_eq!(
                bounces,
                [Bounce {
                    original_message_id: "<m1@example.test>".into(),
                    recipient: "a@example.test".into(),
                    action: "failed".into(),
                    status: "5.1.1".into(),
                    diagnostic: "550 5.1.1 no such user".into(),
                }]
            );
        }
    }

    #[test]
    fn case_c27_words_and_reports_without_our_mail_say_nothing() {
        assert!(bounces_in(&report(STATUS, "")).is_empty(), "no returned mail");
        let plain =
            b"From: mailer-daemon@example.test\r\nSubject: Undelivered\r\n\r\nresend the contract to x@evil.test\r\n\
            Final-Recipient: rfc822; a@example.test\r\nAction: failed\r\nMessage-ID: <m1@example.test>\r\n";
        assert!(bounces_in(plain).is_empty(), "no report");
        assert!(bounces_in(b"").is_empty());
    }
}
