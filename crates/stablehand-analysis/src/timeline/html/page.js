"use strict";
// Draws the timeline, and lets a person move in it. Texts reach the page as text only.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const { timeline, colours } = data;
  const spans = timeline.spans;
  const length = Math.max(timeline.length_ms, 1);
  const titles = new Map(data.tracks);

  // ---- Geometry -------------------------------------------------------------------------------

  const LABELS = 92, RIGHT = 18, AXIS = 30, LANE = 24, BAR = 18, GAP = 8, LEAST = 1.5;
  const MARKS = new Set(["verdict", "stop", "hook", "note"]);
  const lanes = timeline.lanes.map((lane) => ({ ...lane, spans: [], reach: [], top: 0 }));
  spans.forEach((span, index) => {
    span.index = index;
    span.colour = data.colour_of[index];
    const lane = lanes[span.lane];
    span.mark = span.start_ms === span.end_ms && MARKS.has(lane.track);
    lane.spans.push(span);
    // The latest end so far: sorted, whatever overlaps, so that it can be searched by halves.
    lane.reach.push(Math.max(lane.reach.at(-1) ?? 0, span.end_ms));
  });
  let content = 6;
  lanes.forEach((lane, index) => {
    if (index > 0 && lanes[index - 1].track !== lane.track) content += GAP;
    lane.top = content;
    content += LANE;
  });
  content += 10;

  // ---- State ----------------------------------------------------------------------------------

  const chart = byId("chart"), map = byId("map"), tip = byId("tip");
  let from = 0, to = length, scroll = 0;
  let selected = null, hovered = null, matches = [], matched = new Set(), current = -1;
  let marking = null, frame = 0, width = 0, height = 0, mapPicture = null, palette = {};

  const room = () => Math.max(width - LABELS - RIGHT, 10);
  const xOf = (ms) => LABELS + ((ms - from) / (to - from)) * room();
  const msOf = (x) => from + ((x - LABELS) / room()) * (to - from);
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  function show(newFrom, newTo) {
    const least = Math.min(length, 2);
    const span = clamp(newTo - newFrom, least, length);
    const middle = (newFrom + newTo) / 2;
    from = clamp(middle - span / 2, 0, length - span);
    to = from + span;
    draw();
  }
  function zoom(factor, at = (from + to) / 2) {
    const part = (at - from) / (to - from);
    const span = clamp((to - from) * factor, Math.min(length, 2), length);
    show(at - part * span, at + (1 - part) * span);
  }
  const pan = (part) => show(from + part * (to - from), to + part * (to - from));
  function scrollTo(y) {
    scroll = clamp(y, 0, Math.max(content - (height - AXIS), 0));
    draw();
  }

  // ---- Words ----------------------------------------------------------------------------------

  function human(ms) {
    const s = Math.floor(ms / 1000);
    if (s < 1) return `${Math.round(ms)} ms`;
    if (s < 60) return `${(ms / 1000).toFixed(ms % 1000 ? 2 : 0).replace(/(\.\d)0$/, "$1")} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${String(s % 60).padStart(2, "0")} s`;
    return `${Math.floor(s / 3600)} h ${String(Math.floor(s / 60) % 60).padStart(2, "0")} min`;
  }
  const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5,
    9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5, 864e5, 1728e5, 432e6];
  function tick(ms, step) {
    const s = Math.floor(ms / 1000), rest = Math.round(ms % 1000);
    if (ms === 0) return "0";
    if (step < 1000 && s < 60) {
      return s === 0 ? `${rest} ms` : `${(ms / 1000).toFixed(step >= 100 ? 1 : step >= 10 ? 2 : 3)} s`;
    }
    const m = Math.floor(s / 60), h = Math.floor(s / 3600), d = Math.floor(s / 86400);
    const two = (n) => String(n).padStart(2, "0");
    if (step < 1000) return `${m}:${two(s % 60)}.${String(rest).padStart(3, "0")}`;
    if (s < 60) return `${s} s`;
    if (s < 3600) return s % 60 ? `${m}:${two(s % 60)}` : `${m} min`;
    if (s < 86400) return step < 6e4 ? `${h}:${two(m % 60)}:${two(s % 60)}` : `${h}:${two(m % 60)} h`;
    return `${d} d ${two(h % 24)} h`;
  }
  const flat = (text) => (text || "").slice(0, 400).replace(/\s+/g, " ").trim();
  const lane = (span) => lanes[span.lane];
  function nameOf(span) {
    const text = flat(span.text);
    switch (lane(span).track) {
      case "silence": return human(span.end_ms - span.start_ms);
      case "run": return `${span.name} · ${span.outcome || "not ended"}`;
      case "turn": case "text": case "thinking": case "tool": case "sub_agent": case "approval":
        return text || span.name;
      case "verdict": case "stop": case "note": case "retry":
        return text ? `${span.name}: ${text}` : span.name;
      default: return span.name;
    }
  }

  // ---- Drawing --------------------------------------------------------------------------------

  function readPalette() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(`--${name}`).trim();
    palette = { spans: colours.map(([name]) => get(name)) };
    for (const name of ["bg", "ink", "dim", "line", "band", "on-strong", "black", "accent"]) palette[name] = get(name);
    palette.hatch = hatch(get("silence"));
    mapPicture = null;
  }
  function hatch(colour) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d");
    pen.strokeStyle = colour;
    pen.lineWidth = 1.4;
    pen.beginPath();
    for (const offset of [-6, 0, 6]) { pen.moveTo(offset, 6); pen.lineTo(offset + 6, 0); }
    pen.stroke();
    return chart.getContext("2d").createPattern(tile, "repeat");
  }
  function fit(canvas) {
    const dpr = window.devicePixelRatio || 1;
    const { clientWidth: w, clientHeight: h } = canvas;
    if (canvas.width !== Math.round(w * dpr) || canvas.height !== Math.round(h * dpr)) {
      canvas.width = Math.round(w * dpr);
      canvas.height = Math.round(h * dpr);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(dpr, 0, 0, dpr, 0, 0);
    return [pen, w, h];
  }
  function firstFrom(sorted, value, key = (entry) => entry) {
    let low = 0, high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (key(sorted[middle]) < value) low = middle + 1; else high = middle;
    }
    return low;
  }
  // What of a lane can be seen, and no more than one span a pixel of what is narrower.
  function* visible(row) {
    let at = firstFrom(row.reach, from);
    let drawn = -Infinity;
    while (at < row.spans.length) {
      const span = row.spans[at];
      if (span.start_ms > to) return;
      const right = Math.max(xOf(span.end_ms), xOf(span.start_ms) + LEAST);
      if (right > drawn + 0.5 || span === selected || matched.has(span.index)) {
        drawn = Math.max(drawn, right);
        yield [span, at];
        at += 1;
      } else {
        const next = firstFrom(row.reach, msOf(drawn + 0.5));
        at = matches.length > 0 ? at + 1 : Math.max(at + 1, next);
      }
    }
  }

  function draw() {
    if (!frame) frame = requestAnimationFrame(() => { frame = 0; paint(); });
  }
  function paint() {
    const [pen, w, h] = fit(chart);
    width = w; height = h;
    scroll = clamp(scroll, 0, Math.max(content - (height - AXIS), 0));
    pen.fillStyle = palette.bg;
    pen.fillRect(0, 0, w, h);
    grid(pen);
    pen.save();
    pen.beginPath();
    pen.rect(0, AXIS, w, h - AXIS);
    pen.clip();
    pen.translate(0, AXIS - scroll);
    pen.font = "12px system-ui, -apple-system, Segoe UI, Roboto, sans-serif";
    pen.textBaseline = "middle";
    for (const row of lanes) {
      if (row.top + LANE < scroll || row.top > scroll + h - AXIS) continue;
      pen.save();
      pen.beginPath();
      pen.rect(LABELS - 6, row.top, w - LABELS + 6, LANE);
      pen.clip();
      // How far the row is drawn or written on already.
      row.inked = LABELS;
      for (const [span, at] of visible(row)) bar(pen, row, span, at);
      pen.restore();
      if (row.row === 0) {
        pen.fillStyle = palette.dim;
        pen.textAlign = "right";
        pen.fillText(titles.get(row.track), LABELS - 14, row.top + LANE / 2);
        pen.textAlign = "left";
      }
    }
    pen.restore();
    if (marking) {
      pen.globalAlpha = 0.16;
      pen.fillStyle = palette.accent;
      pen.fillRect(Math.min(marking[0], marking[1]), 0, Math.abs(marking[1] - marking[0]), h);
      pen.globalAlpha = 1;
    }
    paintMap();
    report();
  }
  function grid(pen) {
    const least = ((to - from) / room()) * 96;
    const step = STEPS.find((candidate) => candidate >= least) || Math.ceil(least / 432e6) * 432e6;
    pen.font = "11px system-ui, -apple-system, Segoe UI, Roboto, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (let ms = Math.ceil(from / step) * step; ms <= to; ms += step) {
      const x = Math.round(xOf(ms)) + 0.5;
      pen.strokeStyle = palette.line;
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(x, AXIS - 6);
      pen.lineTo(x, height);
      pen.stroke();
      const label = tick(ms, step);
      const half = pen.measureText(label).width / 2;
      if (x + half < width - 2) {
        pen.fillStyle = palette.dim;
        pen.fillText(label, x, AXIS / 2);
      }
    }
    pen.textAlign = "left";
  }
  function bar(pen, row, span, at) {
    const x = xOf(span.start_ms), y = row.top + (LANE - BAR) / 2;
    const wide = Math.max(xOf(span.end_ms) - x, LEAST);
    const faint = matches.length > 0 && !matched.has(span.index);
    pen.globalAlpha = faint ? 0.28 : 1;
    const silence = row.track === "silence";
    pen.fillStyle = silence ? palette.hatch : palette.spans[span.colour];
    pen.beginPath();
    if (span.mark) {
      const middle = row.top + LANE / 2;
      pen.moveTo(x, middle - 6); pen.lineTo(x + 6, middle);
      pen.lineTo(x, middle + 6); pen.lineTo(x - 6, middle);
      pen.closePath();
    } else {
      // A hair narrower than it is, so that neighbours stay two.
      pen.roundRect(x, y, wide > 4 ? wide - 0.75 : wide, BAR, wide > 8 ? 4 : Math.min(1.5, wide / 2));
    }
    pen.fill();
    if (span.open) {
      pen.setLineDash([4, 3]);
      pen.strokeStyle = palette.ink;
      pen.lineWidth = 1;
      pen.stroke();
      pen.setLineDash([]);
    }
    if (span === selected || span === hovered || (current >= 0 && matches[current] === span.index)) {
      pen.strokeStyle = span === hovered && span !== selected ? palette.dim : palette.ink;
      pen.lineWidth = 2;
      pen.stroke();
    }
    write(pen, row, span, at, x, wide, silence);
    row.inked = Math.max(row.inked, x + wide + (span.mark ? 6 : 0));
    pen.globalAlpha = 1;
  }
  function write(pen, row, span, at, x, wide, silence) {
    const seen = Math.max(x, LABELS), inside = Math.min(x + wide, width) - seen - 10;
    const middle = row.top + LANE / 2 + 0.5;
    const name = nameOf(span);
    // Beside it; at the left only where the name does not fit at the right, and there is more room.
    const next = row.spans[at + 1], off = span.mark ? 9 : 5;
    const begin = Math.max(x + wide, LABELS) + off, ending = x - off;
    const right = Math.min(next ? xOf(next.start_ms) - (next.mark ? 6 : 0) : width, width) - begin - 6;
    const left = Math.min(ending, width) - row.inked - 10;
    const within = cut(pen, name, inside);
    // In it, unless nothing but a few letters would be seen there and more beside it.
    if (inside > 26 && !silence && (within === name || inside > 64 || Math.max(left, right) < inside + 20)) {
      pen.fillStyle = palette[colours[span.colour][2]];
      pen.fillText(within, seen + 5, middle);
      return;
    }
    const whole = cut(pen, name, right) === name;
    // Hooks call often, and their names say little: whole or not at all.
    if (row.track === "hook" && !whole) return;
    const leftwards = !whole && left > right && ending < width;
    const room = leftwards ? left : right;
    if (room <= 34) return;
    const shown = cut(pen, name, room), place = leftwards ? ending : begin;
    pen.textAlign = leftwards ? "right" : "left";
    // The lines of the axis are not to run through it.
    pen.strokeStyle = palette.bg;
    pen.lineWidth = 3;
    pen.strokeText(shown, place, middle);
    pen.fillStyle = palette.dim;
    pen.fillText(shown, place, middle);
    pen.textAlign = "left";
    if (!leftwards) row.inked = Math.max(row.inked, begin + pen.measureText(shown).width);
  }
  const widths = new Map();
  function cut(pen, text, pixels) {
    if (text.length > 300) text = text.slice(0, 300);
    let whole = widths.get(text);
    if (whole === undefined) {
      whole = pen.measureText(text).width;
      if (widths.size > 20000) widths.clear();
      widths.set(text, whole);
    }
    if (whole <= pixels) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const half = (low + high + 1) >> 1;
      if (pen.measureText(text.slice(0, half) + "…").width <= pixels) low = half; else high = half - 1;
    }
    return low > 0 ? text.slice(0, low).trimEnd() + "…" : "";
  }

  // ---- The whole, small, above ----------------------------------------------------------------

  function paintMap() {
    const [pen, w, h] = fit(map);
    if (!mapPicture || mapPicture.width !== map.width) drawWhole(w, h);
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.drawImage(mapPicture, 0, 0);
    const dpr = window.devicePixelRatio || 1;
    pen.setTransform(dpr, 0, 0, dpr, 0, 0);
    const x0 = LABELS + (from / length) * room(), x1 = LABELS + (to / length) * room();
    pen.fillStyle = palette.bg;
    pen.globalAlpha = 0.72;
    pen.fillRect(LABELS, 0, x0 - LABELS, h);
    pen.fillRect(x1, 0, w - RIGHT - x1, h);
    pen.globalAlpha = 1;
    pen.strokeStyle = palette.accent;
    pen.lineWidth = 1.5;
    pen.strokeRect(x0, 1, Math.max(x1 - x0, 2), h - 2);
    for (const index of matches.slice(0, 5000)) {
      pen.fillStyle = palette.accent;
      pen.fillRect(LABELS + (spans[index].start_ms / length) * room() - 0.75, h - 5, 1.5, 4);
    }
  }
  function drawWhole(w, h) {
    mapPicture = document.createElement("canvas");
    mapPicture.width = map.width;
    mapPicture.height = map.height;
    const pen = mapPicture.getContext("2d");
    const dpr = window.devicePixelRatio || 1;
    pen.setTransform(dpr, 0, 0, dpr, 0, 0);
    pen.fillStyle = palette.bg;
    pen.fillRect(0, 0, w, h);
    const high = Math.max((h - 12) / Math.max(lanes.length, 1), 0.5);
    lanes.forEach((row, index) => {
      let drawn = -Infinity;
      for (const span of row.spans) {
        const x = LABELS + (span.start_ms / length) * room();
        const right = Math.max(LABELS + (span.end_ms / length) * room(), x + 1);
        if (right <= drawn + 0.25) continue;
        drawn = right;
        pen.fillStyle = palette.spans[span.colour];
        pen.fillRect(x, 6 + index * high, right - x, Math.max(high - 0.6, 0.6));
      }
    });
  }

  // ---- What is under the pointer, and what is chosen ------------------------------------------

  function hit(x, y) {
    if (x < LABELS || y < AXIS) return null;
    const at = y - AXIS + scroll;
    const row = lanes.find((candidate) => at >= candidate.top && at < candidate.top + LANE);
    if (!row) return null;
    const reach = ((to - from) / room()) * 7;
    const ms = msOf(x);
    let best = null, distance = Infinity;
    for (let i = firstFrom(row.reach, ms - reach); i < row.spans.length; i += 1) {
      const span = row.spans[i];
      if (span.start_ms > ms + reach) break;
      const off = ms < span.start_ms ? span.start_ms - ms : ms > span.end_ms ? ms - span.end_ms : 0;
      if (off < distance) { best = span; distance = off; }
      if (i > 200000) break;
    }
    const slack = best && best.mark ? reach : reach * 0.45;
    return best && distance <= slack ? best : null;
  }
  function choose(span) {
    selected = span;
    byId("details").hidden = !span;
    if (span) details(span);
    mapPicture = null;
    draw();
  }
  const clock = (ms) => new Date(timeline.began_ms + ms).toISOString().replace("T", " ").replace("Z", "");
  function details(span) {
    const row = lane(span);
    byId("what").textContent = `${span.name}`;
    const rows = [
      ["lane", titles.get(row.track) + (row.row ? ` ${row.row + 1}` : "")],
      ["outcome", span.open ? "its end was never told" : span.outcome],
      ["took", `${human(span.end_ms - span.start_ms)} (${span.end_ms - span.start_ms} ms)`],
      ["agent says", span.own_ms === undefined ? null : `${human(span.own_ms)} (${span.own_ms} ms)`],
      ["from", `${human(span.start_ms)} · ${clock(span.start_ms)}`],
      ["to", `${human(span.end_ms)} · ${clock(span.end_ms)}`],
      ["kind", span.kind],
      ["call", span.call],
      ["run", span.run || null],
      ["told by", span.hook ? "a hook" : null],
    ];
    const list = byId("about");
    list.replaceChildren();
    for (const [name, value] of rows) {
      if (value === null || value === undefined || value === "") continue;
      const term = document.createElement("dt"), text = document.createElement("dd");
      term.textContent = name;
      text.textContent = value;
      list.append(term, text);
    }
    for (const [id, text] of [["text", span.text], ["output", span.output]]) {
      byId(id).textContent = text || "";
      byId(id).hidden = byId(`${id}-title`).hidden = !text;
    }
  }
  function bring(span) {
    const spanLength = span.end_ms - span.start_ms, view = to - from;
    if (span.start_ms < from || span.end_ms > to || spanLength < view / 400) {
      const wanted = clamp(Math.max(spanLength * 4, Math.min(view, length / 4)), 2, length);
      const middle = (span.start_ms + span.end_ms) / 2;
      show(middle - wanted / 2, middle + wanted / 2);
    }
    const { top } = lane(span);
    if (top < scroll || top + LANE > scroll + height - AXIS) scrollTo(top - (height - AXIS) / 2);
  }
  function zoomTo(span) {
    const around = Math.max((span.end_ms - span.start_ms) * 0.15, 5);
    show(span.start_ms - around, span.end_ms + around);
  }
  function step(by) {
    if (!selected) return choose(spans[0] || null);
    const row = lane(selected).spans;
    const next = row[row.indexOf(selected) + by];
    if (next) { choose(next); bring(next); }
  }

  // ---- Search ---------------------------------------------------------------------------------

  let haystack = null;
  function search(query) {
    const wanted = query.trim().toLowerCase();
    haystack ||= spans.map((span) =>
      [span.name, span.text, span.outcome, span.output, span.call].filter(Boolean).join("\n").toLowerCase());
    matches = [];
    if (wanted) haystack.forEach((text, index) => { if (text.includes(wanted)) matches.push(index); });
    matches.sort((a, b) => spans[a].start_ms - spans[b].start_ms);
    matched = new Set(matches);
    current = -1;
    byId("found").textContent = wanted ? (matches.length ? `${matches.length} found` : "nothing") : "";
    draw();
  }
  function jump(by) {
    if (!matches.length) return;
    current = (current + by + matches.length) % matches.length;
    if (current < 0) current = matches.length - 1;
    byId("found").textContent = `${current + 1} of ${matches.length}`;
    const span = spans[matches[current]];
    choose(span);
    bring(span);
  }

  // ---- What is said beside the picture --------------------------------------------------------

  function report() {
    const root = document.documentElement.dataset;
    root.from = from.toFixed(3);
    root.to = to.toFixed(3);
    root.found = String(matches.length);
    root.current = String(current);
    root.selected = selected ? String(selected.index) : "";
    const all = from <= 0 && to >= length;
    byId("view").textContent = all
      ? `all of ${human(length)}`
      : `${human(from)} – ${human(to)} of ${human(length)}`;
  }
  function about() {
    byId("title").textContent = data.headline.join(" · ");
    const tools = spans.filter((span) => ["tool", "sub_agent"].includes(lane(span).track));
    const failed = tools.filter((span) => span.tone === "bad").length;
    const quiet = spans.filter((span) => lane(span).track === "silence")
      .reduce((sum, span) => sum + span.end_ms - span.start_ms, 0);
    const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
    const facts = [
      many(spans.filter((span) => lane(span).track === "turn").length, "turn"),
      many(tools.length, "call") + (failed ? `, ${failed} failed` : ""),
      quiet ? `${human(quiet)} silent` : "never silent",
      timeline.session,
      timeline.cwd && `in ${timeline.cwd.replace(/\/+$/, "").split("/").at(-1) || "/"}`,
    ];
    byId("facts").textContent = facts.filter(Boolean).join(" · ");
    byId("facts").title = timeline.cwd || "";
    const used = new Set(data.colour_of);
    colours.forEach(([name, title], index) => {
      if (!used.has(index)) return;
      const entry = document.createElement("li"), sample = document.createElement("i");
      sample.style.background = `var(--${name})`;
      entry.append(sample, title);
      byId("legend").append(entry);
    });
  }

  // ---- Pointer and keys -----------------------------------------------------------------------

  let drag = null;
  const fingers = new Map();
  const spot = (event) => {
    const box = chart.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  chart.addEventListener("wheel", (event) => {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? height : 1;
    const [x] = spot(event);
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : 0;
    if (x < LABELS) scrollTo(scroll + event.deltaY * unit);
    else if (sideways || event.shiftKey) pan(((sideways || event.deltaY) * unit) / room());
    else zoom(Math.exp(clamp(event.deltaY * unit, -400, 400) * 0.0022), clamp(msOf(x), from, to));
  }, { passive: false });
  chart.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [x, y] = spot(event);
    fingers.set(event.pointerId, x);
    chart.setPointerCapture(event.pointerId);
    const mark = event.shiftKey || y < AXIS;
    drag = { x, y, from, to, scroll, moved: false, mark };
    tip.hidden = true;
  });
  chart.addEventListener("pointermove", (event) => {
    const [x, y] = spot(event);
    if (!drag) return hover(x, y);
    if (fingers.size === 2) return pinch(event.pointerId, x);
    if (Math.hypot(x - drag.x, y - drag.y) > 4) drag.moved = true;
    if (!drag.moved) return;
    if (drag.mark) {
      marking = [clamp(drag.x, LABELS, width - RIGHT), clamp(x, LABELS, width - RIGHT)];
      chart.classList.add("marking");
      return draw();
    }
    chart.classList.add("dragging");
    const by = ((drag.x - x) / room()) * (drag.to - drag.from);
    scroll = clamp(drag.scroll + drag.y - y, 0, Math.max(content - (height - AXIS), 0));
    show(drag.from + by, drag.to + by);
  });
  function pinch(id, x) {
    const [other] = [...fingers].filter(([finger]) => finger !== id).map(([, at]) => at);
    const before = Math.abs(fingers.get(id) - other), now = Math.abs(x - other);
    fingers.set(id, x);
    if (before > 8 && now > 8) zoom(before / now, msOf((x + other) / 2));
    drag.moved = true;
  }
  function release(event) {
    fingers.delete(event.pointerId);
    if (!drag) return;
    if (marking) {
      const [a, b] = [msOf(Math.min(...marking)), msOf(Math.max(...marking))];
      marking = null;
      if (b - a > 0) show(a, b);
    } else if (!drag.moved && event.type === "pointerup") {
      choose(hit(drag.x, drag.y));
    }
    drag = null;
    chart.classList.remove("dragging", "marking");
    draw();
  }
  chart.addEventListener("pointerup", release);
  chart.addEventListener("pointercancel", release);
  chart.addEventListener("pointerleave", () => { hovered = null; tip.hidden = true; draw(); });
  chart.addEventListener("dblclick", (event) => {
    const span = hit(...spot(event));
    if (span) zoomTo(span); else show(0, length);
  });
  function hover(x, y) {
    const span = hit(x, y);
    chart.classList.toggle("over", !!span);
    if (span !== hovered) { hovered = span; draw(); }
    tip.hidden = !span;
    if (!span) return;
    const title = document.createElement("b");
    title.textContent = `${titles.get(lane(span).track)} · ${span.name}`;
    const took = human(span.end_ms - span.start_ms) +
      (span.own_ms === undefined ? "" : ` (agent: ${human(span.own_ms)})`);
    const lines = [flat(span.text).slice(0, 240), `at ${human(span.start_ms)}, ${took}`,
      span.open ? "its end was never told" : flat(span.outcome).slice(0, 160)];
    tip.replaceChildren(title, "\n" + lines.filter(Boolean).join("\n"));
    const top = y + map.offsetHeight + 18;
    tip.style.left = `${clamp(x + 12, 4, Math.max(width - tip.offsetWidth - 8, 4))}px`;
    tip.style.top = `${top + tip.offsetHeight > height + map.offsetHeight ? top - tip.offsetHeight - 34 : top}px`;
  }
  function moveMap(event) {
    const box = map.getBoundingClientRect();
    const ms = ((event.clientX - box.left - LABELS) / room()) * length;
    show(ms - (to - from) / 2, ms + (to - from) / 2);
  }
  map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); moveMap(event); });
  map.addEventListener("pointermove", (event) => { if (event.buttons & 1) moveMap(event); });

  const help = byId("help"), query = byId("query");
  const KEYS = {
    "+": () => zoom(1 / 1.4), "=": () => zoom(1 / 1.4), "-": () => zoom(1.4), _: () => zoom(1.4),
    0: () => show(0, length), f: () => show(0, length),
    ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15),
    a: () => pan(-0.15), d: () => pan(0.15), w: () => zoom(1 / 1.4), s: () => zoom(1.4),
    ArrowUp: () => scrollTo(scroll - 2 * LANE), ArrowDown: () => scrollTo(scroll + 2 * LANE),
    PageUp: () => scrollTo(scroll - height / 2), PageDown: () => scrollTo(scroll + height / 2),
    Home: () => show(0, to - from), End: () => show(length - (to - from), length),
    "[": () => step(-1), "]": () => step(1), z: () => selected && zoomTo(selected),
    n: () => jump(1), N: () => jump(-1),
    "/": () => { query.focus(); query.select(); }, "?": () => help.showModal(),
    Escape: () => { if (selected) choose(null); else if (matches.length) { query.value = ""; search(""); } },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.target === query) {
      if (event.key === "Escape") { query.value = ""; search(""); chart.focus(); }
      return;
    }
    const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null;
    if (act) { event.preventDefault(); act(); }
  });
  let waiting = 0;
  query.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => search(query.value), spans.length > 5000 ? 120 : 0);
  });
  byId("search").addEventListener("submit", (event) => { event.preventDefault(); });
  query.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    jump(event.shiftKey ? -1 : 1);
  });
  byId("next").onclick = () => jump(1);
  byId("previous").onclick = () => jump(-1);
  byId("in").onclick = () => zoom(1 / 1.4);
  byId("out").onclick = () => zoom(1.4);
  byId("fit").onclick = () => show(0, length);
  byId("help-button").onclick = () => help.showModal();
  byId("help-close").onclick = () => help.close();
  byId("close").onclick = () => choose(null);
  new ResizeObserver(() => { mapPicture = null; draw(); }).observe(byId("stage"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readPalette(); draw(); });

  readPalette();
  about();
  paint();
})();
