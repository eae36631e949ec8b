//! CustomResourceDefinitions, installed as written.

use anyhow::{Context, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
    runtime::wait::conditions::is_crd_established,
};

use crate::wait::wait_for;

pub async fn install(client: Client, manifests: &str) -> Result<()> {
    let manifests: Vec<DynamicObject> =
        serde_saphyr::from_multiple(manifests).context("reading CustomResourceDefinitions")?;
    let kind = ApiResource::erase::<CustomResourceDefinition>(&());
    let written: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    let apply = PatchParams::apply("control-plane").force();
    for manifest in &manifests {
        let name = manifest.metadata.name.as_deref().context("a CustomResourceDefinition has a name")?;
        written
            .patch(name, &apply, &Patch::Apply(manifest))
            .await
            .with_context(|| format!("applying {name}"))?;
    }
    for name in manifests.iter().filter_map(|manifest| manifest.metadata.name.as_deref()) {
        wait_for(&definitions, name, is_crd_established()).await;
    }
    Ok(())
}
