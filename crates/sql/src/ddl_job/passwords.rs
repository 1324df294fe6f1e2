//! Passwords of CREATE USER and ALTER USER become verifiers before a job is made, a slice of the slow hash at a time.
//!
//! Invariant: a request that is done holds no password.

use crate::session::ROUNDS_PER_SLICE;
use crate::statement::Cx;
use catalogue::{Credential, DdlRequest, UserName};
use executor::{Failure, Progress};
use mysql_protocol::auth::slow::SlowHash;
use mysql_protocol::{AuthPlugin, Verifier};
use protocol::SqlError;

/// The hash that is being made.
#[derive(Default)]
pub(super) struct PasswordHashing {
    hash: Option<SlowHash>,
}

impl PasswordHashing {
    /// Goes on; None when no password is left.
    pub(super) fn step(
        &mut self,
        request: &mut DdlRequest,
        cx: &mut Cx<'_, '_>,
    ) -> Result<Option<Progress>, Failure> {
        let Some((users, options)) = request.accounts_mut() else { return Ok(None) };
        options.now_s = cx.env.now.wall.0 / 1_000_000;
        for spec in users {
            let Some(authentication) = &mut spec.authentication else { continue };
            let Credential::Password(password) = &authentication.credential else { continue };
            let plugin = plugin_of(authentication.plugin.as_deref(), &spec.user, cx);
            let verifier = match plugin {
                _ if password.0.is_empty() => Verifier::Empty,
                AuthPlugin::MysqlNativePassword => Verifier::from_password(plugin, password.0.as_bytes()),
                AuthPlugin::CachingSha2Password => match self.hash(&password.0, cx)? {
                    Some(verifier) => verifier,
                    None => return Ok(Some(Progress::Spent)),
                },
            };
            authentication.plugin = Some(plugin.name().to_owned());
            authentication.credential = Credential::Stored(verifier.to_stored());
        }
        Ok(None)
    }

    /// The slow hash, if the budget lasts.
    fn hash(&mut self, password: &str, cx: &mut Cx<'_, '_>) -> Result<Option<Verifier>, Failure> {
        let hash = match &mut self.hash {
            Some(hash) => hash,
            None => {
                let salt = *cx.env.module.nonces.next().as_bytes();
                let too_long =
                    || SqlError::new(1819, "Your password does not satisfy the current policy requirements");
                let begun = SlowHash::of_password(password.as_bytes(), salt).ok_or_else(too_long)?;
                self.hash.insert(begun)
            }
        };
        loop {
            if let Some(made) = hash.run(ROUNDS_PER_SLICE) {
                self.hash = None;
                return Ok(Some(Verifier::Slow(made)));
            }
            if !cx.env.budget.spend(ROUNDS_PER_SLICE) {
                return Ok(None);
            }
        }
    }
}

/// The plugin that the statement names, else the account's own, else the default.
fn plugin_of(named: Option<&str>, user: &UserName, cx: &Cx<'_, '_>) -> AuthPlugin {
    let own = cx.env.module.site.map.schema.user(&user.name, &user.host).map(|user| user.plugin.as_str());
    let name = named.or(own).unwrap_or_default();
    AuthPlugin::from_name(name.as_bytes()).unwrap_or(AuthPlugin::CachingSha2Password)
}
