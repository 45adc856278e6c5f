//! Questions to an index of written logs: what is found, in which order, and what counts once.

use crate::support::{Any, log, write};
use proptest::prelude::*;
use stablehand_analysis::chronicle::PassageKind;
use stablehand_core::time::UnixMillis;
use stablehand_store::query::{Brief, Count, Filter, Found, Match, Order, Search, Terms};
use stablehand_store::{Budget, FILE, Store};
use tempfile::TempDir;

/// An index of logs with these names and texts.
fn index(logs: &[(&str, String)]) -> Any<(TempDir, Store)> {
    let folder = tempfile::tempdir()?;
    for (name, text) in logs {
        write(folder.path(), &format!("{name}.jsonl"), text)?;
    }
    let mut store = Store::open(folder.path())?;
    store.refresh(Budget::UNLIMITED)?;
    Ok((folder, store))
}

/// A log in which the agent says this.
fn saying(id: &str, second: u64, said: &[&str]) -> String {
    let mut text = log(id, second, 1, 1);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let place = lines.iter().position(|line| line.contains("answer 0")).unwrap_or(0);
    let line = lines[place].clone();
    for (n, said) in said.iter().enumerate() {
        let quoted = serde_json::to_string(said).unwrap_or_default();
        let old = format!("\"answer 0 of run 0 in {id}: horses, oats\"");
        lines.insert(place + n, line.replace(&old, &quoted));
    }
    text = lines.join("\n");
    text.push('\n');
    text
}

fn search(words: &[&str]) -> Search {
    Search { terms: Terms::of_arguments(words), sessions: 100, each: 100, ..Search::default() }
}

fn ask(store: &Store, wanted: &Search) -> Any<Found> {
    Ok(store.search(wanted, &|_| false)?)
}

/// The texts that were found, in order.
fn texts(found: &Found) -> Vec<&str> {
    found.sessions.iter().flat_map(|it| &it.matches).map(|it| it.text.as_str()).collect()
}

fn chats(found: &Found) -> Vec<&str> {
    found.sessions.iter().map(|it| it.chat.as_str()).collect()
}

/// What was marked in a passage.
fn found_in(it: &Match) -> Vec<&str> {
    it.found.iter().filter_map(|(from, to)| it.text.get(*from..*to)).collect()
}

#[test]
fn an_index_of_an_older_version_learns_its_signs() -> Any {
    let (folder, store) = index(&[("a", saying("a", 0, &["neigh 🐴 -> hay", "no sign"]))])?;
    drop(store);
    let old = rusqlite::Connection::open(folder.path().join(FILE))?;
    old.execute_batch("DROP TABLE signs; PRAGMA user_version = 3")?;
    drop(old);
    let store = Store::open(folder.path())?;
    assert_eq!(store.check()?, None);
    assert_eq!(texts(&ask(&store, &search(&["🐴"]))?), ["neigh 🐴 -> hay"]);
    Ok(())
}

#[test]
fn what_a_person_types_is_found() -> Any {
    let said = [
        "the quick brown fox",
        "a brown and quick cow",
        "plain C++ and C# code",
        "plain C code",
        "look into src/main.rs and foo-bar",
        "Crème brûlée 🐴 here",
        "十二匹の馬がいる",
        "use --force -> then wait_for_it",
    ];
    let (_folder, store) = index(&[("a", saying("a", 0, &said))])?;
    let table: &[(&[&str], &[usize])] = &[
        (&["quick", "brown"], &[0, 1]),
        (&["quick brown"], &[0]),
        (&["\"quick brown\""], &[0]),
        (&["QUICK", "-cow"], &[0]),
        (&["-quick cow", "brown"], &[0]),
        (&["bro*"], &[0, 1]),
        (&["\"quick bro\"*"], &[0]),
        (&["C++"], &[2]),
        (&["plain", "-C++"], &[3]),
        (&["src/main.rs"], &[4]),
        (&["foo-bar"], &[4]),
        (&["creme brulee"], &[5]),
        (&["🐴"], &[5]),
        (&["馬"], &[6]),
        (&["十二匹", "馬が"], &[6]),
        (&["--force"], &[7]),
        (&["->"], &[7]),
        (&["-> then"], &[7]),
        (&["C", "🐴"], &[]),
        (&["C#", "code"], &[2]),
        (&["🐴", "here"], &[5]),
        (&["🐴🐴"], &[]),
        (&["🐴", "-here"], &[]),
        (&["がいる", "-馬"], &[]),
        (&["İ"], &[]),
        (&["wait_for_it"], &[7]),
        (&["wait"], &[]),
        (&["NEAR(quick brown)"], &[]),
        (&["text:quick"], &[]),
        (&["unheard"], &[]),
    ];
    for (typed, expected) in table {
        let found = ask(&store, &search(typed))?;
        let mut got = texts(&found);
        got.sort_unstable();
        let mut wanted: Vec<_> = expected.iter().map(|n| said[*n]).collect();
        wanted.sort_unstable();
        assert_eq!(got, wanted, "{typed:?}");
        assert_eq!(found.matches, Count::Exactly(expected.len()), "{typed:?}");
    }
    let marked = ask(&store, &search(&["creme", "🐴"]))?;
    let it = &marked.sessions[0].matches[0];
    let parts = found_in(it);
    assert_eq!(parts, ["Crème", "🐴"]);
    let marked = ask(&store, &search(&["quick bro*"]))?;
    let it = &marked.sessions[0].matches[0];
    let parts = found_in(it);
    assert_eq!(parts, ["quick brown"]);
    Ok(())
}

