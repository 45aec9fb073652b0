//! The application's tests.

use std::time::Duration;

use dynatwin::{Rule, Twin, Verdict};
use dynatwin_sample::{is_open, open};

type Checked = Result<(), Box<dyn std::error::Error>>;

async fn sessions() -> Result<Twin, Box<dyn std::error::Error>> {
    let twin = Twin::seeded(7);
    twin.table("Sessions").hash("id").ttl("expiresAt").create().await?;
    Ok(twin)
}

#[tokio::test]
async fn a_session_expires() -> Checked {
    let twin = sessions().await?;
    let start = twin.clock().now().seconds();
    open(&twin.client(), "a", start + 3600).await?;
    assert!(is_open(&twin.client(), "a", start).await?);

    twin.clock().advance(Duration::from_secs(3600));
    assert!(!is_open(&twin.client(), "a", twin.clock().now().seconds()).await?);
    assert!(twin.items("Sessions").unwrap().is_empty());
    Ok(())
}

#[tokio::test]
async fn a_throttled_write_is_sent_again() -> Checked {
    let twin = sessions().await?;
    let throttled = twin
        .faults()
        .add(Rule::new(Verdict::Throttle(None)).operation("PutItem").first(2));
    open(&twin.client(), "a", twin.clock().now().seconds() + 3600).await?;
    assert_eq!(throttled.fired(), 2);
    Ok(())
}

#[tokio::test]
async fn a_fork_has_its_own_items() -> Checked {
    let template = sessions().await?;
    let twin = template.fork();
    open(&twin.client(), "a", twin.clock().now().seconds() + 3600).await?;
    assert_eq!(twin.items("Sessions").unwrap().len(), 1);
    assert!(template.items("Sessions").unwrap().is_empty());
    Ok(())
}
