use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;

use crate::StoreResult;
use crate::catalog::Catalog;
use crate::secrets::Secrets;

impl Catalog {
    /// Returns the server's secret of that name, or stores the given one if there is none.
    ///
    /// # Errors
    /// Fails if it was encrypted with another key than this server's.
    pub async fn server_secret(
        &self,
        name: &'static str,
        otherwise: Secret,
        secrets: Secrets,
        now: Timestamp,
    ) -> StoreResult<Secret> {
        self.transact(move |tx| {
            let owner = format!("server {name}");
            let sealed = secrets.seal(&otherwise, &owner)?;
            tx.execute(
                "INSERT INTO server_secret (name, sealed, created_at) VALUES ($1, $2, $3) \
                 ON CONFLICT (name) DO NOTHING",
                &[name.into(), sealed.into(), now.into()],
            )?;
            let sql = "SELECT sealed FROM server_secret WHERE name = $1";
            let kept: Option<String> = tx.one(sql, &[name.into()], |row| row.get(0))?;
            secrets.open(&kept.unwrap_or_default(), &owner)
        })
        .await
    }
}
