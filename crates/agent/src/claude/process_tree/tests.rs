use std::process::{Child, Command, Stdio};

use ratchet_testkit::wait::{Lines, exit};

use super::super::process_identity::wait_until_gone;
use super::*;

#[test]
fn kin_are_known_by_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let cat = |temp: &Path| {
        let mut command = Command::new("cat");
        command.env("TMPDIR", temp).stdin(Stdio::piped()).spawn().unwrap()
    };
    let (mut marked, mut stranger) = (cat(folder.path()), cat(&folder.path().join("other")));
    // Neither has to be ready: they may still be on their way from this program to theirs.
    let killed = kill_by_temp_folder(folder.path());
    assert_eq!(killed.iter().map(|identity| identity.pid).collect::<Vec<_>>(), [marked.id()]);
    assert!(!exit("the killed process", &mut marked).success());
    drop(stranger.stdin.take());
    assert!(exit("a process of another folder", &mut stranger).success());
}

#[test]
fn a_process_between_two_programs_is_looked_at_again() {
    let stat = |state: &str, flags: u64, environment: u64| {
        let zeros = "0 ".repeat(41);
        format!("7 (a) b) {state} 1 7 7 0 -1 {flags} {zeros} {environment} 0\n")
    };
    assert!(is_becoming(&stat("R", 0, 0)));
    assert!(!is_becoming(&stat("Z", 0, 0)), "it is over");
    assert!(!is_becoming(&stat("S", KERNEL_THREAD, 0)), "it never has one");
    assert!(!is_becoming(&stat("S", 0, 4096)), "it has an empty one");
    assert!(!is_becoming(""));
    let own = std::fs::read_to_string("/proc/self/stat").unwrap();
    assert!(!is_becoming(&own), "{own}");
}

/// Spawns a shell in its own process group, with a child that left the group by `setsid`, as the
/// program's shells do. Neither can be found by its environment.
fn family() -> (Child, Vec<u32>) {
    let mut command = Command::new("sh");
    command.args(["-c", "setsid sh -c 'echo $$; sleep 600; true' & echo $$; wait"]);
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = Lines::of(child.stdout.take().unwrap());
    let pids = ["first", "second"].map(|which| lines.next(&format!("{which} process id")));
    (child, pids.map(|pid| pid.parse().unwrap()).to_vec())
}

#[test]
fn what_left_the_group_ends_with_the_tree() {
    let (mut child, pids) = family();
    let identities: Vec<ProcessIdentity> =
        pids.iter().map(|pid| ProcessIdentity::of(*pid)).collect();
    assert!(identities.iter().all(ProcessIdentity::is_alive), "{identities:?}");
    let nowhere = tempfile::tempdir().unwrap();
    let killed = kill_tree(&ProcessIdentity::of(child.id()), nowhere.path());
    assert!(
        identities.iter().all(|identity| killed.contains(identity)),
        "{identities:?} {killed:?}"
    );
    exit("the killed shell", &mut child);
    wait_until_gone(&killed);
    assert!(!killed.iter().any(ProcessIdentity::is_alive), "{killed:?}");
}

#[test]
fn a_process_that_only_has_the_number_is_left_alone() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let former = ProcessIdentity { started: "1@x".to_owned(), ..ProcessIdentity::of(child.id()) };
    assert_eq!(kill_tree(&former, tempfile::tempdir().unwrap().path()), []);
    drop(child.stdin.take());
    assert!(exit("a process that was left alone", &mut child).success());
}

#[test]
fn ps_is_read_where_there_is_no_proc() {
    assert_eq!(read_parent("  501     1"), Some((501, 1)));
    assert_eq!(read_parent("PID PPID"), None);
    let started = read_start("Ss   Mon Nov 16 11:46:32 2026");
    assert_eq!(started.as_deref(), Some("Mon_Nov_16_11:46:32_2026"));
    assert_eq!(read_start("Z    Mon Nov 16 11:46:32 2026"), None);
    let (mut child, pids) = family();
    if Path::new(PS).exists() {
        let listed = ps(&["-A", "-o", "pid=", "-o", "ppid="]).unwrap();
        let listed: Vec<_> = listed.lines().filter_map(read_parent).collect();
        assert!(listed.contains(&(child.id(), std::process::id())), "{listed:?}");
        let said = ps(&["-o", "state=", "-o", "lstart=", "-p", &child.id().to_string()]);
        assert!(said.as_deref().and_then(read_start).is_some(), "{said:?}");
    }
    drop(pids);
    drop(kill_tree(&ProcessIdentity::of(child.id()), tempfile::tempdir().unwrap().path()));
    exit("the killed shell", &mut child);
}
