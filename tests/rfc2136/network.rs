//! A network that loses one message, whichever it is: nothing is lost, nothing foreign is touched.

use dns_servers::Software;
use zonekeeper_providers::{
    Provider,
    rfc2136::{Rfc2136, Settings},
};
use zonekeeper_tests::{
    stage::{AtServer, Marks, Stage, domain},
    wish::{Wish, want},
};

use crate::support::{Loss, Relay, by_hand, served};

/// From one wish to the other: a set is created, one changed, one retyped, one deleted.
fn wishes() -> [Vec<Wish>; 2] {
    [
        vec![
            want("A", "www", ["192.0.2.1"]),
            want("A", "api", ["192.0.2.1"]),
            want("A", "old", ["192.0.2.1"]),
        ],
        vec![
            want("A", "www", ["192.0.2.2"]),
            want("CNAME", "api", ["www.example.com"]),
            want("A", "new", ["192.0.2.1"]),
        ],
    ]
}

/// Case 63.
#[tokio::test(flavor = "multi_thread")]
async fn one_lost_message_never_loses_a_record() {
    for loss in [Loss::Request, Loss::Answer, Loss::Rest(1), Loss::Rest(40)] {
        for cut in 0.. {
            let at = AtServer::start(Software::Bind);
            by_hand(&at.server, "update add theirs.example.com 60 A 192.0.2.66");
            let [before, after] = wishes();
            assert!(at.stage(Marks::Txt).await.sync(&before).await.unwrap().failed.is_empty());
            let relay = Relay::start(&at.server, cut, loss).await;
            let settings = Settings { servers: vec![relay.address.clone()], ..at.settings() };
            let provider = Rfc2136::new(settings).unwrap();
            // As a process that ends at the first trouble, and another one after it.
            if let Ok(access) = provider.open(&domain(), None).await {
                let _ = Stage::new(access, Marks::Txt).sync_once(&after).await;
            }
            let is_last = relay.requests() <= cut;
            let mut stage = at.stage(Marks::Txt).await;
            let pass = stage.sync(&after).await.unwrap();
            assert!(
                pass.failed.is_empty() && pass.plan.rejections.is_empty(),
                "{loss:?} at {cut}: {pass:#?}"
            );
            for (name, rtype, value) in [
                ("www", "A", "192.0.2.2"),
                ("api", "CNAME", "www.example.com."),
                ("new", "A", "192.0.2.1"),
                ("theirs", "A", "192.0.2.66"),
            ] {
                assert_eq!(
                    served(&at.server, &format!("{name}.example.com"), rtype),
                    [value],
                    "{loss:?} at {cut}"
                );
            }
            assert!(served(&at.server, "old.example.com", "A").is_empty());
            // Apex NS, four data records, three markers.
            assert_eq!(stage.records().await.len(), 8, "{loss:?} at {cut}");
            if is_last {
                assert!(cut > 4, "the relay saw the whole run");
                break;
            }
        }
    }
}
