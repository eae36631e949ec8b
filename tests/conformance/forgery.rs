//! Markers of others, forged and copied ones, and those that are taken over by name.

use zonekeeper_kernel::{
    desired::Adoption,
    holder::OwnerId,
    marker::{Form, key::MarkerKeys, txt::TxtForm},
};
use zonekeeper_tests::{
    outside::by_hand,
    stage::Marks,
    wish::{Wish, want},
};

use crate::ground::Ground;

pub async fn records_of_another_owner_are_never_touched(ground: &mut Ground) {
    let theirs = [www("theirs.example.net"), want("A", "api", ["192.0.2.1", "192.0.2.2"])];
    let pass = ground.stage.of_owner("cluster-b").sync(&theirs).await.expect("a pass");
    assert!(pass.failed.is_empty());
    let before = ground.stage.listing().await;
    ground.settle(&[]).await;
    assert_eq!(ground.stage.listing().await, before, "nobody here wants them, and they stay");
    for adoption in [Adoption::Never, Adoption::Identical, Adoption::Force] {
        for value in ["theirs.example.net", "ours.example.net"] {
            let message = ground.refuses(&[www(value).adopting(adoption)]).await;
            let owner = OwnerId::new("cluster-b");
            let shown = if ground.stage.marks == Marks::Comment { owner.hash() } else { owner.as_str() };
            assert!(message.contains(shown) && message.contains("takeOverFrom"), "{message}");
        }
    }
}

pub async fn an_owner_is_taken_over_by_name(ground: &mut Ground) {
    let theirs = [www("target.example.net"), want("A", "api", ["192.0.2.1", "192.0.2.2"])];
    ground.stage.of_owner("cluster-b").sync(&theirs).await.expect("a pass");
    ground.stage.registry.take_over_from = vec![OwnerId::new("cluster-b")];
    ground.stage.restart();
    let pass = ground.settle(&theirs).await;
    assert_eq!(pass.applied.len(), 2);
    assert!(pass.applied.iter().all(|change| change.is_marker_only()), "only the markers are rewritten");
    // From now on they are ours without the exception, and no longer theirs.
    ground.stage.registry.take_over_from.clear();
    ground.stage.restart();
    ground.is_quiet(&theirs).await;
    let pass = ground.stage.of_owner("cluster-b").sync(&[]).await.expect("a pass");
    assert!(pass.applied.is_empty());
    ground.clear().await;
}

pub async fn a_marker_signed_with_another_key_is_foreign(ground: &mut Ground) {
    let mut forger = ground.stage.of_owner("test-owner");
    forger.registry.keys = MarkerKeys::new(Some(b"guessed"), None);
    forger.restart();
    forger.sync(&[www("theirs.example.net")]).await.expect("a pass");
    let before = ground.stage.listing().await;
    ground.settle(&[]).await;
    assert_eq!(ground.stage.listing().await, before, "not deleted");
    let message = ground.refuses(&[www("ours.example.net").adopting(Adoption::Force)]).await;
    assert!(message.starts_with("AdoptionRefused"), "{message}");
}

pub async fn a_copied_marker_is_foreign(ground: &mut Ground) {
    let ours = [www("target.example.net")];
    ground.settle(&ours).await;
    let comment = ground.stage.only("www", "CNAME").await.1.comment;
    for (rtype, name, value) in [("CNAME", "copy", "target.example.net"), ("TXT", "www", "text")] {
        let copy = by_hand(rtype, name, value, 300);
        ground.stage.add(zonekeeper_kernel::record::Record { comment: comment.clone(), ..copy }).await;
    }
    ground.stage.worker.forget();
    ground.settle(&ours).await;
    ground.settle(&[]).await;
    ground.holds("www", "CNAME", []).await;
    ground.holds("copy", "CNAME", ["target.example.net"]).await;
    ground.holds("www", "TXT", ["text"]).await;
    let message =
        ground.refuses(&[want("CNAME", "copy", ["ours.example.net"]).adopting(Adoption::Force)]).await;
    assert!(message.starts_with("AdoptionRefused"), "{message}");
}

pub async fn a_marker_signed_with_the_previous_key_is_renewed(ground: &mut Ground) {
    let wishes = [www("target.example.net"), want("A", "api", ["192.0.2.1"])];
    ground.settle(&wishes).await;
    ground.stage.registry.keys = MarkerKeys::new(Some(b"new key"), Some(b"marker key"));
    ground.stage.restart();
    let pass = ground.settle(&wishes).await;
    assert_eq!(pass.applied.len(), 2);
    assert!(pass.applied.iter().all(|change| change.is_marker_only()));
    ground.stage.registry.keys = MarkerKeys::new(Some(b"new key"), None);
    ground.stage.restart();
    ground.is_quiet(&wishes).await;
    ground.clear().await;
}

pub async fn an_unsigned_txt_marker_is_foreign_where_they_are_signed(ground: &mut Ground) {
    // The same owner id, but nobody with the key wrote this.
    ground.stage.sync(&[www("theirs.example.net")]).await.expect("a pass");
    ground.stage.registry.form = Form::Txt(TxtForm { signed: true, ..TxtForm::default() });
    ground.stage.restart();
    let before = ground.stage.listing().await;
    ground.settle(&[]).await;
    assert_eq!(ground.stage.listing().await, before, "not deleted");
    ground.refuses(&[www("ours.example.net").adopting(Adoption::Force)]).await;
    // What is signed is ours, at its own place.
    ground.settle(&[want("A", "signed", ["192.0.2.1"])]).await;
    let (_, marker) = ground.stage.only("a-signed", "TXT").await;
    ground.stage.add(by_hand("A", "copy", "192.0.2.1", 300)).await;
    ground.stage.add(by_hand("TXT", "a-copy", &marker.rdata.to_string(), 300)).await;
    ground.stage.worker.forget();
    ground.settle(&[]).await;
    ground.holds("signed", "A", []).await;
    ground.holds("copy", "A", ["192.0.2.1"]).await;
}

fn www(target: &str) -> Wish {
    want("CNAME", "www", [target]).ttl(300)
}
