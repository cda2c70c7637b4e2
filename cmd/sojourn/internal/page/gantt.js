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
    const d = { start: Float64Array.from(starts), end: Float64Array.from(ends), job: Uint32Array.from(job), code: Uint8Array.from(code), first, rows: first.length - 1, last: end, wait, sojourn, late, name: l.name, slots: l.slots, share: l.share, thin: l.thin || 1, note: l.note, sorted: {} };
    decoded.set(i, d);
    return d;
  }
  const $ = id => document.getElementById(id), canvas = $('gantt-canvas'), why = $('gantt-why');
  for (const list of ['gantt-run', 'gantt-below']) g.runs.forEach((l, i) => { const o = document.createElement('option'); o.value = i; o.textContent = l.name; $(list).append(o); });
  const called = name => Math.max(0, g.runs.findIndex(l => l.name === name));
  // shown has the runs that are drawn, one above the other; d is the one that is asked.
  let shown = [], d, mode = 'job', as = 'fit', selected = -1, top = 0, scale = 1, later = () => {};
  const gutter = 74, foot = 40, head = 4, title = 18, tallest = 460;
  const seconds = t => g.start + t * g.tick, ticks = s => s / g.tick;
  const places = ['no input', 'on the node of its input', 'on the rack of its input', 'far from its input'];
  const placeColours = () => [css('--bar'), css('--good'), dark() ? '#e5cf4a' : '#c79a00', css('--bad')];
  const lateColours = () => [css('--good'), dark() ? '#e5cf4a' : '#c79a00', css('--bad'), css('--bar')];
  const ticksOf = () => [ticks(view.from - g.start), ticks(view.to - g.start)];
  const lateClass = (j, d) => { const s = d.late[j] * g.tick; return Number.isNaN(s) ? 3 : s <= 0 ? 0 : d.late[j] <= .5 * (d.sojourn[j] - d.late[j]) ? 1 : 2; };
  const lateNames = ['not later than under fair sharing', 'later, by at most half of that time', 'later by more than that', 'unknown'];
  const grey = () => dark() ? '#79838e' : '#98a2ad';
  const jobColour = [];
  for (let k = 0; k < 24; k++) jobColour.push([`hsl(${(k * 137.5) % 360}, 55%, ${[44, 58, 36][k % 3]}%)`, `hsl(${(k * 137.5) % 360}, 55%, ${[62, 74, 52][k % 3]}%)`]);
  // Of more than eight pools, the seven with the most jobs have colours of their own.
  const poolClass = g.jobs.pools.map((_, i) => i);
  if (poolClass.length > 8) {
    const size = g.jobs.pools.map(() => 0);
    for (const p of g.jobs.pool) size[p]++;
    const most = [...poolClass].sort((a, b) => size[b] - size[a]).slice(0, 7);
    poolClass.forEach((_, i) => { const k = most.indexOf(i); poolClass[i] = k < 0 ? 7 : k; });
  }
  const poolNames = () => { const names = []; g.jobs.pools.forEach((p, i) => { if (g.jobs.pools.length <= 8 || poolClass[i] < 7) names[poolClass[i]] = p || '(no pool)'; }); if (g.jobs.pools.length > 8) names[7] = g.jobs.pools.length - 7 + ' other pools'; return names; };
  const classOf = (b, d) => { switch (mode) { case 'job': return d.job[b] % 24; case 'pool': return poolClass[g.jobs.pool[d.job[b]]]; case 'locality': return d.code[b] & 7; } return lateClass(d.job[b], d); };
  const colours = () => { switch (mode) { case 'job': return [...jobColour.map(c => c[dark() ? 1 : 0]), grey()]; case 'pool': return [...(dark() ? dark8 : light8).slice(0, 7), g.jobs.pools.length > 8 ? grey() : (dark() ? dark8 : light8)[7]]; case 'locality': return placeColours(); } return lateColours(); };
  // parts returns where each run stands in a chart of a height: its upper edge, its height, and that of a row.
  function parts(h) {
    const room = (h - head - foot) / shown.length;
    return shown.map((d, i) => { const over = shown.length > 1 ? title : 0, H = room - over; return { d, y: head + i * room + over, H, row: Math.max(2, Math.min(26, H / d.rows)) }; });
  }
  const height = (w, screen) => shown.reduce((sum, d) => sum + Math.min((tallest - head - foot) * (shown.length > 1 ? .7 : 1) * (screen ? 1 : .6), Math.max(100 - head - foot, d.rows * 26)) + (shown.length > 1 ? title : 0), head + foot);
  function draw(c, w, h) {
    const all = parts(h), W = w - gutter - 8, [from, to] = ticksOf(), X = t => gutter + (t - from) / (to - from) * W;
    top = Math.max(0, Math.min(top, Math.max(...all.map(p => p.d.rows * p.row - p.H))));
    const sums = all.map(p => crowded(p, W, from, to) ? sum(p, W, from, to) : null), peak = Math.max(0, ...sums.map(s => s ? s.peak : 0)), rows = Math.max(...shown.map(d => d.rows));
    const full = 4 * peak < rows ? Math.max(1, Math.ceil(peak)) : rows;
    all.forEach((p, i) => sums[i] ? stack(c, p, W, sums[i], full, X) : boxes(c, p, W, from, to, X));
    axes(c, w, h, W, all, from, to, X, sums, full);
    if (screen) { scale = full; tell(all, sums); }
  }
  // tell says what the chart does not show.
  function tell(all, sums) {
    const notes = shown.map(d => d.note && (shown.length > 1 ? d.name + ': ' : '') + d.note).filter(t => t), hides = all.findIndex((p, i) => !sums[i] && p.d.rows * p.row > p.H + 1);
    if (sums.some(s => s)) notes.unshift('Single tasks are too small to see here: the chart shows how many slots each ' + ({ job: 'job', pool: 'pool' }[mode] ?? 'colour') + ' has' + (mode === 'job' ? ', small jobs in grey at the bottom, then the others as they came' : '') + '. Zoom in, or choose “each slot”, to see tasks.');
    if (hides >= 0) { const p = all[hides]; notes.unshift(`Slots ${digits(Math.floor(top / p.row) + 1, 9)} to ${digits(Math.min(p.d.rows, Math.floor((top + p.H) / p.row)), 9)} of ${digits(p.d.rows, 9)}: drag the chart up and down, or press ↑ and ↓, for the others.`); }
    const text = notes.join(' ');
    if ($('gantt-note').textContent !== text) $('gantt-note').textContent = text;
  }
  // crowded reports whether a run is drawn as how many slots are in use: if rows do not fit, or most of the time is in boxes that are too small to
  // see, and there are many of them.
  function crowded({ d, H, row }, W, from, to) {
    if (as !== 'fit') return as === 'sum';
    if (2 * d.rows > H) return true;
    const least = Math.max(1, 20 / row) * (to - from) / W;
    let n = 0, time = 0, small = 0;
    for (let b = 0; b < d.start.length; b++) {
      const t = Math.min(to, d.end[b]) - Math.max(from, d.start[b]);
      if (t < 0) continue;
      n++; time += t;
      if (d.end[b] - d.start[b] < least) small += t;
    }
    return 20 * n > W * d.rows && 2 * small > time;
  }
  const keyOf = (b, d) => mode === 'job' ? d.job[b] : classOf(b, d);
  // sorted returns the boxes of a run by what has a colour of its own, then by time.
  function sorted(d) { return d.sorted[mode] ??= Uint32Array.from(d.start.keys()).sort((a, b) => keyOf(a, d) - keyOf(b, d) || d.start[a] - d.start[b]); }
  const bin = 2; // pixels over which slots in use are averaged
  // sum returns how many slots each job, or each colour, has on average in each part of the time that is shown.
  function sum({ d, H }, W, from, to) {
    const bins = Math.max(1, Math.ceil(W / bin)), wide = (to - from) / W * bin, base = new Float64Array(bins), now = new Float64Array(bins), layers = [], small = new Map(), order = sorted(d);
    for (let i = 0; i < order.length;) {
      const key = keyOf(order[i], d), first = order[i];
      let lo = bins, hi = -1, time = 0;
      for (; i < order.length && keyOf(order[i], d) === key; i++) {
        const a = (Math.max(from, d.start[order[i]]) - from) / wide, e = (Math.min(to, d.end[order[i]]) - from) / wide;
        if (!(e > a)) continue;
        time += e - a;
        const k0 = Math.floor(a), k1 = Math.min(bins - 1, Math.ceil(e) - 1);
        for (let k = k0; k <= k1; k++) now[k] += d.thin * (Math.min(e, k + 1) - Math.max(a, k));
        if (k0 < lo) lo = k0;
        if (k1 > hi) hi = k1;
      }
      if (hi < 0) continue;
      const mine = mode === 'job' && key === selected;
      if (mode === 'job' && !mine && time * d.thin * bin * H / d.rows < 200) small.set(key, [lo, now.slice(lo, hi + 1)]);
      else layers.push({ colour: classOf(first, d), mine, lo, of: now.slice(lo, hi + 1) });
      for (let k = lo; k <= hi; k++) { base[k] += now[k]; now[k] = 0; }
    }
    if (small.size) { // below 200 pixels
      for (const [lo, of] of small.values()) of.forEach((v, i) => { now[lo + i] += v; });
      layers.unshift({ colour: 24, mine: false, lo: 0, of: now });
    }
    return { layers, small, bins, peak: base.reduce((a, b) => Math.max(a, b), 0) };
  }
  function stack(c, { d, y: upper, H }, W, { layers, bins }, full, X) {
    ground(c, d, upper, W, H);
    const palette = colours(), batches = palette.map(() => []), mine = [], base = new Float64Array(bins), drawn = new Float64Array(bins), unit = H / full;
    for (const l of layers) l.of.forEach((v, i) => {
      const k = l.lo + i;
      base[k] += v * unit;
      const tall = base[k] - drawn[k]; // what is thinner than half a pixel is drawn with the next layer
      if (tall < (l.mine ? 1e-9 : .5)) return;
      (l.mine ? mine : batches[l.colour]).push(gutter + k * bin, upper + H - base[k], Math.min(bin, W - k * bin), l.mine ? Math.max(1.5, tall) : tall);
      drawn[k] = base[k];
    });
    clipped(c, d, upper, W, H, X, palette, batches, mine);
  }
  function ground(c, d, upper, W, H) {
    if (shown.length > 1) { c.font = 'bold ' + font(); c.fillStyle = css('--ink'); c.textAlign = 'left'; c.textBaseline = 'bottom'; c.fillText(d.name, gutter, upper - 2, W); }
    c.fillStyle = css('--idle'); c.fillRect(gutter, upper, W, H);
  }
  // clipped draws rectangles of each colour, those of the selected job, and when it came and ended.
  function clipped(c, d, upper, W, H, X, palette, batches, mine) {
    c.save(); c.beginPath(); c.rect(gutter, upper, W, H); c.clip();
    batches.forEach((list, k) => { c.fillStyle = palette[k]; c.globalAlpha = selected >= 0 ? .35 : 1; rectangles(c, list); });
    c.globalAlpha = 1; c.fillStyle = css('--ink');
    rectangles(c, mine);
    if (selected >= 0) { // from arrival to end
      c.setLineDash([5, 4]); c.strokeStyle = css('--ink'); c.lineWidth = 1.5;
      for (const t of [arrival[selected], arrival[selected] + d.sojourn[selected]]) if (!Number.isNaN(t)) { c.beginPath(); c.moveTo(X(t), upper); c.lineTo(X(t), upper + H); c.stroke(); }
      c.setLineDash([]);
    }
    c.restore();
  }
  function boxes(c, { d, y: upper, H, row: rh }, W, from, to, X) {
    ground(c, d, upper, W, Math.min(H, d.rows * rh));
    const palette = colours(), batches = palette.map(() => []), tall = rh - (rh >= 6 ? 1 : 0), mine = [];
    for (let row = Math.max(0, Math.floor(top / rh)); row < d.rows && row * rh - top < H; row++) {
      const y = upper + row * rh - top;
      let lo = d.first[row], hi = d.first[row + 1];
      { let a = lo, b = hi; while (a < b) { const m = (a + b) >> 1; if (d.end[m] < from) a = m + 1; else b = m; } lo = a; }
      let filled = -1; // the last pixel that a box has taken: narrow boxes share one
      for (let b = lo; b < hi && d.start[b] <= to; b++) {
        const x = X(d.start[b]), e = X(d.end[b]);
        if (d.job[b] === selected) { mine.push(x, y, Math.max(1.5, e - x), tall); }
        else if (e <= filled) continue;
        const width = Math.max(.75, e - x - (e - x > 3 ? .75 : 0));
        batches[classOf(b, d)].push(x, y, width, tall);
        filled = Math.max(x + .75, e);
      }
    }
    clipped(c, d, upper, W, H, X, palette, batches, mine);
  }
  function rectangles(c, list) {
    if (c instanceof Svg) { c.beginPath(); for (let i = 0; i < list.length; i += 4) c.rect(list[i], list[i + 1], list[i + 2], list[i + 3]); c.fill(); } else for (let i = 0; i < list.length; i += 4) c.fillRect(list[i], list[i + 1], list[i + 2], list[i + 3]);
  }
  function axes(c, w, h, W, all, from, to, X, sums, full) {
    c.font = font(); c.fillStyle = css('--soft'); c.strokeStyle = css('--line'); c.lineWidth = 1;
    c.textAlign = 'right'; c.textBaseline = 'middle';
    all.forEach(({ d, y: upper, H, row: rh }, i) => {
      if (sums[i]) {
        for (const n of new Set([0, Math.round(full / 2), full])) c.fillText(digits(n, 9), gutter - 6, Math.max(upper + 5, upper + H - 5 - (H - 10) * n / full));
        return;
      }
      let free = -Infinity;
      for (let row = 0; row < d.rows; row++) {
        const y = upper + (row + .5) * rh - top;
        if (y < upper + 4 || y > upper + H || y < free) continue;
        c.fillText(d.slots[row].length > 11 ? d.slots[row].slice(0, 10) + '…' : d.slots[row], gutter - 6, y); free = y + 14;
      }
    });
    c.textAlign = 'center'; c.textBaseline = 'top';
    const lo = seconds(from), hi = seconds(to), [values, step] = linearTicks(lo, hi, 's', Math.max(3, Math.floor(W / 90))), u = unitOf(Math.max(Math.abs(lo), Math.abs(hi)), step), last = all[all.length - 1];
    for (const v of values) {
      const x = X(ticks(v - g.start)), label = digits(v / u[0], 10), half = c.measureText(label).width / 2;
      c.beginPath(); c.moveTo(x, last.y + Math.min(last.H, last.d.rows * last.row)); c.lineTo(x, last.y + last.H + 4); c.stroke();
      c.fillText(label, Math.min(x, w - half - 2), last.y + last.H + 6);
    }
    c.fillStyle = css('--ink'); c.textBaseline = 'bottom';
    c.textAlign = 'left'; c.fillText(sums.every(s => s) ? 'slots in use' : 'node/slot', 2, h - 2); c.textAlign = 'center';
    c.fillText('time (' + u[1] + ')', gutter + W / 2, h - 2);
  }
  const pan = (share, down = 0) => { const by = share * (view.to - view.from); top += down; setView(view.from + by, view.to + by); };
  function all() { top = 0; setView(view.lo, view.hi); }
  function key() {
    const names = mode === 'pool' ? poolNames() : mode === 'locality' ? places : mode === 'lateness' ? lateNames : [];
    $('gantt-key').replaceChildren(...names.map((n, i) => { const s = document.createElement('span'), sw = document.createElement('i'); sw.style.background = colours()[i]; s.append(sw, n); return s; }));
    if (mode === 'job') { const s = document.createElement('span'); s.textContent = 'What has one colour belongs to one job or to one of every 24 jobs.'; $('gantt-key').append(s); }
  }
  function show() {
    const i = +$('gantt-run').value, below = +$('gantt-below').value;
    shown = [run(i)];
    if (below >= 0 && below !== i) shown.push(run(below));
    d = shown[0];
    top = 0; key(); explain(); later();
  }
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
    let text = (g.runs.length > 1 ? 'Under ' + d.name + ': ' : '') + L[0].toUpperCase() + L.slice(1) + (pool ? ' of pool ' + pool : '') + ' arrived at ' + duration(seconds(arrival[j])) + '. ';
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
  // hit returns the job at a place, and asks the run there.
  function hit(x, y) {
    const W = canvas.clientWidth - gutter - 8, all = parts(canvas.clientHeight), part = all.findLast(p => y >= p.y), row = part ? Math.floor((y - part.y + top) / part.row) : -1, [from, to] = ticksOf();
    if (!part || x < gutter) return -1;
    if (crowded(part, W, from, to)) return inStack(part, W, from, to, x, y);
    if (row < 0 || row >= part.d.rows) return -1;
    d = part.d;
    const t = from + (x - gutter) / W * (to - from), slack = 2 / W * (to - from);
    let best = -1, near = slack;
    for (let b = d.first[row]; b < d.first[row + 1]; b++) { const off = Math.max(0, d.start[b] - t, t - d.end[b]); if (off < near || off === 0) { best = b; near = off; } }
    return best < 0 ? -1 : d.job[best];
  }
  // inStack returns the job at a place of a chart of slots in use, or one of its colour.
  function inStack(part, W, from, to, x, y) {
    d = part.d;
    const at = from + (x - gutter - (x - gutter) % bin) / W * (to - from), wide = bin / W * (to - from);
    const { small } = sum(part, W, from, to);
    let left = (part.y + part.H - y) / part.H * scale;
    for (const first of [true, false]) for (const b of sorted(d)) {
      if (small.has(keyOf(b, d)) !== first) continue;
      const t = d.thin * (Math.min(at + wide, d.end[b]) - Math.max(at, d.start[b])) / wide;
      if (t > 0 && (left -= t) <= 0) return d.job[b];
    }
    return -1;
  }
  let drag = null;
  canvas.addEventListener('pointerdown', e => { drag = { x: e.clientX, y: e.clientY, from: view.from, to: view.to, top, moved: false }; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener('pointermove', e => {
    if (!drag) return;
    const dx = e.clientX - drag.x, dy = e.clientY - drag.y;
    if (Math.abs(dx) + Math.abs(dy) > 3) drag.moved = true;
    if (!drag.moved) return;
    const by = -dx / (canvas.clientWidth - gutter - 8) * (drag.to - drag.from);
    top = drag.top - dy; setView(drag.from + by, drag.to + by);
  });
  canvas.addEventListener('pointerup', e => { if (drag && !drag.moved) select(hit(e.offsetX, e.offsetY)); drag = null; });
  canvas.addEventListener('pointercancel', () => { drag = null; });
  canvas.addEventListener('wheel', e => { if (!e.ctrlKey && !e.metaKey) return; e.preventDefault(); zoomView(Math.exp(e.deltaY / 300), Math.max(0, (e.offsetX - gutter) / (canvas.clientWidth - gutter - 8))); }, { passive: false });
  canvas.addEventListener('keydown', e => {
    const act = { ArrowLeft: () => pan(-.1), ArrowRight: () => pan(.1), ArrowUp: () => pan(0, -40), ArrowDown: () => pan(0, 40), '+': () => zoomView(.7), '=': () => zoomView(.7), '-': () => zoomView(1 / .7), 0: all, Escape: () => select(-1) }[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  $('gantt-in').addEventListener('click', () => zoomView(.5));
  $('gantt-out').addEventListener('click', () => zoomView(2));
  $('gantt-all').addEventListener('click', all);
  for (const list of ['gantt-run', 'gantt-below']) $(list).addEventListener('change', show);
  $('gantt-as').addEventListener('change', e => { as = e.target.value; top = 0; later(); });
  $('gantt-colour').addEventListener('change', e => { mode = e.target.value; key(); later(); });
  // A job that is typed is shown from its arrival to its end, with a tenth of that around it.
  $('gantt-job').addEventListener('change', e => {
    const j = jobNumber.get(e.target.value.trim());
    select(j ?? -1);
    if (j === undefined) { if (e.target.value) why.replaceChildren(line('p', 'There is no job ' + e.target.value + ' here.')); return; }
    const took = Math.max(...shown.map(d => Number.isNaN(d.sojourn[j]) ? d.last - arrival[j] : d.sojourn[j]), 1);
    setView(seconds(arrival[j] - .1 * took), seconds(arrival[j] + 1.1 * took));
  });
  $('gantt-two').hidden = g.runs.length < 2;
  if (g.runs.length > 1 && data.bold?.length) { $('gantt-run').value = called(data.bold[0]); $('gantt-below').value = called(data.bold[1]); }
  show();
  later = picture($('gantt'), 'gantt', { height, draw, rows: () => [['policy', 'slot', 'job', 'start', 'end'], ...shown.flatMap(d => d.slots.flatMap((slot, row) => Array.from({ length: d.first[row + 1] - d.first[row] }, (_, k) => { const b = d.first[row] + k; return [d.name, slot, g.jobs.ids[d.job[b]], +seconds(d.start[b]).toPrecision(9), +seconds(d.end[b]).toPrecision(9)]; })))] });
  redraws.push(key);
  view.shown.push(later);
  root.dataset.ready = 'true';
})();
if (!data.gantt) document.documentElement.dataset.ready = 'true';
