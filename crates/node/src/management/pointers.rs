//! NDB's words for what is done elsewhere here, or not at all: what users of ndb_mgm type is answered by one line that
//! names the place.
//!
//! Invariants: every answer here depends on the line alone, and changes nothing. An answer that begins with `ERROR`
//! says that nothing was done. A level or a category that NDB does not have is refused by name, as NDB does.

/// Categories of events that NDB logs.
const CATEGORIES: [&str; 12] = [
    "STARTUP",
    "SHUTDOWN",
    "STATISTICS",
    "CHECKPOINT",
    "NODERESTART",
    "CONNECTION",
    "INFO",
    "WARNING",
    "ERROR",
    "CONGESTION",
    "BACKUP",
    "SCHEMA",
];
/// Severities that NDB's cluster log is filtered by.
const SEVERITIES: [&str; 7] = ["ALL", "ALERT", "CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG"];
/// The highest level of a category.
const LEVEL_MAX: u8 = 15;

const LOGS: &str = "there is no cluster log: each node writes its own, to standard error or to its --log-file; its option --log \
                    (error, warn, info, debug) says how much";
const NODES_FIRST: &str = "takes nodes in front of it: 'all', or their ids";

/// The nodes that a line names first, and the words behind them.
pub(super) fn nodes_in_front<'line>(words: &[&'line str]) -> Option<(bool, usize, &'line str)> {
    let is_all = words.first() == Some(&"all");
    let is_id = |word: &&&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let count = if is_all { 1 } else { words.iter().take_while(is_id).count() };
    let verb = words.get(count).filter(|_| count > 0)?;
    Some((is_all, count, verb))
}

/// The answer to a line of such words; `None` if it is none of them.
pub(super) fn answer(words: &[&str]) -> Option<String> {
    if let Some((_, count, _)) = nodes_in_front(words) {
        return of_nodes(&words[count..]).map(|text| text + "\n");
    }
    let text = match words {
        ["start" | "abort", "backup", ..] => {
            "ERROR: there are no backups yet; mysqldump or mariadb-dump makes a dump of a database".to_owned()
        }
        ["enter" | "exit", "single", "user", "mode", ..] => {
            "ERROR: there is no single user mode; ALTER USER … ACCOUNT LOCK keeps accounts out".to_owned()
        }
        ["create" | "drop", "nodegroup", ..] => {
            "ERROR: node groups follow from the [ndbd] sections and NoOfReplicas of config.ini, and do not change while the cluster runs"
                .to_owned()
        }
        ["start", ..] => START.to_owned(),
        ["purge", "stale", "sessions"] => {
            "nothing to purge: a node id is free as soon as its node is not connected".to_owned()
        }
        ["clusterlog", rest @ ..] => cluster_log(rest),
        ["loglevel", rest @ ..] => levels(rest),
        ["nodelog", rest @ ..] | ["node", "log", rest @ ..] => node_log(rest),
        ["report" | "rep" | "dump" | "status", ..] => format!("ERROR: {} {NODES_FIRST}", words[0]),
        ["show", _, ..] => {
            "ERROR: show takes nothing behind it; 'get config' tells the text of config.ini, ndbinfo.config_values what holds for each node"
                .to_owned()
        }
        ["prompt" | "connect" | "exit" | "quit" | "bye", ..] => {
            format!("ERROR: {} is a command of `latsdb mgm` itself", words[0])
        }
        _ => return None,
    };
    Some(text + "\n")
}

const START: &str = "ERROR: a node is started where it runs, by `latsdb data`, `sql` or `mgmd`; its angel starts it again after 'N restart'";

/// The same for words behind nodes.
fn of_nodes(words: &[&str]) -> Option<String> {
    Some(match words {
        ["start", ..] => START.to_owned(),
        ["clusterlog" | "loglevel", rest @ ..] => levels(rest),
        ["nodelog", rest @ ..] | ["node", "log", rest @ ..] => node_log(rest),
        ["report" | "rep", rest @ ..] => {
            let unknown = rest.first().map_or_else(String::new, |kind| format!("'{kind}' is no report; "));
            match rest {
                [kind] if is_start_of("eventlog", kind) => {
                    "ERROR: events are lines of each node's log, and counted in ndbinfo.counters".to_owned()
                }
                _ => format!("ERROR: {unknown}report takes MemoryUsage, BackupStatus or EventLog"),
            }
        }
        ["dump", code, ..] if code.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("ERROR: dump {code} is not known here; 1000 reports memory, and ndbinfo tells the rest")
        }
        ["dump", ..] => "ERROR: dump takes a number: 1000 reports memory".to_owned(),
        [
            "log" | "login" | "logout" | "loginout" | "logoff" | "logon" | "teston" | "testoff" | "set"
            | "getstat" | "error" | "trace",
            ..,
        ] => format!(
            "ERROR: {} is for NDB's developers; a node's option --log debug, its trace files and ndbinfo tell what it does",
            words[0]
        ),
        _ => return None,
    })
}

/// Whether the typed text is the beginning of a name.
pub(super) fn is_start_of(name: &str, typed: &str) -> bool {
    !typed.is_empty() && name.starts_with(typed)
}

fn cluster_log(words: &[&str]) -> String {
    match words {
        ["info"] => LOGS.to_owned(),
        ["on" | "off" | "filter" | "toggle", severities @ ..] => {
            let unknown = severities
                .iter()
                .find(|severity| !SEVERITIES.iter().any(|known| known.eq_ignore_ascii_case(severity)));
            match unknown {
                Some(unknown) => {
                    format!("ERROR: '{unknown}' is no severity; there are {}", SEVERITIES.join(", "))
                }
                None if severities.is_empty() && matches!(words[0], "filter" | "toggle") => {
                    format!("ERROR: clusterlog {} takes {}", words[0], SEVERITIES.join(", "))
                }
                None => format!("ERROR: {LOGS}"),
            }
        }
        _ => "ERROR: clusterlog takes ON, OFF, INFO, FILTER or TOGGLE, or nodes in front of it: all clusterlog STARTUP=7".to_owned(),
    }
}

/// `CATEGORY=LEVEL …`
fn levels(words: &[&str]) -> String {
    let settings = words.join(" ").replace(" =", "=").replace("= ", "=");
    if settings.is_empty() {
        return format!("ERROR: CATEGORY=LEVEL is missing; categories are {}", CATEGORIES.join(", "));
    }
    for setting in settings.split(' ') {
        let (category, level) = setting.split_once('=').unwrap_or((setting, ""));
        if !CATEGORIES.iter().any(|known| known.eq_ignore_ascii_case(category)) {
            return format!("ERROR: '{category}' is no category; there are {}", CATEGORIES.join(", "));
        }
        if level.parse::<u8>().ok().is_none_or(|level| level > LEVEL_MAX) {
            return format!("ERROR: {category}={level}: a level is 0 to {LEVEL_MAX}");
        }
    }
    format!("ERROR: {LOGS}")
}

fn node_log(words: &[&str]) -> String {
    match words {
        ["debug"] | ["debug", "on" | "off"] | ["level", ..] => format!("ERROR: {LOGS}"),
        _ => "ERROR: nodelog takes DEBUG ON or DEBUG OFF".to_owned(),
    }
}

/// The verbs that may stand behind nodes: for a user who has typed something else.
pub(super) fn verbs(words: &[&str]) -> Option<&'static str> {
    let begins_with_nodes = words.first().is_some_and(|word| {
        *word == "all" || (!word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()))
    });
    begins_with_nodes.then_some("behind nodes there are status, stop, restart, report and dump")
}

#[cfg(test)]
mod tests;
