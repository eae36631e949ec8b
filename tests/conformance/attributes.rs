//! What Cloudflare keeps beside a value: proxied, comment, tags, settings.

use cloudflare_sim::Plan;
use zonekeeper_kernel::{
    attribute::{FLATTEN_CNAME, IPV4_ONLY, PROXIED, TAGS},
    claim::user_text,
    rdata::RecordType,
    record::{LiveRecord, Ttl},
};
use zonekeeper_tests::wish::{Wish, want};

use crate::ground::{Ground, Host};

pub async fn proxied_has_an_automatic_ttl_whatever_was_asked(ground: &mut Ground) {
    let wish = || want("A", "www", ["192.0.2.1", "192.0.2.2"]).ttl(300);
    ground.settle(&[wish().proxied()]).await;
    let look = async |ground: &Ground| -> Vec<(bool, Ttl)> {
        let records = ground.set("www", RecordType::A).await;
        records.into_iter().map(|record| (record.attributes.is_on(PROXIED), record.ttl)).collect()
    };
    assert_eq!(look(ground).await, [(true, Ttl::AUTOMATIC); 2]);
    ground.settle(&[wish()]).await;
    assert_eq!(look(ground).await, [(false, Ttl(300)); 2]);
    ground.settle(&[wish().proxied()]).await;
    // A type that can't be proxied is not refused for it: the wish is made what can be.
    ground
        .settle(&[
            want("TXT", "www", ["text"]).ttl(300).proxied(),
            want("CNAME", "cdn", ["www.example.net"]).proxied(),
        ])
        .await;
    assert!(!ground.set("www", RecordType::TXT).await[0].attributes.is_on(PROXIED));
    assert!(ground.set("cdn", RecordType::CNAME).await[0].attributes.is_on(PROXIED));
    ground.clear().await;
}

pub async fn a_comment_is_set_kept_changed_and_cleared(ground: &mut Ground) {
    let wish = |address: &str| want("A", "www", [address]);
    let text = async |ground: &Ground| -> String {
        let record = only(ground).await;
        user_text(&ground.stage.registry, &record.comment).to_owned()
    };
    ground.settle(&[wish("192.0.2.1").comment("the shop, ask Zoë")]).await;
    assert_eq!(text(ground).await, "the shop, ask Zoë");
    ground.settle(&[wish("192.0.2.2")]).await;
    assert_eq!(text(ground).await, "the shop, ask Zoë", "no wish keeps it");
    ground.settle(&[want("CNAME", "www", ["target.example.net"])]).await;
    let alias = ground.set("www", RecordType::CNAME).await.remove(0);
    assert_eq!(
        user_text(&ground.stage.registry, &alias.comment),
        "the shop, ask Zoë",
        "a change of type, too"
    );
    ground.settle(&[wish("192.0.2.2").comment("another")]).await;
    assert_eq!(text(ground).await, "another");
    ground.settle(&[wish("192.0.2.2").comment("")]).await;
    assert_eq!(text(ground).await, "");
    ground.clear().await;
}

pub async fn a_long_comment_is_cut_at_the_limit(ground: &mut Ground) {
    let limit = ground.stage.access.traits().capabilities.comment_limit.expect("a place with comments");
    let expected_limit = if ground.place.host == Host::Cloudflare(Plan::Free) { 100 } else { 500 };
    assert_eq!(limit, expected_limit);
    for character in ["x", "ü", "✓"] {
        let long = character.repeat(600);
        let wishes = [want("A", "www", ["192.0.2.1"]).comment(&long)];
        let pass = ground.settle(&wishes).await;
        let cut = &pass.plan.cut_comments;
        assert!(
            cut.iter().any(|(name, rtype)| name.as_str() == "www.example.com" && *rtype == RecordType::A),
            "{cut:?}"
        );
        let record = only(ground).await;
        let kept = user_text(&ground.stage.registry, &record.comment);
        assert!(
            record.comment.len() <= limit && record.comment.len() + 4 > limit,
            "{} bytes",
            record.comment.len()
        );
        assert!(long.starts_with(kept) && !kept.is_empty());
    }
    let fitting = "y".repeat(limit - 47);
    let pass = ground.settle(&[want("A", "www", ["192.0.2.1"]).comment(&fitting)]).await;
    assert_eq!(pass.plan.cut_comments, [], "all but the marker's 46 bytes and a space is the user's");
    ground.clear().await;
}

pub async fn tags_are_set_and_changed_where_the_plan_has_them(ground: &mut Ground) {
    let wish = || want("A", "www", ["192.0.2.1"]);
    if ground.place.host == Host::Cloudflare(Plan::Free) {
        let pass = ground
            .stage
            .sync(&[wish().tagged(&["team:dns"]), want("A", "api", ["192.0.2.2"])])
            .await
            .unwrap();
        assert_eq!(pass.failed.len(), 1);
        let error = &pass.failed[0].error;
        assert_eq!(error.reason(), "ProviderRejected");
        let message = error.to_string();
        for part in ["www.example.com A", "exceeding the quota of 0", "9300", "cloudflare.tags"] {
            assert!(message.contains(part), "{message}");
        }
        ground.holds("api", "A", ["192.0.2.2"]).await;
        return;
    }
    let tags = async |ground: &Ground| -> Vec<String> {
        only(ground).await.attributes.list(TAGS).iter().map(|tag| tag.to_string()).collect()
    };
    ground.settle(&[wish().tagged(&["team:dns", "cost"])]).await;
    assert_eq!(tags(ground).await, ["cost", "team:dns"]);
    ground.is_quiet(&[wish().tagged(&["cost", "team:dns"])]).await;
    ground.settle(&[wish().tagged(&["team:web"])]).await;
    assert_eq!(tags(ground).await, ["team:web"]);
    ground.settle(&[wish()]).await;
    assert_eq!(tags(ground).await, [""; 0]);
    ground.clear().await;
}

pub async fn settings_are_set_and_cleared(ground: &mut Ground) {
    let wishes = |set: bool| -> [Wish; 2] {
        let (alias, host) =
            (want("CNAME", "alias", ["target.example.net"]), want("A", "www", ["192.0.2.1"]).proxied());
        if set { [alias.flattened(), host.ipv4_only()] } else { [alias, host] }
    };
    let look = async |ground: &Ground| {
        let alias = ground.set("alias", RecordType::CNAME).await.remove(0);
        (alias.attributes.is_on(FLATTEN_CNAME), only(ground).await.attributes.is_on(IPV4_ONLY))
    };
    ground.settle(&wishes(true)).await;
    assert_eq!(look(ground).await, (true, true));
    ground.settle(&wishes(false)).await;
    assert_eq!(look(ground).await, (false, false));
    ground.settle(&wishes(true)).await;
    ground.clear().await;
}

async fn only(ground: &Ground) -> LiveRecord {
    ground.set("www", RecordType::A).await.remove(0)
}
