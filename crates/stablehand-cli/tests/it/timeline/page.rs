//! The page in a real browser: it draws, zooms, moves, searches and shows, and asks for nothing.

use super::*;
use crate::support::browser;
use stablehand_testkit::browser::Browser;

/// A number that the page shows of its state.
fn state(browser: &mut Browser, name: &str) -> f64 {
    let value = browser.eval(&format!("document.documentElement.dataset.{name}"));
    value.as_str().unwrap_or("0").parse().unwrap()
}

/// What part of the time is shown.
fn view(browser: &mut Browser) -> (f64, f64) {
    // The picture follows with the next frame.
    browser.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    (state(browser, "from"), state(browser, "to"))
}

fn text(browser: &mut Browser, id: &str) -> String {
    let value = browser.eval(&format!("document.getElementById('{id}').textContent"));
    value.as_str().unwrap_or_default().to_owned()
}

/// Whether the picture has more than its background, which takes little room.
const DRAWN: &str = "document.getElementById('chart').toDataURL().length > 12000";

/// It complained about nothing and asked for nothing but itself.
fn assert_alone(browser: &Browser) {
    assert_eq!(browser.complaints(), &[] as &[String]);
    let asked = browser.requests();
    assert!(
        asked.iter().all(|url| url.starts_with("file://") || url == "about:blank"),
        "{asked:?}"
    );
    let pages = asked.iter().filter(|url| url.starts_with("file://")).count();
    assert_eq!(pages, 1, "{asked:?}");
}

#[test]
fn a_page_zooms_moves_searches_and_shows() {
    let Some(mut browser) = browser() else { return };
    let env = TestEnv::new(bins());
    let log = parallel(&env);
    let (path, _) = drawn(&env, &log, "t.html");
    browser.open(&path);
    browser.wait_for("the picture", DRAWN);
    assert_eq!(view(&mut browser), (0.0, 14_626.0));

    // The wheel zooms where the mouse is: that moment stays where it was.
    let (x, y) = (700.0, 400.0);
    browser.wheel(x, y, -300.0);
    browser.wait_for("the zoom", "document.documentElement.dataset.to < 14626");
    let (from, to) = view(&mut browser);
    assert!(from > 0.0 && to - from < 14_626.0 * 0.7, "{from} to {to}");
    let part = (x - 92.0) / (1280.0 - 92.0 - 18.0);
    let (before, after) = (14_626.0 * part, from + (to - from) * part);
    assert!((before - after).abs() < 15.0, "{before} became {after}");

    browser.key("+");
    let closer = view(&mut browser);
    assert!(closer.1 - closer.0 < to - from);
    browser.key("ArrowRight");
    assert!(view(&mut browser).0 > closer.0);
    let still = view(&mut browser);
    browser.drag((700.0, 600.0), (800.0, 600.0));
    let moved = view(&mut browser);
    assert!(moved.0 < still.0 && ((moved.1 - moved.0) - (still.1 - still.0)).abs() < 0.01);
    browser.key("0");
    assert_eq!(view(&mut browser), (0.0, 14_626.0));

    // Marking a part of the axis zooms into it.
    let top = browser.eval("document.getElementById('chart').getBoundingClientRect().top");
    let axis = top.as_f64().unwrap() + 12.0;
    browser.drag((400.0, axis), (600.0, axis));
    let (from, to) = view(&mut browser);
    let ms = |x: f64| (x - 92.0) / 1170.0 * 14_626.0;
    assert!((from - ms(400.0)).abs() < 2.0 && (to - ms(600.0)).abs() < 2.0, "{from} to {to}");
    browser.key("f");

    // Search finds what was run, and goes through it.
    browser.key("/");
    browser.write("SLEEP");
    browser.wait_for("two matches", "document.documentElement.dataset.found === '2'");
    assert_eq!(text(&mut browser, "found"), "2 found");
    browser.key("Enter");
    browser.wait_for("the first", "document.getElementById('found').textContent === '1 of 2'");
    assert!(text(&mut browser, "text").contains("sleep 4"));
    browser.key("Enter");
    browser.wait_for("the second", "document.getElementById('found').textContent === '2 of 2'");
    assert!(text(&mut browser, "text").contains("sleep 9"));
    let about = text(&mut browser, "about");
    assert!(about.contains("(9036 ms)") && about.contains("(9008 ms)"), "both clocks: {about}");
    browser.key("Escape");
    browser.wait_for("an end of it", "document.documentElement.dataset.found === '0'");

    // A click shows what is there.
    browser.key("0");
    let lane = "JSON.parse(document.getElementById('data').textContent).timeline.lanes";
    assert_eq!(browser.eval(&format!("{lane}[3].track")), "tool");
    // The fourth lane, each with a track of its own: run, turn, model, tools.
    let y = top.as_f64().unwrap() + 30.0 + 6.0 + 3.0 * 32.0 + 12.0;
    let width = browser.eval("document.getElementById('chart').clientWidth").as_f64().unwrap();
    browser.click(92.0 + (width - 110.0) * 7_000.0 / 14_626.0, y);
    browser.wait_for("details", "document.documentElement.dataset.selected !== ''");
    assert!(text(&mut browser, "text").contains("sleep 4"), "{}", text(&mut browser, "about"));
    browser.key("Escape");
    browser.wait_for("no details", "document.getElementById('details').hidden");
    browser.key("?");
    browser.wait_for("the help", "document.getElementById('help').open");
    browser.key("Escape");
    browser.dark(true);
    browser.wait_for("the picture by night", DRAWN);
    assert_alone(&browser);
}

