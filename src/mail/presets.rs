//! Servers, ports, sign-in and Sent copies of common providers, as their help pages state them.

use crate::mail::net::Tls;

/// How a provider lets programs sign in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignIn {
    Password,
    /// A password made for this program in the account's security settings.
    AppPassword,
    OAuth,
}

/// One provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    pub id: &'static str,
    pub name: &'static str,
    /// Domains of its addresses.
    pub domains: &'static [&'static str],
    pub smtp: (&'static str, u16, Tls),
    pub imap: (&'static str, u16, Tls),
    pub sign_in: SignIn,
    /// It files what is sent by SMTP in Sent by itself; another copy would be a second one.
    pub files_sent: bool,
}

pub const PRESETS: [Preset; 10] = [
    Preset {
        id: "gmail",
        name: "Gmail",
        domains: &["gmail.com", "googlemail.com"],
        smtp: ("smtp.gmail.com", 465, Tls::Implicit),
        imap: ("imap.gmail.com", 993, Tls::Implicit),
        sign_in: SignIn::AppPassword,
        files_sent: true,
    },
    Preset {
        id: "outlook",
        name: "Outlook / Microsoft 365",
        domains: &["outlook.com", "hotmail.com", "live.com", "msn.com", "outlook.es", "hotmail.es"],
        smtp: ("smtp.office365.com", 587, Tls::StartTls),
        imap: ("outlook.office365.com", 993, Tls::Implicit),
        sign_in: SignIn::OAuth,
        files_sent: true,
    },
    Preset {
        id: "icloud",
        name: "iCloud",
        domains: &["icloud.com", "me.com", "mac.com"],
        smtp: ("smtp.mail.me.com", 587, Tls::StartTls),
        imap: ("imap.mail.me.com", 993, Tls::Implicit),
        sign_in: SignIn::AppPassword,
        files_sent: true,
    },
    Preset {
        id: "yahoo",
        name: "Yahoo",
        domains: &["yahoo.com", "yahoo.es", "ymail.com"],
        smtp: ("smtp.mail.yahoo.com", 465, Tls::Implicit),
        imap: ("imap.mail.yahoo.com", 993, Tls::Implicit),
        sign_in: SignIn::AppPassword,
        files_sent: true,
    },
    Preset {
        id: "fastmail",
        name: "Fastmail",
        domains: &["fastmail.com", "fastmail.fm"],
        smtp: ("smtp.fastmail.com", 465, Tls::Implicit),
        imap: ("imap.fastmail.com", 993, Tls::Implicit),
        sign_in: SignIn::AppPassword,
        files_sent: false,
    },
    Preset {
        id: "gmx",
        name: "GMX",
        domains: &["gmx.com", "gmx.net", "gmx.de", "gmx.es"],
        smtp: ("mail.gmx.com", 587, Tls::StartTls),
        imap: ("imap.gmx.com", 993, Tls::Implicit),
        sign_in: SignIn::Password,
        files_sent: false,
    },
    Preset {
        id: "zoho",
        name: "Zoho Mail",
        domains: &["zoho.com", "zohomail.com", "zoho.eu"],
        smtp: ("smtp.zoho.com", 465, Tls::Implicit),
        imap: ("imap.zoho.com", 993, Tls::Implicit),
        sign_in: SignIn::AppPassword,
        files_sent: true,
    },
    Preset {
        id: "ionos",
        name: "IONOS",
        domains: &[],
        smtp: ("smtp.ionos.com", 465, Tls::Implicit),
        imap: ("imap.ionos.com", 993, Tls::Implicit),
        sign_in: SignIn::Password,
        files_sent: false,
    },
    Preset {
        id: "ovh",
        name: "OVHcloud",
        domains: &[],
        smtp: ("ssl0.ovh.net", 465, Tls::Implicit),
        imap: ("ssl0.ovh.net", 993, Tls::Implicit),
        sign_in: SignIn::Password,
        files_sent: false,
    },
    Preset {
        id: "mailbox.org",
        name: "mailbox.org",
        domains: &["mailbox.org"],
        smtp: ("smtp.mailbox.org", 465, Tls::Implicit),
        imap: ("imap.mailbox.org", 993, Tls::Implicit),
        sign_in: SignIn::Password,
        files_sent: false,
    },
];

/// The provider of an address, by its domain.
pub fn preset_for(address: &str) -> Option<&'static Preset> {
    let domain = address.rsplit('@').next()?.trim_end_matches('>').to_ascii_lowercase();
    PRESETS.iter().find(|preset| preset.domains.contains(&domain.as_str()))
}

/// Whether the provider behind this SMTP server files Sent by itself.
pub fn files_sent(smtp_host: &str) -> bool {
    let host = smtp_host.trim_end_matches('.').to_ascii_lowercase();
    // Regional names of one provider: smtp.zoho.eu, smtp.mail.yahoo.co.jp.
    host.starts_with("smtp.zoho.")
        || host.starts_with("smtp.mail.yahoo.")
        || PRESETS.iter().any(|preset| preset.files_sent && preset.smtp.0 == host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_c13_who_files_sent_is_known_by_the_server() {
        for host in ["smtp.gmail.com", "SMTP.office365.com", "smtp.mail.me.com", "smtp.zoho.eu"] {
            assert!(files_sent(host), "{host}");
        }
        for host in ["mail.example.test", "smtp.fastmail.com", "smtp.gmail.com.example.test", ""] {
            assert!(!files_sent(host), "{host}");
        }
        assert_eq!(preset_for("Ana <ana@GMail.com>").map(|preset| preset.id), Some("gmail"));
        assert_eq!(preset_for("ana@example.test"), None);
    }
}
