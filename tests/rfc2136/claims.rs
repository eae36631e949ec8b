//! Data and the marker that says that it is ours: compared together, written together, and never one without the other.

use dns_servers::Software;
use zonekeeper_kernel::desired::Adoption;
use zonekeeper_tests::{stage::AtServer, wish::want};

use crate::support::{by_hand, counted, served};

/// Law 3: within the moment for which a listing is believed, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_whose_marker_changed_hands_meanwhile_stays() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    let www = |value: &str| [want("A", "www", [value])];
    stage.sync(&www("192.0.2.1")).await.unwrap();
    by_hand(
        &at.server,
        "update delete a-www.example.com TXT\n\
         update add a-www.example.com 300 TXT \"heritage=external-dns,external-dns/owner=other\"",
    );
    let pass = stage.sync(&www("192.0.2.2")).await.unwrap();
    assert_eq!((pass.plan.rejections.len(), pass.applied.len(), pass.failed.len()), (1, 0, 0), "{pass:#?}");
    assert!(pass.plan.rejections[0].message.contains("owned by other"), "{pass:#?}");
    assert_eq!(served(&at.server, "www.example.com", "A"), ["192.0.2.1"]);
}

/// The same where both markers stand there, and for as long as the zone is not listed again.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_that_somebody_else_claims_too_stays() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    stage.sync(&[want("A", "www", ["192.0.2.1"])]).await.unwrap();
    by_hand(
        &at.server,
        "update add a-www.example.com 300 TXT \"heritage=external-dns,external-dns/owner=other\"",
    );
    for last in ["192.0.2.2", "192.0.2.3"] {
        let pass = stage.sync(&[want("A", "www", [last])]).await.unwrap();
        assert_eq!((pass.plan.rejections.len(), pass.applied.len()), (1, 0), "{pass:#?}");
    }
    assert_eq!(served(&at.server, "www.example.com", "A"), ["192.0.2.1"]);
}

/// Law 3: ExternalDNS's untyped marker says nothing of what else stands at its name.
#[tokio::test(flavor = "multi_thread")]
async fn an_untyped_marker_claims_no_mail_and_no_text() {
    let at = AtServer::start(Software::Bind);
    by_hand(
        &at.server,
        "update add www.example.com 300 A 192.0.2.1\nupdate add www.example.com 300 MX 10 theirs.example.net.\n\
         update add www.example.com 300 TXT \"theirs\"\n\
         update add www.example.com 300 TXT \"heritage=external-dns,external-dns/owner=test-owner\"",
    );
    let (mut stage, _) = counted(&at).await;
    let pass = stage.sync(&[want("A", "www", ["192.0.2.2"])]).await.unwrap();
    assert!(pass.failed.is_empty() && pass.plan.rejections.is_empty(), "{pass:#?}");
    assert_eq!(served(&at.server, "www.example.com", "A"), ["192.0.2.2"], "which it does claim");
    assert_eq!(served(&at.server, "www.example.com", "MX"), ["10 theirs.example.net."]);
    assert!(served(&at.server, "www.example.com", "TXT").contains(&"\"theirs\"".into()));
}

/// Law 6: what is wished instead must be there before the rest may go.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_stays_while_the_server_refuses_what_is_to_replace_it() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    stage.sync(&[want("A", "mail", ["192.0.2.1"])]).await.unwrap();
    let mx = want("MX", "mail", ["10 nowhere.example.com"]);
    for _ in 0..2 {
        let pass = stage.sync(std::slice::from_ref(&mx)).await.unwrap();
        assert_eq!((pass.applied.len(), pass.failed.len()), (0, 1), "{pass:#?}");
        assert_eq!(served(&at.server, "mail.example.com", "A"), ["192.0.2.1"]);
    }
    let both = [mx, want("A", "nowhere", ["192.0.2.2"])];
    assert!(stage.sync(&both).await.unwrap().failed.is_empty());
    assert_eq!(served(&at.server, "mail.example.com", "A"), [""; 0]);
    assert_eq!(served(&at.server, "mail.example.com", "MX"), ["10 nowhere.example.com."]);
}

/// Law 4: BIND ignores a marker beside an alias without a word, and would keep the data.
#[tokio::test(flavor = "multi_thread")]
async fn an_alias_where_a_marker_goes_leaves_no_data_without_one() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    let before = stage.records().await;
    let wishes = [want("MX", "zoo", ["10 mail.example.net"]), want("CNAME", "mx-zoo", ["mail.example.net"])];
    let pass = stage.sync(&wishes).await.unwrap();
    let message = pass.failed[0].error.to_string();
    assert!(pass.applied.len() == 1 && message.contains("alias at mx-zoo.example.com"), "{pass:#?}");
    assert_eq!(served(&at.server, "mx-zoo.example.com", "CNAME"), ["mail.example.net."]);
    assert_eq!(served(&at.server, "zoo.example.com", "MX"), [""; 0]);
    assert!(stage.sync(&[]).await.unwrap().failed.is_empty());
    assert!(stage.records().await == before, "nothing is left");
}

/// BIND compares some values octet by octet, where two spellings mean the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_somebody_spelled_otherwise_can_be_changed() {
    let at = AtServer::with(Software::Bind, |setup| {
        setup.zone += "caa CAA 0 Issue \"ca.example.net\"\nweb HTTPS 1 Svc.Example.Net. alpn=h2\n";
    });
    let (mut stage, _) = counted(&at).await;
    let wishes = |number: u8| {
        [
            want("CAA", "caa", [&*format!("{number} issue \"other.example.net\"")]).adopting(Adoption::Force),
            want("HTTPS", "web", [&*format!("{number} other.example.net alpn=h2")]).adopting(Adoption::Force),
        ]
    };
    for number in [1, 2] {
        let pass = stage.sync(&wishes(number)).await.unwrap();
        assert!(pass.failed.is_empty() && pass.applied.len() == 2, "{pass:#?}");
    }
    assert_eq!(served(&at.server, "caa.example.com", "CAA"), ["2 issue \"other.example.net\""]);
}
