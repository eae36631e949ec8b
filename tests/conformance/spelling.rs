//! Names and values that have several spellings: the zone is quiet whichever is used (law 8).

use zonekeeper_kernel::rdata::RecordType;
use zonekeeper_tests::{
    stage::{Marks, domain},
    wish::want,
};

use crate::ground::Ground;

pub async fn texts_come_back_as_they_were(ground: &mut Ground) {
    let long = "x".repeat(300);
    let umlauts = "ä".repeat(200);
    let strings = format!("\"{}\" \"{}\" \"end\"", "a".repeat(255), "b".repeat(10));
    let texts: Vec<String> = [
        "plain",
        "v=spf1 include:_spf.example.net -all",
        "v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQ",
        "\"a quote: \\\" here\"",
        "\"back\\\\slash\"",
        "a quote \" inside a plain text",
        "back\\slash in a plain text",
        "ends with a backslash\\",
        "grüße aus münchen ✓",
        "\"one\" \"two\" \"three\"",
        "\"one two three\"",
        "\" leading and trailing \"",
        "tab\there",
        "\"\\195\\164 in octets\"",
        "\"not utf-8: \\255\\000\"",
        "@",
        ";",
        "( )",
        "$ORIGIN",
        "192.0.2.1",
        &long,
        &umlauts,
        &strings,
    ]
    .map(str::to_owned)
    .into();
    let wishes: Vec<_> =
        texts.iter().enumerate().map(|(i, text)| want("TXT", &format!("text-{i}"), [text])).collect();
    ground.settle(&wishes).await;
    for (i, text) in texts.iter().enumerate() {
        ground.holds(&format!("text-{i}"), "TXT", [text]).await;
    }
    // Two spellings of one text are one value.
    ground.settle(&[want("TXT", "both", ["one", "another one", "\"one\""])]).await;
    ground.holds("both", "TXT", ["one", "another one"]).await;
    ground.clear().await;
}

pub async fn ipv6_has_one_spelling(ground: &mut Ground) {
    let spellings =
        ["2001:db8::1", "2001:DB8::1", "2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8:0:0::1"];
    for spelling in spellings {
        let pass = ground.settle(&[want("AAAA", "www", [spelling])]).await;
        ground.holds("www", "AAAA", ["2001:db8::1"]).await;
        assert_eq!(pass.applied.is_empty(), spelling != spellings[0], "{spelling}");
    }
    ground.settle(&[want("AAAA", "www", ["::ffff:192.0.2.1", "2001:db8::192.0.2.33"])]).await;
    ground.holds("www", "AAAA", ["::ffff:c000:201", "2001:db8::c000:221"]).await;
    ground.clear().await;
}

pub async fn case_and_trailing_dots_make_no_difference(ground: &mut Ground) {
    let upper = [
        want("A", "WWW", ["192.0.2.1"]).held_by("one"),
        want("CNAME", "Alias.Example.COM.", ["Target.Example.NET."]).held_by("one"),
        want("MX", "Mail", ["10 MX.Example.NET."]).held_by("one"),
        want("SRV", "_SIP._tcp", ["1 2 3 Sip.Example.NET."]).held_by("one"),
        want("CAA", "caa", ["0 ISSUE \"CA.Example.NET\""]).held_by("one"),
    ];
    let lower = [
        want("A", "www", ["192.0.2.1"]).held_by("one"),
        want("CNAME", "alias", ["target.example.net"]).held_by("one"),
        want("MX", "mail", ["10 mx.example.net"]).held_by("one"),
        want("SRV", "_sip._tcp.example.com.", ["1 2 3 sip.example.net"]).held_by("one"),
        want("CAA", "caa", ["0 issue \"CA.Example.NET\""]).held_by("one"),
    ];
    ground.settle(&upper).await;
    ground.is_quiet(&lower).await;
    ground.holds("alias", "CNAME", ["target.example.net"]).await;
    // Values are not names: their case counts.
    ground.holds("caa", "CAA", ["0 issue \"CA.Example.NET\""]).await;
    ground.clear().await;
}

pub async fn unicode_names_become_a_labels(ground: &mut Ground) {
    let unicode = [
        want("A", "münchen", ["192.0.2.1"]).held_by("one"),
        want("CNAME", "straße", ["bücher.example.net"]).held_by("one"),
    ];
    let ascii = [
        want("A", "xn--mnchen-3ya", ["192.0.2.1"]).held_by("one"),
        want("CNAME", "xn--strae-oqa", ["xn--bcher-kva.example.net"]).held_by("one"),
    ];
    ground.settle(&unicode).await;
    ground.is_quiet(&ascii).await;
    ground.holds("xn--strae-oqa", "CNAME", ["xn--bcher-kva.example.net"]).await;
    ground.clear().await;
}