#[test]
fn filters_hold() -> Any {
    let other = log("b", 5000, 1, 2).replace(r#""agent":"cursor""#, r#""agent":"claude""#);
    let hung = log("c", 9000, 1, 2).replace(r#""outcome":"success""#, r#""outcome":"hung""#);
    let open = log("d", 9500, 1, 2);
    let open = open.lines().filter(|line| !line.contains("run_ended")).collect::<Vec<_>>();
    let logs = [("a", log("a", 0, 2, 2)), ("b", other), ("c", hung), ("d", open.join("\n") + "\n")];
    let (_folder, store) = index(&logs)?;
    let with = |change: &dyn Fn(&mut Search)| -> Any<Vec<String>> {
        let mut wanted = search(&["hay1"]);
        wanted.order = Order::Newest;
        change(&mut wanted);
        let found = ask(&store, &wanted)?;
        Ok(chats(&found).into_iter().map(str::to_owned).collect())
    };
    assert_eq!(with(&|_| {})?, ["d-s0", "c-s0", "b-s0", "a-s1", "a-s0"]);
    assert_eq!(with(&|it| it.filter.agent = Some("claude".into()))?, ["b-s0"]);
    assert_eq!(with(&|it| it.outcomes = vec!["hung".into()])?, ["c-s0"]);
    assert_eq!(with(&|it| it.outcomes = vec!["unfinished".into()])?, ["d-s0"]);
    assert_eq!(with(&|it| it.outcomes = vec!["running".into()])?, [""; 0]);
    assert_eq!(with(&|it| it.tool = Some("EXECUTE".into()))?.len(), 5);
    assert_eq!(with(&|it| it.tool = Some("read".into()))?, [""; 0]);
    assert_eq!(with(&|it| it.kinds = vec![PassageKind::Prompt])?, [""; 0]);
    assert_eq!(with(&|it| it.kinds = vec![PassageKind::Command])?.len(), 5);
    assert_eq!(with(&|it| it.sessions = 2)?, ["d-s0", "c-s0"]);
    let at = |second: i64| Some(UnixMillis(1_700_000_000_000 + second * 1000));
    assert_eq!(with(&|it| it.filter.since = at(9100))?, ["d-s0"]);
    assert_eq!(with(&|it| it.filter.until = at(4000))?, ["a-s1", "a-s0"]);
    let folder = |name: &str| vec![name.to_owned()];
    assert_eq!(with(&|it| it.filter.workspace = folder("/home/rider/"))?.len(), 5);
    assert_eq!(with(&|it| it.filter.workspace = folder("/home/ride"))?, [""; 0]);
    // Everything in prompts, without a word.
    let mut wanted = search(&[""]);
    wanted.kinds = vec![PassageKind::Prompt];
    assert_eq!(texts(&ask(&store, &wanted)?).len(), 5);
    Ok(())
}

/// A list of all is made in another way than one of some, and has the same in it.
#[test]
fn both_ways_to_list_agree() -> Any {
    let other = log("b", 5000, 1, 2).replace(r#""agent":"cursor""#, r#""agent":"claude""#);
    let far = log("c", 9000, 1, 2).replace("/home/rider", "/srv/barn");
    let again = log("d", 9500, 2, 1).replace("d-s1", "a-s0");
    let logs = [("a", log("a", 0, 2, 2)), ("b", other), ("c", far), ("d", again)];
    let (_folder, store) = index(&logs)?;
    let at = |second: i64| Some(UnixMillis(1_700_000_000_000 + second * 1000));
    let agents = [None, Some("claude"), Some("nobody")];
    let times = [(None, None), (at(4000), None), (None, at(4000)), (at(4000), at(9100))];
    let folders: [&[&str]; 7] = [
        &[],
        &["/"],
        &["/home"],
        &["/home/ride"],
        &["/home/rider/"],
        &["/srv/barn", "/home/rider"],
        &["/nowhere", "/srv"],
    ];
    let mut some = 0;
    for (agent, (since, until)) in agents.iter().flat_map(|agent| times.map(|time| (agent, time))) {
        for (folder, model) in folders.iter().flat_map(|it| [None, Some("A")].map(|m| (it, m))) {
            for source in [None, Some("log"), Some("claude")] {
                let filter = Filter {
                    agent: agent.map(str::to_owned),
                    workspace: folder.iter().map(|it| (*it).to_owned()).collect(),
                    model: model.map(str::to_owned),
                    source: source.map(str::to_owned),
                    since,
                    until,
                };
                let briefs = store.briefs(&filter)?;
                let ids: Vec<&str> = briefs.iter().map(|it| it.chat.as_str()).collect();
                let shorts = store.short_ids(&ids)?;
                let listed = store.all_sessions(&filter)?;
                let all: Vec<(&str, &str)> =
                    listed.iter().map(|(it, short)| (it.chat.as_str(), short.as_str())).collect();
                let expected: Vec<(&str, &str)> =
                    ids.into_iter().zip(shorts.iter().map(String::as_str)).collect();
                assert_eq!(all, expected, "{filter:?}");
                some += all.len();
            }
        }
    }
    assert!(some > 100, "the filters let something through: {some}");
    Ok(())
}

#[test]
fn where_many_match_the_newest_come_first_and_nobody_counts() -> Any {
    let logs: Vec<_> = [("old", 0), ("middle", 50_000), ("new", 100_000)]
        .map(|(name, second)| (name, log(name, second, 1, 700)))
        .into();
    let (_folder, store) = index(&logs)?;
    let mut wanted = Search { sessions: 2, each: 3, ..search(&["horses"]) };
    let found = ask(&store, &wanted)?;
    assert_eq!(found.order, Order::Newest);
    assert_eq!(found.matches, Count::MoreThan(1000));
    assert_eq!(found.in_sessions, Count::MoreThan(2));
    assert_eq!(chats(&found), ["new-s0", "middle-s0"]);
    let first = &found.sessions[0];
    assert_eq!(first.count, Count::MoreThan(3));
    assert!(first.matches[0].text.starts_with("answer 699 "), "{}", first.matches[0].text);
    // A kind that is rare among so many is leapt to.
    wanted.terms = Terms::of_arguments(&["of"]);
    wanted.kinds = vec![PassageKind::Prompt];
    let found = ask(&store, &wanted)?;
    assert_eq!(texts(&found), ["prompt 0 of new", "prompt 0 of middle"]);
    // A beginning, of which the index has to gather everything first.
    wanted.terms = Terms::of_arguments(&["hors*"]);
    wanted.kinds.clear();
    let found = ask(&store, &wanted)?;
    assert_eq!(
        (chats(&found), found.matches),
        (vec!["new-s0", "middle-s0"], Count::MoreThan(1000))
    );
    // A sign, which only the texts have.
    let found = ask(&store, &Search { each: 2, ..search(&[":"]) })?;
    assert_eq!(chats(&found), ["new-s0", "middle-s0", "old-s0"]);
    assert!(texts(&found).iter().all(|text| text.contains(':')), "{found:?}");
    assert_eq!(ask(&store, &search(&[":", "-horses"]))?.sessions.len(), 0);
    // Rare words beside a common one are ranked by the rare ones.
    let found = ask(&store, &search(&["horses", "699"]))?;
    assert_eq!((found.order, found.matches), (Order::Best, Count::Exactly(3)));
    // The best of many, where somebody asks for it.
    let wanted = Search { order: Order::Best, ..search(&["horses"]) };
    let found = ask(&store, &wanted)?;
    assert_eq!((found.order, found.matches), (Order::Best, Count::MoreThan(1000)));
    Ok(())
}

#[test]
fn a_session_that_a_log_and_a_transcript_have_counts_once() -> Any {
    let (_folder, store) = index(&[("a", log("a", 0, 1, 1)), ("b", log("b", 60, 1, 1))])?;
    // The transcript is newer, and knows no outcome.
    store.database().execute_batch(
        "CREATE TEMP TABLE l AS SELECT * FROM logs LIMIT 1;
         UPDATE l SET id = 900, source = 'cursor', key = 'k', path = 'transcript';
         INSERT INTO logs SELECT * FROM l;
         CREATE TEMP TABLE t AS SELECT * FROM runs;
         UPDATE t SET log = 900, run = log * 10, source = 'cursor', outcome = NULL,
             last = last + 5000, turns = 70;
         UPDATE t SET chat = 'elsewhere', session = 'elsewhere' WHERE chat = 'b-s0';
         INSERT INTO runs SELECT * FROM t;",
    )?;
    let briefs = store.briefs(&Filter::default())?;
    let names: Vec<_> = briefs.iter().map(|it| (it.chat.as_str(), it.source.as_str())).collect();
    assert_eq!(names, [("elsewhere", "cursor"), ("b-s0", "log"), ("a-s0", "log")]);
    let sessions = store.sessions(&briefs)?;
    assert_eq!(sessions.iter().map(|it| it.spent.turns).collect::<Vec<_>>(), [70, 1, 1]);
    assert_eq!(sessions[2].outcome.as_deref(), Some("success"));
    assert_eq!(sessions[2].runs, ["a-r0"]);
    let imported = Filter { source: Some("cursor".into()), ..Filter::default() };
    assert_eq!(store.briefs(&imported)?.len(), 1);
    let stats = store.stats(&Filter::default(), &|_| "day".into())?;
    assert_eq!((stats.all.runs, stats.all.sessions, stats.all.spent.turns), (3, 3, 72));
    Ok(())
}

#[test]
fn sessions_are_listed_by_their_latest_news() -> Any {
    // A session that is resumed in another log is one session.
    let again = log("b", 5000, 1, 2).replace("b-s0", "a-s0");
    let logs = [("a", log("a", 0, 1, 1)), ("b", again), ("c", log("c", 100, 1, 1))];
    let (_folder, store) = index(&logs)?;
    let briefs = store.briefs(&Filter::default())?;
    let sessions = store.sessions(&briefs)?;
    let [resumed, other] = sessions.as_slice() else { panic!("{sessions:?}") };
    assert_eq!((resumed.chat.as_str(), other.chat.as_str()), ("a-s0", "c-s0"));
    assert_eq!(resumed.runs, ["a-r0", "b-r0"]);
    assert_eq!((resumed.logs.len(), resumed.spent.tools), (2, 3));
    assert_eq!(resumed.title.as_deref(), Some("prompt 0 of a"));
    // More than are read one by one give the same.
    let none = (0..600).map(|n| Brief { chat: format!("none-{n}"), ..briefs[0].clone() });
    let many: Vec<_> = briefs.iter().cloned().chain(none).collect();
    assert_eq!(store.sessions(&many)?, sessions);
    let all = store.all_sessions(&Filter::default())?;
    assert_eq!(all.into_iter().map(|(session, _)| session).collect::<Vec<_>>(), sessions);
    let model = |name: &str| Filter { model: Some(name.into()), ..Filter::default() };
    assert_eq!(store.briefs(&model("AUT"))?.len(), 2);
    assert_eq!(store.briefs(&model("gpt"))?.len(), 0);
    Ok(())
}

#[test]
fn an_id_is_as_long_as_it_must_be() -> Any {
    let logs = ["session-1", "session-12", "x"].map(|id| (id, log(id, 0, 1, 0)));
    let (_folder, store) = index(&logs)?;
    let ids = store.short_ids(&["session-1-s0", "session-12-s0", "x-s0"])?;
    assert_eq!(ids, ["session-1-", "session-12", "x-s0"]);
    // More than are asked for one by one give the same.
    let many = ["session-1-s0", "session-12-s0", "x-s0"].repeat(200);
    assert_eq!(store.short_ids(&many)?[..3], ids);
    Ok(())
}

#[test]
fn numbers_are_added_up() -> Any {
    let hung = log("b", 86_400, 2, 3).replace(r#""outcome":"success""#, r#""outcome":"hung""#);
    let (_folder, store) = index(&[("a", log("a", 0, 1, 2)), ("b", hung)])?;
    let day = |at: UnixMillis| at.rfc3339().chars().take(10).collect();
    let stats = store.stats(&Filter::default(), &day)?;
    assert_eq!((stats.all.runs, stats.all.ended(), stats.all.hung()), (3, 3, 2));
    let days: Vec<_> = stats.days.iter().map(|it| (it.name.as_str(), it.figures.runs)).collect();
    assert_eq!(days, [("2023-11-14", 1), ("2023-11-15", 2)]);
    let [tool] = stats.tools.as_slice() else { panic!("{:?}", stats.tools) };
    assert_eq!((tool.calls, tool.failed, tool.times.longest_ms), (8, 0, 7));
    let since = UnixMillis(1_700_000_000_000 + 80_000_000);
    let later = Filter { since: Some(since), ..Filter::default() };
    assert_eq!(store.stats(&later, &day)?.all.runs, 2);
    Ok(())
}

#[test]
fn a_pasted_page_is_a_search_too() -> Any {
    let (_folder, store) = index(&[("a", log("a", 0, 1, 1))])?;
    let page: Vec<String> = (0..5000).map(|n| format!("word{n}")).collect();
    assert_eq!(ask(&store, &Search { ..search(&[]) })?.sessions.len(), 1);
    for words in [page.clone(), vec![page.join(" ")]] {
        let wanted = Search { terms: Terms::of_arguments(&words), ..search(&[]) };
        assert_eq!(ask(&store, &wanted)?.sessions.len(), 0);
    }
    for words in ["\"".repeat(3000), "-x".repeat(999), "(".repeat(999), "a*".repeat(999)] {
        ask(&store, &search(&[&words]))?;
    }
    let not: Vec<String> = page.iter().map(|word| format!("-{word}")).collect();
    let wanted = Search { terms: Terms::of_arguments(&not), ..search(&[]) };
    assert_eq!(ask(&store, &wanted)?.sessions.len(), 1);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_search_is_accepted(
        words in prop::collection::vec(
            prop_oneof![
                any::<String>(),
                "[\"*()^:+{},.-]{1,6}",
                "(AND|OR|NOT|NEAR\\(|NEAR/3|text:|-|\"|\\*|horses|oats| |\0|\\{|\\^){1,6}",
            ],
            1..5,
        ),
        kind in prop::option::of(prop::sample::select(&PassageKind::ALL[..])),
        order in prop::sample::select(&[Order::Auto, Order::Best, Order::Newest][..]),
    ) {
        thread_local! {
            static INDEX: (TempDir, Store) =
                index(&[("a", log("a", 0, 1, 2)), ("b", log("b", 9, 1, 2))]).expect("an index");
        }
        let wanted = Search {
            terms: Terms::of_arguments(&words),
            kinds: kind.into_iter().collect(),
            order,
            ..search(&[])
        };
        let found = INDEX.with(|(_, store)| store.search(&wanted, &|_| false));
        let found = found.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
        for it in found.sessions.iter().flat_map(|it| &it.matches) {
            for (from, to) in &it.found {
                prop_assert!(it.text.get(*from..*to).is_some_and(|part| !part.is_empty()));
            }
        }
    }
}

#[test]
fn an_index_from_before_gets_the_session_of_runs_that_failed_at_once() -> Any {
    let failed = log("a", 0, 1, 0)
        .replace(r#""agent":"cursor""#, r#""agent":"cursor","resumed_from":"before""#);
    let failed: String =
        failed.lines().take(2).map(str::to_owned).collect::<Vec<_>>().join("\n") + "\n";
    let (folder, store) = index(&[("a", failed)])?;
    let chat = |store: &Store| {
        store.database().query_row("SELECT chat FROM runs", [], |row| row.get::<_, String>(0))
    };
    assert_eq!(chat(&store)?, "before");
    store.database().execute_batch(
        "UPDATE runs SET chat = run_id; DROP TABLE signs; PRAGMA user_version = 2;",
    )?;
    drop(store);
    assert_eq!(chat(&Store::open(folder.path())?)?, "before");
    Ok(())
}
