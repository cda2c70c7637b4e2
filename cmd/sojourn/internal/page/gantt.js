(() => {
  const g = data.gantt;
  if (!g) return;
  // Varints in base64.
  function reader(text) {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    let i = 0;
    const next = () => { let v = 0, scale = 1, b; do { b = bytes[i++]; v += (b & 127) * scale; scale *= 128; } while (b & 128); return v; };
    return { next, more: () => i < bytes.length };
  }
  const jobs = g.jobs.ids.length, arrival = new Float64Array(jobs);
  { const r = reader(g.jobs.arrival); let at = 0; for (let j = 0; j < jobs; j++) { at += r.next(); arrival[j] = at; } }
  const jobNumber = new Map(g.jobs.ids.map((id, j) => [id, j]));
  const decoded = new Map();
  // run decodes a run when it is first shown.
  function run(i) {
    if (decoded.has(i)) return decoded.get(i);
    const l = g.runs[i], starts = [], ends = [], job = [], code = [], first = [0];
    let r = reader(l.boxes), end = 0;
    while (r.more()) {
      let at = 0;
      for (let n = r.next(); n > 0; n--) { at += r.next(); starts.push(at); at += r.next(); ends.push(at); if (at > end) end = at; job.push(r.next()); code.push(r.next()); }
      first.push(starts.length);
    }
    const wait = new Float64Array(jobs), sojourn = new Float64Array(jobs), late = new Float64Array(jobs);
    r = reader(l.times);
    for (let j = 0; j < jobs; j++) {
      const a = r.next(), b = r.next(), c = r.next();
      wait[j] = a ? a - 1 : NaN; sojourn[j] = b ? b - 1 : NaN;
      late[j] = c ? ((c - 1) % 2 ? -((c - 1) + 1) / 2 : (c - 1) / 2) : NaN;
    }
    const d = { start: Float64Array.from(starts), end: Float64Array.from(ends), job: Uint32Array.from(job), code: Uint8Array.from(code), first, rows: first.length - 1, last: end, wait, sojourn, late, name: l.name, slots: l.slots, share: l.share, note: l.note };
    decoded.set(i, d);
    return d;
  }
  const $ = id => document.getElementById(id), canvas = $('gantt-canvas'), why = $('gantt-why');
  g.runs.forEach((l, i) => { const o = document.createElement('option'); o.value = i; o.textContent = l.name; $('gantt-run').append(o); });
  let d, mode = 'job', selected = -1, from = 0, to = 1, top = 0, frame = null;
  const gutter = 74, foot = 40, head = 4;
  const seconds = t => g.start + t * g.tick, ticks = s => s / g.tick;
  const places = ['no input', 'on the node of its input', 'on the rack of its input', 'far from its input'];
  const placeColours = () => [css('--bar'), css('--good'), dark() ? '#e5cf4a' : '#c79a00', css('--bad')];
  const lateColours = () => [css('--good'), dark() ? '#e5cf4a' : '#c79a00', css('--bad'), css('--bar')];
  const lateClass = j => { const s = d.late[j] * g.tick; return Number.isNaN(s) ? 3 : s <= 0 ? 0 : d.late[j] <= .5 * (d.sojourn[j] - d.late[j]) ? 1 : 2; };
  const lateNames = ['not later than under fair sharing', 'later, by at most half of that time', 'later by more than that', 'unknown'];
  const jobColour = [];
  for (let k = 0; k < 24; k++) jobColour.push([`hsl(${(k * 137.5) % 360} 55% ${[44, 58, 36][k % 3]}%)`, `hsl(${(k * 137.5) % 360} 55% ${[62, 74, 52][k % 3]}%)`]);
  const classOf = b => { switch (mode) { case 'job': return d.job[b] % 24; case 'pool': return g.jobs.pool[d.job[b]] % 8; case 'locality': return d.code[b] & 7; } return lateClass(d.job[b]); };
  const colours = () => { switch (mode) { case 'job': return jobColour.map(c => c[dark() ? 1 : 0]); case 'pool': return dark() ? dark8 : light8; case 'locality': return placeColours(); } return lateColours(); };
  const rowHeight = h => Math.max(3, Math.min(26, (h - head - foot) / d.rows));
  const tallest = canvas.clientHeight;
  const bounds = () => {
    const span = Math.min(d.last || 1, Math.max(to - from, 20));
    from = Math.max(0, Math.min(from, (d.last || 1) - span)); to = from + span;
    const h = canvas.clientHeight;
    top = Math.max(0, Math.min(top, d.rows * rowHeight(h) - (h - head - foot)));
  };
  function draw() {
    bounds();
    const [c, w, h] = fit(canvas);
    if (!w) return;
    const W = w - gutter - 8, H = h - head - foot, rh = rowHeight(h), X = t => gutter + (t - from) / (to - from) * W;
    c.fillStyle = css('--idle'); c.fillRect(gutter, head, W, Math.min(H, d.rows * rh));
    const palette = colours(), batches = palette.map(() => []), gap = rh >= 6 ? 1 : 0, mine = [];
    c.save(); c.beginPath(); c.rect(gutter, head, W, H); c.clip();
    for (let row = Math.max(0, Math.floor(top / rh)); row < d.rows && head + row * rh - top < head + H; row++) {
      const y = head + row * rh - top;
      let lo = d.first[row], hi = d.first[row + 1];
      { let a = lo, b = hi; while (a < b) { const m = (a + b) >> 1; if (d.end[m] < from) a = m + 1; else b = m; } lo = a; }
      let filled = -1; // the last pixel that a box has taken: narrow boxes share one
      for (let b = lo; b < hi && d.start[b] <= to; b++) {
        const x = X(d.start[b]), e = X(d.end[b]);
        if (d.job[b] === selected) { mine.push(x, y, Math.max(1.5, e - x)); }
        else if (e <= filled) continue;
        const width = Math.max(.75, e - x - (e - x > 3 ? .75 : 0));
        batches[classOf(b)].push(x, y, width);
        filled = Math.max(x + .75, e);
      }
    }
    batches.forEach((list, k) => { c.fillStyle = palette[k]; c.globalAlpha = selected >= 0 ? .35 : 1; for (let i = 0; i < list.length; i += 3) c.fillRect(list[i], list[i + 1], list[i + 2], rh - gap); });
    c.globalAlpha = 1; c.fillStyle = css('--ink');
    for (let i = 0; i < mine.length; i += 3) c.fillRect(mine[i], mine[i + 1], mine[i + 2], rh - gap);
    if (selected >= 0) { // from arrival to first start
      c.setLineDash([5, 4]); c.strokeStyle = css('--ink'); c.lineWidth = 1.5;
      for (const t of [arrival[selected], arrival[selected] + d.sojourn[selected]]) if (!Number.isNaN(t)) { c.beginPath(); c.moveTo(X(t), head); c.lineTo(X(t), head + H); c.stroke(); }
      c.setLineDash([]);
    }
    c.restore();
    axes(c, w, h, W, H, rh, X);
  }
  function axes(c, w, h, W, H, rh, X) {
    c.font = font(); c.fillStyle = css('--soft'); c.strokeStyle = css('--line'); c.lineWidth = 1;
    c.textAlign = 'right'; c.textBaseline = 'middle';
    let free = -Infinity;
    for (let row = 0; row < d.rows; row++) {
      const y = head + (row + .5) * rh - top;
      if (y < head + 4 || y > head + H || y < free) continue;
      c.fillText(d.slots[row].length > 11 ? d.slots[row].slice(0, 10) + '…' : d.slots[row], gutter - 6, y); free = y + 14;
    }
    c.textAlign = 'center'; c.textBaseline = 'top';
    const lo = seconds(from), hi = seconds(to), [values, step] = linearTicks(lo, hi, 's', Math.max(3, Math.floor(W / 90))), u = unitOf(Math.max(Math.abs(lo), Math.abs(hi)), step);
    for (const v of values) {
      const x = X(ticks(v - g.start)), label = digits(v / u[0], 10), half = c.measureText(label).width / 2;
      c.beginPath(); c.moveTo(x, head + Math.min(H, d.rows * rh)); c.lineTo(x, head + H + 4); c.stroke();
      c.fillText(label, Math.min(x, w - half - 2), head + H + 6);
    }
    c.fillStyle = css('--ink'); c.textBaseline = 'bottom';
    c.textAlign = 'left'; c.fillText('node/slot', 2, h - 2); c.textAlign = 'center';
    c.fillText('time (' + u[1] + ')', gutter + W / 2, h - 2);
  }
  const later = () => { frame ??= requestAnimationFrame(() => { frame = null; draw(); }); };
  function zoom(factor, at = .5) { const span = to - from, middle = from + at * span; from = middle - at * span * factor; to = from + span * factor; later(); }
  function pan(share, down = 0) { const by = share * (to - from); from += by; to += by; top += down; later(); }
  function all() { from = 0; to = d.last || 1; top = 0; later(); }
  function key() {
    const names = mode === 'pool' ? g.jobs.pools.map(p => p || '(no pool)').slice(0, 8) : mode === 'locality' ? places : mode === 'lateness' ? lateNames : [];
    $('gantt-key').replaceChildren(...names.map((n, i) => { const s = document.createElement('span'), sw = document.createElement('i'); sw.style.background = colours()[i]; s.append(sw, n); return s; }));
    if (mode === 'job') { const s = document.createElement('span'); s.textContent = 'Boxes of one colour belong to one job or to one of every 24 jobs.'; $('gantt-key').append(s); }
  }
  function show(i) { d = run(i); canvas.style.height = Math.min(tallest, Math.max(100, d.rows * 26 + head + foot)) + 'px'; $('gantt-note').textContent = d.note || ''; all(); explain(); key(); }
  const label = j => 'job ' + g.jobs.ids[j] + (g.jobs.names[g.jobs.name[j]] ? ' (' + g.jobs.names[g.jobs.name[j]] + ')' : '');
  // held returns how many ticks of slots each job held in a window, and all together.
  function held(a, b) {
    const by = new Map(); let sum = 0;
    for (let k = 0; k < d.start.length; k++) {
      const t = Math.min(b, d.end[k]) - Math.max(a, d.start[k]);
      if (t > 0) { by.set(d.job[k], (by.get(d.job[k]) ?? 0) + t); sum += t; }
    }
    return [by, sum];
  }
  const line = (tag, text) => { const e = document.createElement(tag); e.textContent = text; return e; };
  function explain() {
    why.replaceChildren();
    const j = selected;
    if (j < 0) return;
    const wait = d.wait[j] * g.tick, sojourn = d.sojourn[j] * g.tick, pool = g.jobs.pools[g.jobs.pool[j]];
    const L = label(j);
    let text = L[0].toUpperCase() + L.slice(1) + (pool ? ' of pool ' + pool : '') + ' arrived at ' + duration(seconds(arrival[j])) + '. ';
    text += Number.isNaN(wait) ? 'It never started.' : wait < .001 ? 'Its first task started at once.' : 'Its first task started after ' + duration(wait) + '.';
    if (!Number.isNaN(sojourn)) text += ' It finished ' + duration(sojourn) + ' after its arrival' + (Number.isNaN(d.late[j]) ? '.' : d.late[j] > 0 ? ', ' + duration(d.late[j] * g.tick) + ' later than under fair sharing.' : ', ' + duration(-d.late[j] * g.tick) + ' earlier than under fair sharing.');
    why.append(line('p', text));
    const waited = wait >= .001, a = arrival[j], b = waited ? a + d.wait[j] : Number.isNaN(d.sojourn[j]) ? d.last : a + d.sojourn[j];
    if (!(b > a)) return;
    const [by, sum] = held(a, b), own = by.get(j) ?? 0;
    by.delete(j);
    const sample = d.share < 1 ? ' (estimated from the tasks that are drawn)' : '';
    why.append(line('p', (waited ? 'While it waited' : 'From its arrival to its end') + ', ' + digits(sum / (b - a)) + ' of ' + d.rows + (d.share < 1 ? ' drawn' : '') + ' slots were busy on average' + (waited ? '' : ', ' + digits(own / (b - a)) + ' of them with its own tasks') + sample + '.'));
    const others = [...by].sort((x, y) => y[1] - x[1]);
    const overtook = others.filter(([o]) => o > j), first = others.slice(0, 5);
    if (!first.length) { why.append(line('p', 'No other job ran in that time.')); return; }
    why.append(line('p', 'Others that held slots in that time: ' + others.length + (others.length === 1 ? ' job, ' : ' jobs, ') + (overtook.length ? overtook.length + ' of which arrived later and went before it or beside it.' : 'none of which arrived later.') + ' The most slot time went to:'));
    const list = document.createElement('ul');
    for (const [o, t] of first) list.append(line('li', label(o) + ': ' + digits(100 * t / sum) + ' % of the busy slot time; it arrived ' + (o > j ? duration((arrival[o] - a) * g.tick) + ' later' : duration((a - arrival[o]) * g.tick) + ' earlier')));
    why.append(list);
  }
  function select(j) { selected = j; $('gantt-job').value = j >= 0 ? g.jobs.ids[j] : ''; explain(); later(); }
  function hit(x, y) {
    const h = canvas.clientHeight, W = canvas.clientWidth - gutter - 8, row = Math.floor((y - head + top) / rowHeight(h));
    if (row < 0 || row >= d.rows || x < gutter) return -1;
    const t = from + (x - gutter) / W * (to - from), slack = 2 / W * (to - from);
    let best = -1, near = slack;
    for (let b = d.first[row]; b < d.first[row + 1]; b++) { const off = Math.max(0, d.start[b] - t, t - d.end[b]); if (off < near || off === 0) { best = b; near = off; } }
    return best < 0 ? -1 : d.job[best];
  }
  let drag = null;
  canvas.addEventListener('pointerdown', e => { drag = { x: e.clientX, y: e.clientY, from, to, top, moved: false }; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener('pointermove', e => {
    if (!drag) return;
    const dx = e.clientX - drag.x, dy = e.clientY - drag.y;
    if (Math.abs(dx) + Math.abs(dy) > 3) drag.moved = true;
    if (!drag.moved) return;
    const by = -dx / (canvas.clientWidth - gutter - 8) * (drag.to - drag.from);
    from = drag.from + by; to = drag.to + by; top = drag.top - dy; later();
  });
  canvas.addEventListener('pointerup', e => { if (drag && !drag.moved) select(hit(e.offsetX, e.offsetY)); drag = null; });
  canvas.addEventListener('pointercancel', () => { drag = null; });
  canvas.addEventListener('wheel', e => { if (!e.ctrlKey && !e.metaKey) return; e.preventDefault(); zoom(Math.exp(e.deltaY / 300), Math.max(0, (e.offsetX - gutter) / (canvas.clientWidth - gutter - 8))); }, { passive: false });
  canvas.addEventListener('keydown', e => {
    const act = { ArrowLeft: () => pan(-.1), ArrowRight: () => pan(.1), ArrowUp: () => pan(0, -40), ArrowDown: () => pan(0, 40), '+': () => zoom(.7), '=': () => zoom(.7), '-': () => zoom(1 / .7), 0: all, Escape: () => select(-1) }[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  $('gantt-in').addEventListener('click', () => zoom(.5));
  $('gantt-out').addEventListener('click', () => zoom(2));
  $('gantt-all').addEventListener('click', all);
  $('gantt-run').addEventListener('change', e => show(+e.target.value));
  $('gantt-colour').addEventListener('change', e => { mode = e.target.value; key(); later(); });
  $('gantt-job').addEventListener('change', e => { const j = jobNumber.get(e.target.value.trim()); select(j ?? -1); if (j === undefined && e.target.value) why.replaceChildren(line('p', 'There is no job ' + e.target.value + ' here.')); });
  redraws.push(() => { if (d) { key(); draw(); } });
  new ResizeObserver(later).observe(canvas);
  show(0);
  root.dataset.ready = 'true';
})();
if (!data.gantt) document.documentElement.dataset.ready = 'true';