pub async fn a_wildcard_is_a_name_like_any_other(ground: &mut Ground) {
    let wishes = [
        want("A", "*", ["192.0.2.1"]),
        want("CNAME", "*.dev", ["target.example.net"]),
        want("TXT", "*.dev.deep", ["any"]),
        want("A", "www", ["192.0.2.2"]),
    ];
    ground.settle(&wishes).await;
    ground.holds("*", "A", ["192.0.2.1"]).await;
    ground.holds("*.dev", "CNAME", ["target.example.net"]).await;
    ground.settle(&[want("A", "*", ["192.0.2.3"]), want("A", "www", ["192.0.2.2"])]).await;
    ground.holds("*", "A", ["192.0.2.3"]).await;
    ground.clear().await;
}

pub async fn the_apex_is_a_name_like_any_other(ground: &mut Ground) {
    let wishes = |address: &str| {
        [
            want("A", "@", [address]),
            want("AAAA", "@", ["2001:db8::1"]),
            want("MX", "@", ["10 mx.example.net"]),
            want("TXT", "@", ["v=spf1 -all"]),
            want("CAA", "@", ["0 issue \"ca.example.net\""]),
        ]
    };
    ground.settle(&wishes("192.0.2.1")).await;
    ground.settle(&wishes("192.0.2.2")).await;
    ground.holds("@", "A", ["192.0.2.2"]).await;
    ground.clear().await;
    let (apex, capabilities) = (domain(), &ground.stage.access.traits().capabilities);
    if !capabilities.conflict((&apex, &apex), RecordType::CNAME, RecordType::SOA) {
        ground.settle(&[want("CNAME", "@", ["target.example.net"])]).await;
        ground.holds("@", "CNAME", ["target.example.net"]).await;
        ground.clear().await;
    }
}

pub async fn names_may_begin_with_an_underscore(ground: &mut Ground) {
    ground
        .settle(&[
            want("TXT", "_dmarc", ["v=DMARC1; p=none"]),
            want("TXT", "selector._domainkey", ["v=DKIM1; p="]),
            want("CNAME", "_acme-challenge", ["_acme.example.net"]),
            want("SRV", "_sip._tcp", ["1 2 3 sip.example.net"]),
            want(
                "TLSA",
                "_443._tcp.www",
                ["3 1 1 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
            ),
        ])
        .await;
    ground.holds("_dmarc", "TXT", ["v=DMARC1; p=none"]).await;
    ground.clear().await;
}

pub async fn names_may_be_as_long_as_dns_allows(ground: &mut Ground) {
    let label = "a".repeat(63);
    // A TXT marker needs room for itself: `_zk-a.` before the name.
    let room = if ground.place.marks == Marks::Txt { "_zk-a.".len() } else { 0 };
    let longest = format!("{label}.{label}.{label}.{}", "b".repeat(49 - room));
    assert_eq!(longest.len() + ".example.com".len(), 253 - room);
    ground.settle(&[want("A", &label, ["192.0.2.1"])]).await;
    ground.settle(&[want("A", &label, ["192.0.2.2"]), want("A", &longest, ["192.0.2.3"])]).await;
    assert_eq!(ground.set(&label, RecordType::A).await.len(), 1);
    ground.holds(&longest, "A", ["192.0.2.3"]).await;
    ground.settle(&[want("A", &longest, ["192.0.2.4"])]).await;
    ground.holds(&longest, "A", ["192.0.2.4"]).await;
    ground.clear().await;
}

/// Where the name itself takes all 253 characters, no marker can lie below it.
#[tokio::test]
async fn a_name_without_room_for_its_txt_marker_is_refused() {
    let place = crate::memory_standard_txt::PLACE;
    let label = "a".repeat(63);
    let longest = format!("{label}.{label}.{label}.{}", "b".repeat(49));
    crate::climb(place, &[], async |ground: &mut Ground| {
        let wishes = [want("A", &longest, ["192.0.2.1"])];
        let pass = ground.stage.sync_once(&wishes).await.expect("a pass");
        assert_eq!(pass.plan.rejections.len(), 1);
        assert!(pass.plan.rejections[0].message.contains("no room for its ownership marker"));
        ground.is_quiet(&wishes).await;
    })
    .await;
}