#[test]
fn hostile_text_runs_nowhere() {
    let Some(mut browser) = browser() else { return };
    let env = TestEnv::new(bins());
    let log = hostile(&env);
    let (path, _) = drawn(&env, &log, "t.html");
    browser.open(&path);
    browser.wait_for("the picture", DRAWN);
    for query in ["</script>", "onerror", "svg onload"] {
        browser.key("/");
        browser.write(query);
        browser.wait_for(query, "document.documentElement.dataset.found === '1'");
        browser.key("Enter");
        let shown = format!("document.getElementById('text').textContent.includes({query:?})");
        browser.wait_for("details", &shown);
        browser.key("Escape");
        browser.wait_for("an end of it", "document.documentElement.dataset.found === '0'");
    }
    assert!(!browser.eval("document.title").as_str().unwrap().contains("owned"));
    assert_eq!(browser.eval("document.images.length"), 0);
    assert_alone(&browser);

    // The picture is well-formed, which a browser is strict about.
    let (path, _) = drawn(&env, &log, "t.svg");
    browser.open(&path);
    assert_eq!(browser.eval("document.querySelector('parsererror')"), Value::Null);
    assert_eq!(browser.eval("document.documentElement.tagName"), "svg");
    assert_eq!(browser.eval("document.scripts.length"), 0);
    assert_tidy(&mut browser);
}

/// In a picture nothing is written beyond the edge, and no two names over each other.
fn assert_tidy(browser: &mut Browser) {
    let outside = "[...document.querySelectorAll('text')].filter((t) => {
        const b = t.getBBox(), v = document.documentElement.viewBox.baseVal;
        return b.x < 0 || b.x + b.width > v.width + 0.5 || b.y + b.height > v.height;
      }).map((t) => t.textContent)";
    assert_eq!(browser.eval(outside), serde_json::json!([]));
    let over = "(() => {
        const boxes = [...document.querySelectorAll('text')].map((t) => [t.getBBox(), t.textContent]);
        return boxes.flatMap(([a, one], i) => boxes.slice(i + 1)
          .filter(([b]) => a.y === b.y && a.x < b.x + b.width && b.x < a.x + a.width)
          .map(([, other]) => [one, other]));
      })()";
    assert_eq!(browser.eval(over), serde_json::json!([]));
}

#[test]
fn a_crowded_picture_stays_readable() {
    let Some(mut browser) = browser() else { return };
    let env = TestEnv::new(bins());
    let mut log = Log::new("claude");
    // Short and long, close and far, of every width, in three lanes.
    for number in 0..60_i64 {
        let from = number * number * 7 + 20;
        let to = from + (number * 37) % 900;
        log.command(&format!("t{number}"), from, to, &format!("make 好的 target-{number}"), "ok");
        let hook = ZERO + from + 3;
        log.line(&format!(r#"{{"msg":"hook_received","ts":{hook},"agent":"claude","hook":"PreToolUse","event":{{"type":"hook.received","name":"PreToolUse","payload":{{}}}}}}"#));
        log.line(&format!(
            r#"{{"msg":"limits_moved","ts":{hook},"text":"the processes were busy"}}"#
        ));
    }
    log.end(27_000);
    let log = log.save(&env);
    for width in ["400", "1200", "3000"] {
        let path = env.path("t.svg");
        let path = path.to_str().unwrap();
        timeline(&env, &log, &["-o", path, "--width", width]).finish().assert_code(0);
        browser.open(Path::new(path));
        assert!(browser.eval("document.querySelectorAll('text').length").as_u64() > Some(10));
        assert_tidy(&mut browser);
    }
}

/// Twenty frames do not take long.
fn assert_quick(browser: &mut Browser, what: &str) {
    let took = browser.eval(
        "new Promise((done) => { const start = performance.now(); let frames = 0;
           const step = () => {
             const key = frames % 2 ? 'ArrowLeft' : 'ArrowRight';
             document.dispatchEvent(new KeyboardEvent('keydown', { key }));
             if (++frames === 20) done(performance.now() - start); else requestAnimationFrame(step);
           };
           step(); })",
    );
    eprintln!("twenty frames of {what}: {took} ms");
    // Generous: other tests run beside this one, and there is no graphics card.
    assert!(took.as_f64().unwrap() < 10_000.0, "{took} ms for twenty frames of {what}");
}

#[test]
fn a_hundred_thousand_spans_are_still_usable() {
    let Some(mut browser) = browser() else { return };
    let env = TestEnv::new(bins());
    let mut log = Log::new("claude");
    // Of all records that begin a span these are read quickest, and the page draws all alike.
    for number in 0..100_000 {
        let at = ZERO + 10 * number + 10;
        log.line(&format!(
            r#"{{"msg":"agent_killed","ts":{at},"stage":"stage","reason":"step {number}"}}"#
        ));
    }
    log.end(1_000_100);
    let log = log.save(&env);
    let (path, _) = drawn(&env, &log, "t.html");
    browser.open(&path);
    browser.wait_for("the picture", DRAWN);
    assert_quick(&mut browser, "all of it");
    for _ in 0..20 {
        browser.wheel(600.0, 400.0, -300.0);
    }
    let root = "document.documentElement.dataset";
    browser.wait_for("the zoom", &format!("{root}.to - {root}.from < 3000"));
    assert_quick(&mut browser, "a part of it");
    browser.key("/");
    browser.write("step 99999");
    browser.wait_for("the match", "document.documentElement.dataset.found === '1'");
    browser.key("Enter");
    browser.wait_for("its place", "document.documentElement.dataset.to > 999000");
    assert_eq!(text(&mut browser, "text"), "step 99999");
    assert_alone(&browser);
}
