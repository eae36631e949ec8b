//! Which kinds the API server serves, and whether their definitions stay.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client, api::ApiResource};
use zonekeeper_sources::object::Kind;

use zonekeeper_model::sources::kinds::{resource, row};

/// Finds a kind at the server; none where it is not installed.
pub async fn find(client: &Client, kind: Kind) -> kube::Result<Option<ApiResource>> {
    let row = row(kind);
    if let Some(version) = row.version {
        return Ok(Some(resource(&row, version)));
    }
    let groups = client.list_api_groups().await?.groups;
    let Some(group) = groups.into_iter().find(|group| group.name == row.group) else { return Ok(None) };
    // The server sorts its versions, the most stable first.
    for served in group.versions {
        let resources = client.list_api_group_resources(&served.group_version).await?.resources;
        if resources.iter().any(|found| found.name == row.plural) {
            return Ok(Some(resource(&row, &served.version)));
        }
    }
    Ok(None)
}

/// Whether a kind is there to stay: with its definition all objects of a kind go, and none of them was deleted.
pub async fn is_staying(client: &Client, kind: Kind) -> kube::Result<bool> {
    let row = row(kind);
    if row.version.is_some() {
        return Ok(true);
    }
    is_defined(client, &format!("{}.{}", row.plural, row.group)).await
}

/// Whether a definition is there, and not going.
pub async fn is_defined(client: &Client, name: &str) -> kube::Result<bool> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let found = definitions.get_metadata_opt(name).await?;
    Ok(found.is_some_and(|definition| definition.metadata.deletion_timestamp.is_none()))
}
